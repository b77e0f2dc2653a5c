"""What of a processor happens by event time has one, and a watermark that moves."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError


class Plain(ms.Processor):
    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        pass


BY_EVENT_TIME = [
    ({"late": ms.timer("event_time")}, "the timer 'late' of Timed"),
    ({"ttl": ms.ttl("1h")}, "the ttl of Timed"),
    ({"ttl": {"n": ms.ttl("1h")}}, "the ttl of Timed"),
]
SCHEMA = "key string, at timestamp"


def processed(stream: ms.Stream, given: dict[str, Any]) -> ms.Stream:
    return stream.key_by("key").process(type("Timed", (Plain,), given), schema="key string")


@pytest.mark.parametrize(("given", "what"), BY_EVENT_TIME)
def test_rows_without_an_event_time_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(PlanError, match=f"MS115.*{what} is in event time, but the rows of"):
        processed(ms.from_rows([], SCHEMA), given)


@pytest.mark.parametrize(("given", "what"), BY_EVENT_TIME)
def test_an_endless_stream_without_a_watermark_is_refused(given: dict[str, Any], what: str) -> None:
    endless = ms.read_files("/in", "json", schema=SCHEMA, event_time="at")
    with pytest.raises(PlanError, match=f"MS119.*{what} waits for the watermark, but no policy"):
        processed(endless, given)
    bounded = ms.read_files("/in", "json", schema=SCHEMA, event_time="at", bounded=True)
    processed(bounded, given)


@pytest.mark.parametrize(
    "given", [{"late": ms.timer("processing_time")}, {"ttl": ms.ttl("1h", "processing_time")}]
)
def test_by_the_clock_neither_is_needed(given: dict[str, Any]) -> None:
    processed(ms.read_files("/in", "json", schema=SCHEMA), given)


def test_the_order_of_event_time_needs_a_watermark() -> None:
    endless = ms.read_files("/in", "json", schema=SCHEMA, event_time="at").key_by("key")
    with pytest.raises(PlanError, match=r"MS119.*process\(Plain\) waits for the watermark"):
        endless.process(Plain, schema="key string", order="event_time")


def test_outputs_have_names() -> None:
    rows = ms.from_rows([], SCHEMA).key_by("key")
    with pytest.raises(PlanError, match="MS113.*that has no names"):
        rows.process(Plain, schema="key string", outputs="key string")  # type: ignore[arg-type]
