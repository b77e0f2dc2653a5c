"""The horizontal axis: which part of event time is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median

_FARTHEST = 0.96
"""A gap that takes a larger part of the axis is cut out."""
_LONGEST = 60
"""A window that is longer than its elements by this factor is not shown to its ends."""

Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Extent:
    """From ``low`` to ``high``; ``before`` and ``after``: there is more, far outside."""

    low: float
    high: float
    before: bool = False
    after: bool = False


def extent_of(
    times: Sequence[float], windows: Sequence[Window], watermarks: Sequence[float]
) -> Extent:
    """The event times to show: all elements and windows, except those far away from the rest.

    >>> extent_of([3.0, 7.0], [(0.0, 10.0)], [math.inf])
    Extent(low=-0.3, high=10.3, before=False, after=False)
    >>> extent_of([1.0, 2.0, 3.0, 4.0e9], [(0.0, 10.0)], []).after
    True
    """
    bounds = sorted({bound for bound in chain(*windows) if math.isfinite(bound)})
    marks = [time for time in watermarks if math.isfinite(time)]
    low, high = _crowd(sorted(set(times)) or bounds or sorted(marks) or [0.0, 10.0])
    reach = _reach(high - low, len(set(times)), windows)
    near = [bound for bound in bounds if low - reach <= bound <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.12 * (high - low)
    passing = [time for time in marks if low - margin <= time <= high + margin]
    low, high = min([low, *passing]), max([high, *passing])
    if low == high:
        low, high = low - 1, high + 1
    before = min([*times, *(end for _, end in windows)], default=low) < low
    after = max([*times, *(start for start, _ in windows)], default=high) > high
    pad = round(0.03 * (high - low), 6)
    return Extent(low - pad, high + pad, before, after)


def _crowd(times: Sequence[float]) -> tuple[float, float]:
    """Where most of the sorted times are, without those beyond a very large gap."""
    while len(times) > 3:
        span = times[-1] - times[0]
        gap, cut = max((later - sooner, n) for n, (sooner, later) in enumerate(pairwise(times), 1))
        side = max(times[:cut], times[cut:], key=len)
        if gap <= _FARTHEST * span or len(side) < max(3, 2 * len(times) / 3):
            break
        times = side
    return times[0], times[-1]


def _reach(span: float, times: int, windows: Sequence[Window]) -> float:
    """How far outside the elements a window's bound may be and still be shown."""
    lengths = [end - start for start, end in windows if math.isfinite(end - start)]
    usual = median(lengths) if lengths else 0.0
    if times > 2 and usual > _LONGEST * span:
        return 0.5 * span
    return max(span, 1.5 * usual)
