"""Writes transcripts: the YAML text that reads back as the same transcript."""

from __future__ import annotations

import math
from typing import Any

import yaml

from millstream.model.aggregates import Aggregate, Quantile, Top
from millstream.model.durations import format_duration
from millstream.model.instants import END_OF_TIME, seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.model.windowing import Windowing
from millstream.testing.transcripts import Transcript


def text_of(transcript: Transcript) -> str:
    """A transcript as a document of a YAML file."""
    document = {
        "name": transcript.name,
        "source": transcript.source,
        **_settings(transcript.windowing),
        "aggregate": None if transcript.aggregate is None else _call(transcript.aggregate),
        "steps": [_step(transcript, i, step) for i, step in enumerate(transcript.steps)],
    }
    fields = {name: value for name, value in document.items() if value not in (None, "")}
    return yaml.safe_dump(
        fields, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )


def _settings(windowing: Windowing) -> dict[str, Any]:
    return {
        "window": repr(windowing.where),
        "trigger": None if windowing.trigger is None else repr(windowing.trigger),
        "refine": windowing.refine.value,
        "allowed_lateness": format_duration(windowing.allowed_lateness),
        "on_time": windowing.on_time,
        "closing": windowing.closing,
        "timestamp": windowing.timestamp,
        "allow_data_loss": windowing.allow_data_loss,
    }


def _call(aggregate: Aggregate) -> str:
    arguments = [] if aggregate.of is None else [f"of={aggregate.of!r}"]
    if isinstance(aggregate, Top):
        arguments += [f"n={aggregate.n}", f"by={aggregate.by!r}"]
    if isinstance(aggregate, Quantile):
        arguments.append(f"q={aggregate.q!r}")
    return f"{aggregate.name}({', '.join(arguments)})"


def _step(transcript: Transcript, i: int, step: Step) -> dict[str, Any]:
    written: dict[str, Any]
    match step:
        case Elements():
            written = {"elements": [list(item) for item in step.items]}
        case Watermark(time=time):
            written = {"watermark": "end" if time == math.inf else time}
        case ProcessingTime(time=time):
            written = {"clock": time}
    panes = [_pane(pane) for pane in transcript.panes if pane.step == i]
    late = [_late(element) for element in transcript.late if element.step == i]
    return written | ({"panes": panes} if panes else {}) | ({"late": late} if late else {})


def _pane(pane: Pane) -> dict[str, Any]:
    values = list(pane.values) if isinstance(pane.values, tuple) else pane.values
    written = {
        "key": pane.key,
        "window": _window(pane.window),
        "values": values,
        "timing": pane.timing,
        "index": pane.index,
        "last": pane.last,
        "kind": pane.kind,
    }
    if pane.window_index is not None:
        written["window_index"] = pane.window_index
    # The end of the global window is not a time that a transcript can contain.
    finite = not math.isnan(pane.timestamp) and pane.timestamp < seconds(END_OF_TIME - 1)
    return written | {"timestamp": pane.timestamp} if finite else written


def _late(element: LateElement) -> dict[str, Any]:
    return {
        "key": element.key,
        "value": element.value,
        "time": element.time,
        "window": None if element.window is None else _window(element.window),
        "reason": element.reason,
    }


def _window(window: tuple[float, float]) -> str | list[float]:
    return "global" if window[1] == math.inf else list(window)
