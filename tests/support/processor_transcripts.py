"""Transcripts of processors: YAML files with a processor in a small language, its rows, and what it
must emit. ``docs/transcripts.md`` describes them.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from pyspark import cloudpickle

import millstream as ms
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.testing import test_stream
from millstream.testing.call_text import WINDOWS, read_call

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what tests do

FOLDER = Path(__file__).parent.parent / "transcripts" / "processors"
COLUMNS = "script int, k string, v int, at double"
EMITTED = "k string, what string, n bigint"
SOURCE = test_stream(COLUMNS, name="events")

_SET = re.compile(
    r"set (?P<timer>\w+) (?:after (?P<after>\w+)|at (?P<at>\d+))"
    r"(?: tag (?P<tag>\w+))?(?: output (?P<output>\d+))?(?P<hold> without hold)?"
)


class Scripted(ms.Processor):
    """Does what its ``script`` has for each callback. The state is a sum."""

    script: ClassVar[dict[str, list[str]]] = {}

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        perform(self.script["on_row"], row, "row", row["v"], state, timers, out)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        what = f"{timer.name} {timer.tag}".strip()
        perform(self.script["on_timer"], timer, what, 1, state, timers, out)


def _on_expiry(self: Any, expiry: Any, state: Any, out: Any) -> None:
    perform(self.script["on_expiry"], expiry, "expiry", 1, state, None, out)


def _on_end(self: Any, end: Any, state: Any, out: Any) -> None:
    perform(self.script["on_end"], end, "end", 1, state, None, out)


def perform(
    operations: list[str], event: Any, what: str, value: int, state: Any, timers: Any, out: Any
) -> None:
    """The operations of a callback; ``value`` is that of the row, and 1 of anything else."""
    for each in operations:
        when, _, operation = each.rpartition(": ")
        if when and int(when.removeprefix("when ")) != value:
            continue
        row = {"k": event.key["k"], "what": what, "n": state.n}
        match operation.split():
            case ["add"]:
                state.n += value
            case ["emit"]:
                out.emit(**row)
            case ["retract"]:
                out.retract(**row)
            case ["alert"]:
                out.to("alerts").emit(**row)
            case ["fail"]:
                raise ValueError("no")
            case ["clear", timer]:
                getattr(timers, timer).clear()
            case ["set", *_]:
                found = _SET.fullmatch(operation)
                assert found is not None, operation
                schedule(timers, **found.groupdict())
            case _:
                raise AssertionError(operation)


def schedule(
    timers: Any, timer: str, after: Any, at: Any, tag: Any, output: Any, hold: Any
) -> None:
    getattr(timers, timer).set(
        after=after,
        at=None if at is None else float(at),
        tag=tag or "",
        output_time=None if output is None else float(output),
        hold=hold is None,
    )


@dataclass(frozen=True)
class ProcessorTranscript:
    """A processor in a program, the steps of its replay, and what it must emit in each."""

    name: str
    stream: ms.Stream
    steps: list[Step]
    expected: list[Any]
    """For each step: rows, alerts and late rows."""
    rejected: list[int | str]
    """The values of rows that are rejected, the names of timers, or ``expiry``."""

    def check(self, made: Any) -> None:
        """What a replay gave, held against the transcript."""
        for number, expected in enumerate(self.expected):
            assert found(made, number) == expected, f"step {number} of {self.name!r}"
        records = [json.loads(each["record"]) for each in made.rejected]
        rejected = [record.get("v", record.get("timer", "expiry")) for record in records]
        assert sorted(rejected, key=str) == sorted(self.rejected, key=str)


def found(made: Any, step: int) -> Any:
    """What was emitted in a step: the rows of each key in order, all else in any order."""

    def emitted(rows: Any) -> list[Any]:
        mine = [[*row.values.values(), row.time] for row in rows if row.step == step]
        return by_key(mine)

    late = [
        [row.values["k"], row.values["v"], row.values["at"], row.values["reason"]]
        for row in made.late
        if row.step == step
    ]
    return [emitted(made), emitted(made.outputs["alerts"]), by_key(late)]


def by_key(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: row[0] or "")


def load_all() -> list[ProcessorTranscript]:
    """All transcripts. They are branches of one source: the number of each tells its rows."""
    documents = []
    for file in sorted(FOLDER.glob("*.yaml")):
        documents += list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    return [_transcript(number, document) for number, document in enumerate(documents)]


def _transcript(number: int, document: dict[str, Any]) -> ProcessorTranscript:
    known = {"name", "source", "processor", "order", "window", "allowed_lateness", "on_error"}
    assert document.keys() <= {*known, "steps"}, document
    assert document["source"], document["name"]
    stream = SOURCE.filter(f"script = {number}").with_event_time("at", ms.ascending(ahead=None))
    keyed = stream.key_by("k")
    how = {name: document[name] for name in ("order", "on_error") if name in document}
    lateness = {n: document[n] for n in ("allowed_lateness",) if n in document}
    if "window" in document:
        keyed = keyed.window(read_call(document["window"], WINDOWS), **lateness)
    else:
        how.update(lateness)
    made = keyed.process(
        processor(document["processor"]), schema=EMITTED, outputs={"alerts": EMITTED}, **how
    )
    steps = [_step(number, step) for step in document["steps"]]
    expected = [
        [by_key(step.get(name, [])) for name in ("emits", "alerts", "late")]
        for step in document["steps"]
    ]
    rejected = [value for step in document["steps"] for value in step.get("rejected", [])]
    return ProcessorTranscript(document["name"], made, steps, expected, rejected)


def processor(written: dict[str, Any]) -> type[ms.Processor]:
    """The class that a transcript describes."""
    callbacks = {"on_row", "on_timer", "on_expiry", "on_end"}
    assert written.keys() <= {"timers", "ttl", "retracts", *callbacks}
    own: dict[str, Any] = {
        name: ms.timer(domain) for name, domain in written.get("timers", {}).items()
    }
    own["script"] = {name: written.get(name, []) for name in ("on_row", "on_timer")}
    for name, callback in (("on_expiry", _on_expiry), ("on_end", _on_end)):
        if name in written:
            own["script"][name] = written[name]
            own[name] = callback
    ttl = written.get("ttl")
    if isinstance(ttl, dict):
        own["ttl"] = {name: time_to_live(text) for name, text in ttl.items()}
    elif ttl is not None:
        own["ttl"] = time_to_live(ttl)
    own["retracts"] = written.get("retracts", False)
    return type("Scripted", (Scripted,), own)


def time_to_live(text: str) -> Any:
    length, by_clock, _ = text.partition(" by the clock")
    return ms.ttl(length, "processing_time" if by_clock else "event_time")


def _step(number: int, step: dict[str, Any]) -> Step:
    assert step.keys() <= {"rows", "watermark", "clock", "emits", "alerts", "late", "rejected"}
    if "rows" in step:
        rows = [{"script": number, "k": k, "v": v, "at": float(at)} for k, v, at in step["rows"]]
        return Elements(rows)
    if "clock" in step:
        return ProcessingTime(step["clock"])
    return Watermark.end() if step["watermark"] == "end" else Watermark(step["watermark"])
