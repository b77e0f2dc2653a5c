"""Rows without an order, as engines are compared by: none of them promises one."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from agreement import rounded


def bag(rows):
    """How often there is which row; values that are equal look alike, columns keep their order."""
    return Counter(repr(rounded(_plain(row))) for row in rows)


def assert_same_rows(job, expected, but=()):
    """All sinks of a job, but those, have the rows that another job's have."""
    names = [sink.name for sink in expected._sinks if sink.name not in but]
    different = {
        name: _difference(bag(job.rows(name)), bag(expected.rows(name)))
        for name in names
        if bag(job.rows(name)) != bag(expected.rows(name))
    }
    assert not different, different


def _difference(got, wanted):
    return {"too many": dict(got - wanted), "missing": dict(wanted - got)}


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"  # 3 and 3.00 are one number
    if isinstance(value, float):
        return value + 0.0  # and so are both zeros
    return value
