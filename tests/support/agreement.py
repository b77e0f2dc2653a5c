"""What engines are compared by: aggregates of all kinds, and all that panes tell."""

from __future__ import annotations

import math

import millstream as ms
from millstream.reference.ordering import ordering

HOW_MANY = ms.combine("value", create=list, add=lambda a, v: [*a, v], extract=len, returns="int")
LAST_ONE = ms.combine(
    "value",
    create=lambda: None,
    add=lambda before, value: value,
    extract=lambda value: None if value is None else [float(value)],
    returns="array<double>",
)
OF_ORDER = [
    None,
    *(f("value") for f in (ms.count, ms.min, ms.max, ms.first, ms.last, ms.any_value)),
    *(f("value") for f in (ms.collect, ms.collect_set, ms.count_distinct, ms.approx_distinct)),
    ms.top(2, by="value"),
    HOW_MANY,
]
OF_NUMBERS = [
    *(f("value") for f in (ms.sum, ms.mean, ms.variance, ms.stddev)),
    ms.quantile("value", 0.3),
    ms.approx_quantile("value", 0.9),
    ms.top(2, by="value % 3"),
    LAST_ONE,
]
AGGREGATES = [*OF_ORDER, *OF_NUMBERS]


def seen(panes):
    """All that a pane tells, its timestamp too; floats as far as they are sure."""
    return [
        (p.step, p.kind, rounded(p.key), p.window, rounded(p.values), p.timing, *_rest(p))
        for p in panes
    ]


def _rest(pane):
    return pane.index, pane.first, pane.last, pane.timestamp, pane.window_index


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, tuple):
        return tuple(map(rounded, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.10g}")
    return value


def late(element):
    key, value = ordering(element.key), ordering(element.value)
    return key, value, element.time, element.window, element.reason
