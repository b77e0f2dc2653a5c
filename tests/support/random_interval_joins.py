"""Random interval joins: of rows, of groupings that take rows back, before groupings, in chains."""

from __future__ import annotations

import sys
from functools import partial
from random import Random
from typing import Any

from pyspark import cloudpickle

import millstream as ms
from millstream.model.script import Elements, Step, Watermark
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Stateful, walk
from millstream.reference.interpreter import Interpreter
from millstream.reference.rows import Row
from millstream.testing import test_stream
from millstream.testing.engines import operators_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what tests do

SHAPES = ("plain", "retracting left", "retracting right", "join of joins", "aggregate after")
HOWS = ("inner", "left", "right", "full", "semi", "anti")
COLUMNS = "script int, k string, v int, at double"
SHARED = {side: test_stream(COLUMNS, name=side) for side in ("left", "right")}


class RandomIntervalJoins:
    """Draws a program and its script from a seed. The sources are ``left`` and ``right``.

    One of several programs in a query reads the rows of its ``script``.
    """

    def __init__(self, seed: int, script: int | None = None) -> None:
        self._random = Random(seed)
        self._script = script

    def program(self, shape: str | None = None) -> ms.Stream:
        draw = self._random
        shape = draw.choice(("plain", *SHAPES)) if shape is None else shape
        left, right = self._source("left"), self._source("right")
        one = totals(left) if shape == "retracting left" else left.select("k", a="v")
        other = totals(right, "b") if shape == "retracting right" else right.select("k", b="v")
        joined = self._joined(one, other, "b")
        if shape == "join of joins":
            third = right.select("k", c="v")
            joined = self._joined(joined, third, "c")
        if shape == "aggregate after":
            windows = joined.key_by("k").window(ms.fixed(10), allowed_lateness=5)
            joined = windows.refine(ms.accumulating).aggregate(n=ms.count(), a=ms.sum("a"))
        return joined

    def _joined(self, left: ms.Stream, right: ms.Stream, value: str) -> ms.Stream:
        draw = self._random
        first = draw.choice([-8, -4, -1, 0, 0, 2])
        on: Any = draw.choice(["k", "k", ["k", ("a % 2", f"{value} % 2")]])
        if draw.random() < 0.2:
            right, on = right.with_columns(**{f"k_{value}": "k"}).drop("k"), ("k", f"k_{value}")
        refined = left.refine(ms.retracting) if draw.random() < 0.4 else left
        return refined.interval_join(
            right,
            on=on,
            between=(first, first + draw.choice([0, 1, 4, 9])),
            how=draw.choice(HOWS),
            where=draw.choice([None, None, f"a <= {value}"]),
        )

    def _source(self, side: str) -> ms.Stream:
        if self._script is None:
            return test_stream(COLUMNS, event_time="at", name=side)
        mine = SHARED[side].flat_map(partial(_of_script, self._script), schema=COLUMNS)
        # Steps move the watermark; the policy makes it one of this branch alone.
        return mine.with_event_time("at", ms.ascending(ahead=None))

    def steps(self, most: int = 9) -> list[Step]:
        """Rows of either side, some of them late, and watermarks; at the end, the end of time."""
        draw = self._random
        made: list[Step] = []
        reached = {"left": 0, "right": 0}
        for _ in range(draw.randint(2, most)):
            side = draw.choice(["left", "right"])
            if draw.random() < 0.6:
                rows = [self._row(reached[side]) for _ in range(draw.randint(1, 6))]
                made.append(Elements(rows, source=side))
            else:
                reached[side] += draw.randint(0, 9)
                made.append(Watermark(reached[side], source=side))
        return [*made, Watermark.end()]

    def _row(self, reached: int) -> dict[str, Any]:
        draw = self._random
        time = max(0, reached + draw.randint(-6, 8))
        key, value = draw.choice(["a", "b", None]), draw.randint(0, 3)
        return {"script": self._script or 0, "k": key, "v": value, "at": float(time)}


def totals(stream: ms.Stream, name: str = "a") -> ms.Stream:
    """A sum for each key and window, emitted at each change, and taken back at the next one."""
    windows = stream.key_by("k").window(ms.fixed(4), allowed_lateness=6)
    often = windows.trigger(ms.at_watermark(early=ms.after_count(1), late=ms.after_count(1)))
    return often.refine(ms.retracting).aggregate(v=ms.sum("v")).select("k", "kind", **{name: "v"})


def _of_script(number: int, row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row] if row["script"] == number else []


def trace(stream: ms.Stream, steps: list[Step], engine: str) -> list[Any]:
    """All that comes of each step, of each operator, and the operator's output watermark."""
    (node,) = with_distinct_names(stream.node)
    interpreter = Interpreter(node, operators=operators_of(engine))
    operators = [each for each in walk(node) if isinstance(each, Stateful)]
    found = []
    for step in steps:
        if isinstance(step, Elements):
            made = interpreter.step(rows={str(step.source): step.items})
        else:
            assert isinstance(step, Watermark)
            moved = ["left", "right"] if step.source is None else [step.source]
            made = interpreter.step(watermarks=dict.fromkeys(moved, step.us))
        for each in operators:
            tagged = {tag: in_any_order(rows) for tag, rows in made.tagged[each].items()}
            found.append((in_any_order(made.rows[each]), tagged, interpreter._watermarks[each]))
    return found


def in_any_order(rows: list[Row]) -> list[str]:
    return sorted(f"{row.values} {row.time} {row.kind}" for row in rows)
