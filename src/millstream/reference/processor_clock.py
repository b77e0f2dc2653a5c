"""How far time has come for a processor."""

from __future__ import annotations

from typing import NamedTuple

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.plan.operators.process import Processing


class Clock(NamedTuple):
    """How far time has come in a step. The watermarks are those of ``processor_watermark``."""

    watermark_before: int
    watermark: int
    now: int


def processor_watermark(what: Processing, watermark: int) -> int:
    """How far event time has come for a processor.

    One that takes rows in the order of event time runs behind the watermark by the lateness that
    it allows: only then no earlier row can come.
    """
    if what.order == "arrival" or watermark >= END_OF_TIME:
        return watermark
    return max(watermark - (what.lateness or 0), START_OF_TIME)
