"""Transcripts: YAML files that tell what happens to a stream and which panes must come of it.

They are the language of Millstream's own tests, and every engine runs all of them. The format is
described in ``docs/transcripts.md``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from millstream.model.aggregates import Aggregate
from millstream.model.errors import PlanError, TestingError, did_you_mean
from millstream.model.instants import END_OF_TIME, instant, seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.windowing import Windowing, checked_windowing
from millstream.testing.call_text import AGGREGATES, REFINEMENTS, TRIGGERS, WINDOWS, read_call
from millstream.testing.engines import Panes, run_steps
from millstream.testing.steps import Elements, ProcessingTime, Step, Watermark


@dataclass(frozen=True)
class Transcript:
    """One script: settings, steps, and the panes and late elements that must come of them."""

    name: str
    source: str
    windowing: Windowing
    aggregate: Aggregate | None
    steps: tuple[Step, ...]
    panes: tuple[Pane, ...]
    late: tuple[LateElement, ...]

    def replay(self, engine: str = "reference") -> Panes:
        """What an engine makes of the steps."""
        return run_steps(self.windowing, self.steps, self.aggregate, engine)

    def check(self, engine: str = "reference") -> None:
        """Raises an error that shows the difference unless the engine gives what is expected."""
        actual = self.replay(engine)
        got = [_shown(p, timestamp=_stamped(e)) for p, e in _aligned(actual, self.panes)]
        wanted = [_shown(p, timestamp=_stamped(p)) for p in self.panes]
        late = sorted(map(repr, actual.late))
        expected_late = sorted(map(repr, self.late))
        if got != wanted or late != expected_late:
            raise TestingError(
                "MS302",
                f"transcript {self.name!r} on {engine}:\n"
                + "\n".join(_difference(wanted + expected_late, got + late)),
                fix="find out which of the two the model says is right",
            )


def load(path: str | Path) -> list[Transcript]:
    """The transcripts of a YAML file, one for each of its documents."""
    file = Path(path)
    try:
        documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise TestingError(
            "MS301", f"{file} cannot be opened: {error.strerror}", fix="check the path"
        ) from None
    except yaml.YAMLError as error:
        raise TestingError("MS301", f"{file} is no YAML: {error}", fix="mend the YAML") from None
    return [_transcript(document, file) for document in documents if document is not None]


_SETTINGS = (
    *("window", "trigger", "refine", "allowed_lateness"),
    *("on_time", "closing", "timestamp", "allow_data_loss"),
)
_FIELDS = ("name", "source", *_SETTINGS, "aggregate", "steps")
_KINDS_OF_STEP = ("elements", "watermark", "clock")


def _transcript(document: Any, file: Path) -> Transcript:
    where = f"{file.name}: {document.get('name', '?') if isinstance(document, dict) else document}"
    _check_fields(document, _FIELDS, where, required=("name", "window", "steps"))
    try:
        steps, panes, late = _script(document["steps"], where)
        aggregate = document.get("aggregate")
        return Transcript(
            name=document["name"],
            source=document.get("source", ""),
            windowing=_windowing(document),
            aggregate=None if aggregate is None else read_call(aggregate, AGGREGATES),
            steps=tuple(steps),
            panes=tuple(panes),
            late=tuple(late),
        )
    except PlanError as error:
        raise TestingError("MS301", f"{where}: {error.what}", fix=error.fix) from error


def _windowing(document: Mapping[str, Any]) -> Windowing:
    settings = {name: document[name] for name in _SETTINGS if name in document}
    settings["window"] = read_call(document["window"], WINDOWS)
    if "trigger" in settings:
        settings["trigger"] = read_call(document["trigger"], TRIGGERS)
    if "refine" in settings:
        settings["refine"] = REFINEMENTS.get(document["refine"], document["refine"])
    return checked_windowing(**settings)


def _script(written: Iterable[Any], where: str) -> tuple[list[Step], list[Pane], list[LateElement]]:
    steps: list[Step] = []
    panes: list[Pane] = []
    late: list[LateElement] = []
    for i, step in enumerate(written):
        _check_fields(step, (*_KINDS_OF_STEP, "panes", "late"), f"{where}, step {i}")
        steps.append(_step(step, f"{where}, step {i}"))
        panes += [_pane(pane, i, f"{where}, step {i}") for pane in step.get("panes") or ()]
        late += [_late(one, i, f"{where}, step {i}") for one in step.get("late") or ()]
    return steps, panes, late


def _step(written: Mapping[str, Any], where: str) -> Step:
    kinds = [kind for kind in _KINDS_OF_STEP if kind in written]
    if len(kinds) != 1:
        raise TestingError(
            "MS301", f"{where} is {kinds or 'nothing'}", fix=f"give one of {_KINDS_OF_STEP}"
        )
    value = written[kinds[0]]
    if kinds[0] == "elements":
        return Elements((key, v, _time(time)) for key, v, time in value)
    if kinds[0] == "clock":
        return ProcessingTime(_time(value))
    return Watermark.end() if value == "end" else Watermark(_time(value))


def _pane(written: Mapping[str, Any], step: int, where: str) -> Pane:
    fields = ("key", "window", "values", "timing", "index", "first", "last", "kind", "timestamp")
    _check_fields(written, fields, where, required=("window", "values", "timing", "index"))
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
    )


def _late(written: Mapping[str, Any], step: int, where: str) -> LateElement:
    fields = ("key", "value", "time", "window", "reason")
    _check_fields(written, fields, where, required=("value", "time", "reason"))
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
    start, end = written
    return _time(start), _time(end)


def _time(written: Any) -> float:
    """Seconds: a number, a time of day such as 12:02:26.5, or an ISO 8601 instant."""
    if isinstance(written, date) and not isinstance(written, datetime):
        written = datetime(written.year, written.month, written.day, tzinfo=UTC)
    if isinstance(written, datetime) and written.tzinfo is None:
        written = written.replace(tzinfo=UTC)  # YAML: a timestamp without a zone is in UTC
    if isinstance(written, str) and written.count(":") == 2 and "-" not in written.lstrip("-"):
        sign = -1 if written.startswith("-") else 1
        hours, minutes, rest = written.lstrip("-").split(":")
        return sign * (int(hours) * 3600 + int(minutes) * 60 + float(rest))
    return seconds(instant(written))


def _check_fields(
    written: Any, known: tuple[str, ...], where: str, required: tuple[str, ...] = ()
) -> None:
    if not isinstance(written, dict):
        raise TestingError("MS301", f"{where} is no mapping", fix=f"write {', '.join(known)}")
    for field in written:
        if field not in known:
            raise TestingError(
                "MS301", f"{where} has an unknown field {field!r}", fix=did_you_mean(field, known)
            )
    for field in required:
        if field not in written:
            raise TestingError("MS301", f"{where} has no {field!r}", fix=f"add {field}:")


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
    return (
        f"step {pane.step}: {pane.kind}{_plain(pane.values)!r} key {pane.key!r}"
        f" in [{start:.6f}, {end:.6f}) {pane.timing} {pane.index}{first}{last}{stamp}"
    )


def _stamped(pane: Pane | None) -> bool:
    return pane is not None and pane.timestamp == pane.timestamp


def _aligned(panes: list[Pane], expected: tuple[Pane, ...]) -> list[tuple[Pane, Pane | None]]:
    """Each pane with the expected one at its place, which tells whether its timestamp matters."""
    return [(p, expected[i] if i < len(expected) else None) for i, p in enumerate(panes)]


def _difference(wanted: list[str], got: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(wanted, got) if not line.startswith("?")]
