"""Transcripts: YAML files with the input of a grouping and the panes that it must emit.

They are the language of Millstream's own tests, and every engine runs all of them. The format is
described in ``docs/transcripts.md``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from millstream.model.aggregates import Aggregate
from millstream.model.errors import PlanError, TestingError, did_you_mean
from millstream.model.instants import END_OF_TIME, instant, seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.model.windowing import Windowing, checked_windowing
from millstream.testing.call_text import AGGREGATES, REFINEMENTS, TRIGGERS, WINDOWS, read_call
from millstream.testing.engines import run_steps
from millstream.testing.panes import Panes


@dataclass(frozen=True)
class Transcript:
    """One script: settings, steps, and the panes and late elements that they must emit."""

    name: str
    source: str
    windowing: Windowing
    aggregate: Aggregate | None
    steps: tuple[Step, ...]
    panes: tuple[Pane, ...]
    late: tuple[LateElement, ...]

    def replay(self, engine: str = "reference") -> Panes:
        """The panes that an engine emits for the steps."""
        return run_steps(self.windowing, self.steps, self.aggregate, engine)

    def check(self, engine: str = "reference") -> None:
        """Raises an error that shows the difference if the engine emits something else."""
        check_panes(self, self.replay(engine), engine)


def check_panes(transcript: Transcript, actual: Panes, engine: str) -> None:
    """Raises an error that shows the difference unless the panes are those that are expected."""
    expected = transcript.panes
    got = [_shown(p, timestamp=_stamped(e)) for p, e in _aligned(actual, expected)]
    expected_panes = [_shown(p, timestamp=_stamped(p)) for p in expected]
    late = sorted(map(repr, actual.late))
    expected_late = sorted(map(repr, transcript.late))
    if got != expected_panes or late != expected_late:
        raise TestingError(
            "MS302",
            f"transcript {transcript.name!r} on {engine} (- expected, + came):\n"
            + "\n".join(_difference(expected_panes + expected_late, got + late)),
            fix="find out which of the two is correct by the model",
        )


def load(path: str | Path) -> list[Transcript]:
    """The transcripts of a YAML file, one for each of its documents.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.yaml")
    ...     _ = file.write_text("{name: Nothing, window: fixed(10), steps: [watermark: end]}")
    ...     [transcript.name for transcript in load(file)]
    ['Nothing']
    """
    file = Path(path)
    try:
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise TestingError(
            "MS301", f"{file} cannot be opened: {error.strerror}", fix="check the path"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TestingError("MS301", f"{file} is not YAML: {error}", fix="fix the YAML") from None
    return [_transcript(document, file) for document in documents if document is not None]


_SETTINGS = (
    *("window", "trigger", "refine", "allowed_lateness"),
    *("on_time", "closing", "timestamp", "allow_data_loss"),
)
_FIELDS = ("name", "source", *_SETTINGS, "aggregate", "steps")
_KINDS_OF_STEP = ("elements", "watermark", "clock")
_TIME_OF_DAY = re.compile(r"(-?)(\d+):(\d+):(\d+(?:\.\d*)?)")


def _transcript(document: Any, file: Path) -> Transcript:
    where = f"{file.name}: {document.get('name', '?') if isinstance(document, dict) else '?'}"
    with _reading(where):
        _check_fields("the transcript", document, _FIELDS, required=("name", "window", "steps"))
        windowing = _windowing(document)
        aggregate = _aggregate(document.get("aggregate"))
        written = _list("steps", document["steps"])
    steps, panes, late = _script(written, where)
    return Transcript(
        name=str(document["name"]),
        source=document.get("source", ""),
        windowing=windowing,
        aggregate=aggregate,
        steps=tuple(steps),
        panes=tuple(panes),
        late=tuple(late),
    )


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """Errors inside get the place in the transcript."""
    try:
        yield
    except (PlanError, TestingError) as error:
        fix = re.sub(r"\bms\.", "", error.fix)
        raise TestingError("MS301", f"{where}: {error.what}", fix=fix) from None


def _windowing(document: Mapping[str, Any]) -> Windowing:
    settings = {name: document[name] for name in _SETTINGS if name in document}
    with _reading("window"):
        settings["window"] = read_call(document["window"], WINDOWS)
    if "trigger" in settings:
        with _reading("trigger"):
            settings["trigger"] = read_call(document["trigger"], TRIGGERS)
    if "refine" in settings:
        settings["refine"] = REFINEMENTS.get(str(document["refine"]), document["refine"])
    return checked_windowing(**settings)


def _aggregate(written: Any) -> Aggregate | None:
    if written is None:
        return None
    with _reading("aggregate"):
        aggregate = read_call(written, AGGREGATES)
        if isinstance(aggregate, Aggregate):
            return aggregate
        raise TestingError("MS301", f"{written!r} is not one", fix="write one, such as sum(value)")


def _script(written: list[Any], where: str) -> tuple[list[Step], list[Pane], list[LateElement]]:
    steps: list[Step] = []
    panes: list[Pane] = []
    late: list[LateElement] = []
    for i, step in enumerate(written):
        with _reading(f"{where}, step {i}"):
            _check_fields("the step", step, (*_KINDS_OF_STEP, "panes", "late"))
            steps.append(_step(step))
            panes += [_pane(pane, i) for pane in _list("panes", step.get("panes") or [])]
            late += [_late(one, i) for one in _list("late", step.get("late") or [])]
    return steps, panes, late


def _step(written: Mapping[str, Any]) -> Step:
    kinds = [kind for kind in _KINDS_OF_STEP if kind in written]
    if len(kinds) != 1:
        has = f"has both {kinds[0]!r} and {kinds[1]!r}" if kinds else "has no event"
        fix = f"give one of {', '.join(_KINDS_OF_STEP)}"
        raise TestingError("MS301", f"the step {has}", fix=fix)
    value = written[kinds[0]]
    if kinds[0] == "elements":
        return Elements(_element(element) for element in _list("elements", value))
    if kinds[0] == "clock":
        return ProcessingTime(_time(value))
    return Watermark.end() if value == "end" else Watermark(_time(value))


def _element(written: Any) -> tuple[Any, Any, float]:
    key, value, time = _parts("the element", written, ("key", "value", "event time"))
    return key, value, _time(time)


def _pane(written: Any, step: int) -> Pane:
    fields = (
        *("key", "window", "window_index", "values", "timing", "index"),
        *("first", "last", "kind", "timestamp"),
    )
    _check_fields("the pane", written, fields, required=("window", "values", "timing", "index"))
    index = written["index"]
    return Pane(
        key=written.get("key", "k"),
        window=_window(written["window"]),
        values=written["values"],
        timing=written["timing"],
        index=index,
        first=written.get("first", index == 0),
        last=written.get("last", False),
        kind=written.get("kind", "+"),
        step=step,
        timestamp=_time(written["timestamp"]) if "timestamp" in written else float("nan"),
        window_index=written.get("window_index"),
    )


def _late(written: Any, step: int) -> LateElement:
    fields = ("key", "value", "time", "window", "reason")
    _check_fields("the late element", written, fields, required=("value", "time", "reason"))
    return LateElement(
        key=written.get("key", "k"),
        value=written["value"],
        time=_time(written["time"]),
        window=None if written.get("window") is None else _window(written["window"]),
        reason=written["reason"],
        step=step,
    )


def _window(written: Any) -> tuple[float, float]:
    if written == "global":
        return seconds(-END_OF_TIME), seconds(END_OF_TIME)
    start, end = _parts("the window", written, ("start", "end"))
    return _time(start), _time(end)


def _time(written: Any) -> float:
    """Seconds: a number, a time of day such as 12:02:26.5, or an ISO 8601 instant."""
    if isinstance(written, date) and not isinstance(written, datetime):
        written = datetime(written.year, written.month, written.day, tzinfo=UTC)
    if isinstance(written, datetime) and written.tzinfo is None:
        written = written.replace(tzinfo=UTC)  # YAML: a timestamp without a zone is in UTC
    if isinstance(written, str) and (of_day := _TIME_OF_DAY.fullmatch(written)):
        sign, hours, minutes, rest = of_day.groups()
        return float(f"{sign}1") * (int(hours) * 3600 + int(minutes) * 60 + float(rest))
    return seconds(instant(written))


def _check_fields(
    what: str, written: Any, known: tuple[str, ...], required: tuple[str, ...] = ()
) -> None:
    if not isinstance(written, dict):
        fix = f"write its fields: {', '.join(required or known)}"
        raise TestingError("MS301", f"{what} is {written!r}, not a mapping", fix=fix)
    for field in written:
        if field not in known:
            fix = did_you_mean(str(field), known)
            raise TestingError("MS301", f"{what} has an unknown field {field!r}", fix=fix)
    for field in required:
        if field not in written:
            raise TestingError("MS301", f"{what} has no {field!r}", fix=f"add {field}:")


def _list(what: str, written: Any) -> list[Any]:
    if isinstance(written, list):
        return written
    raise TestingError("MS301", f"{what}: {written!r} is no list", fix=f"write {what}: […]")


def _parts(what: str, written: Any, names: tuple[str, ...]) -> list[Any]:
    if isinstance(written, list) and len(written) == len(names):
        return written
    shape = f"[{', '.join(names)}]"
    raise TestingError("MS301", f"{what} is {written!r}, not {shape}", fix=f"write {shape}")


def _plain(value: Any) -> Any:
    """Lists and tuples alike, as YAML has only lists."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _shown(pane: Pane, timestamp: bool) -> str:
    start, end = pane.window
    stamp = f" at {pane.timestamp:.6f}" if timestamp else ""
    last = " last" if pane.last else ""
    first = " first" if pane.first else ""
    number = "" if pane.window_index is None else f" window {pane.window_index}"
    return (
        f"step {pane.step}: {pane.kind}{_plain(pane.values)!r} key {pane.key!r}"
        f" in [{start:.6f}, {end:.6f}){number} {pane.timing} {pane.index}{first}{last}{stamp}"
    )


def _stamped(pane: Pane | None) -> bool:
    return pane is not None and pane.timestamp == pane.timestamp


def _aligned(panes: list[Pane], expected: tuple[Pane, ...]) -> list[tuple[Pane, Pane | None]]:
    """Each pane with the expected one at its place, which may have a timestamp to compare."""
    return [(p, expected[i] if i < len(expected) else None) for i, p in enumerate(panes)]


def _difference(expected: list[str], got: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(expected, got) if not line.startswith("?")]
