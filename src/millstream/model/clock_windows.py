"""Windows by the clock: rows are where they are processed, whatever their event times."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.model.windows import Calendar, Fixed, Session, Sliding, Window


@dataclass(frozen=True, slots=True, repr=False)
class ByClock(Window):
    """Windows of a kind, in processing time: the time of the batch that a row is in."""

    window: Window

    @property
    def merging(self) -> bool:
        return self.window.merging

    @property
    def by_time(self) -> bool:
        return False

    @property
    def uses_clock(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"processing_time({self.window!r})"


def processing_time(window: Window) -> ByClock:
    """Windows in processing time, which the clock ends: fixed, sliding, session or calendar ones.

    A row is in the windows of the time of its batch. In batch mode that is the time of the run.

    >>> from millstream.model.windows import fixed
    >>> processing_time(fixed("1m"))
    processing_time(fixed('1m'))
    """
    if isinstance(window, Fixed | Sliding | Session | Calendar):
        return ByClock(window)
    given = as_code(window) if isinstance(window, Window) else repr(window)
    raise PlanError(
        "MS123",
        f"processing_time({given}): that is no kind of windows with a length of time",
        fix="give one, such as ms.processing_time(ms.fixed('1m'))",
    )
