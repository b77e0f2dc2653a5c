"""Chains of two groupings: totals by key and window, which are retracted, grouped again."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import millstream as ms
from millstream.testing import Elements, test_stream
from scripts import safe_triggers, windows

SHAPES = st.tuples(
    windows(("fixed", "sliding", "session")),
    safe_triggers(),
    windows(("fixed", "session")),
    safe_triggers(),
    st.sampled_from([ms.accumulating, ms.retracting]),
    st.sampled_from([0, "100d"]),
    st.sampled_from(["end", "earliest", "latest"]),
)
"""Windows and triggers of both; of the second the refinement and lateness, of the first when its
panes are timed."""


def chain_of(shape: Any, value: str, **aggregates: Any) -> ms.Stream:
    """A chain of a shape, over values of a type."""
    first, first_trigger, second, second_trigger, refine, lateness, timestamp = shape
    default = ms.repeatedly(ms.at_watermark())
    totals = (
        test_stream(f"key string, value {value}, at double", event_time="at")
        .key_by("key")
        .window(first, allowed_lateness="100d", timestamp=timestamp)
        .trigger(first_trigger or default)
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"), best=ms.max("value"))
    )
    return (
        totals.key_by("total % 3 AS rest")
        .window(second, allowed_lateness=lateness, timestamp="earliest")
        .trigger(second_trigger or default)
        .refine(refine)
        .aggregate(**aggregates)
    )


def as_rows(step: Any) -> Any:
    """A step of a script, with rows for the source of a chain."""
    if not isinstance(step, Elements):
        return step
    return Elements({"key": k, "value": v, "at": float(t)} for k, v, t in step.items)
