"""Compares the two forms of a user's processor: ``on_batch``, and ``on_row``."""

from __future__ import annotations

import random
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from millstream.model.errors import PlanError, TestingError
from millstream.model.processors import Processor
from millstream.model.script import Elements, ProcessingTime, Step, Watermark, checked_steps
from millstream.plan.nodes import TestSource, walk
from millstream.plan.operators.process import Process
from millstream.plan.types.result_types import base_type
from millstream.plan.types.schema import Schema
from millstream.stream import Stream
from millstream.testing.engines import run_stream
from millstream.testing.panes import Panes, Rows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_forms(stream: Stream, steps: Iterable[Step] | None = None, runs: int = 20) -> None:
    """Checks that ``on_batch`` and ``on_row`` of a processor do the same; raises where they differ.

    If it has ``on_timers``, that is compared with ``on_timer`` as well.

    ``stream`` is what ``process(…)`` returned, over a ``test_stream``. Both forms run through the
    steps. Without steps, so many ``runs`` are made through random ones, which are the same each
    time: rows with few different values, some of them null, watermarks and clock times.

    >>> import polars as pl
    >>> import millstream as ms
    >>> from millstream.testing import check_forms, test_stream
    >>> class Counts(ms.Processor):
    ...     class state:
    ...         n: int = 0
    ...     def on_row(self, row, state, timers, out):
    ...         state.n += 1
    ...         out.emit(user=row["user"], n=state.n)
    ...     def on_batch(self, rows, state, timers, out):
    ...         before = state["n"].gather(rows["_slot"])
    ...         after = before + pl.int_range(1, pl.len() + 1).over("_slot")
    ...         rows = rows.with_columns(n=after)
    ...         out.emit(rows)
    ...         return rows.group_by("_slot").agg(pl.last("n"))
    >>> clicks = test_stream("user string, at double", event_time="at")
    >>> check_forms(clicks.key_by("user").process(Counts, schema="user string, n bigint"))
    """
    node = stream.node
    if not isinstance(node, Process) or not node.processing.by_batch:
        raise PlanError(
            "MS117",
            f"{node.name!r} is no processor with on_batch, and check_forms compares its two forms",
            fix="give the stream that process(…) returned, of a processor with on_batch",
        )
    by_row = replace(node, processing=replace(node.processing, processor=_by_row(node)))
    if steps is not None:
        _check(node, by_row, checked_steps(steps))
        return
    (source,) = (each for each in walk(node) if isinstance(each, TestSource))
    for seed in range(runs):
        _check(node, by_row, random_steps(source.schema, seed))


def random_steps(schema: Schema, seed: int) -> list[Step]:
    """Rows of these columns, watermarks and clock times, until the input ends."""
    rng = random.Random(seed)
    steps: list[Step] = []
    time = clock = 0
    for _ in range(rng.randint(1, 6)):
        rows = [
            {field.name: _value(rng, str(field.type), time) for field in schema}
            for _ in range(rng.randint(0, 8))
        ]
        time, clock = time + rng.randint(0, 6), clock + rng.randint(0, 4)
        steps += [Elements(rows), ProcessingTime(clock), Watermark(time)]
    return [*steps, Watermark.end()]


def _check(node: Process, by_row: Process, steps: list[Step]) -> None:
    made, expected = (run_stream(each, steps, "columnar", False) for each in (node, by_row))
    for what, one, other in zip(_PARTS, _parts(made), _parts(expected), strict=True):
        for place in range(max(len(one), len(other))):
            pair = [str(each[place]) if place < len(each) else "nothing" for each in (one, other)]
            if pair[0] != pair[1]:
                raise TestingError(
                    "MS132",
                    f"on_batch and on_row of {node.processing.name} differ in {what} {place}: "
                    f"on_batch gives {pair[0]}, on_row gives {pair[1]}, after {steps}",
                    fix="let on_batch give what on_row gives, for each row in the same order",
                    step=node.name,
                )


_PARTS = ("row", "side output", "late row", "rejected record")


def _parts(made: Panes | Rows) -> tuple[list[Any], ...]:
    assert isinstance(made, Rows)
    tagged = [(tag, row) for tag, rows in sorted(made.outputs.items()) for row in rows]
    return list(made), tagged, list(made.late), list(made.rejected)


def _by_row(node: Process) -> Processor:
    """The processor without its ``on_batch`` and ``on_timers``."""
    made = copy(node.processing.processor)
    kind = type(made)
    both = {"on_batch": Processor.on_batch, "on_timers": Processor.on_timers}
    made.__class__ = type(kind.__name__, (kind,), both)
    return made


def _value(rng: random.Random, type: str, time: int) -> Any:
    """A value of few, or one near a time."""
    near = max(time + rng.randint(-6, 10), 0)
    match base_type(type):
        case "STRING":
            return rng.choice(["a", "b", "c", None])
        case "BOOLEAN":
            return rng.choice([True, False])
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return near
        case "FLOAT" | "DOUBLE":
            return float(near)
        case "DECIMAL":
            return Decimal(near % 10)
        case "TIMESTAMP":
            return _EPOCH + timedelta(seconds=near)
        case "TIMESTAMP_NTZ":
            return (_EPOCH + timedelta(seconds=near)).replace(tzinfo=None)
        case "DATE":
            return date(1970, 1, 1) + timedelta(days=near)
    return None
