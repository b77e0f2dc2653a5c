"""Random temporal joins, and random scripts for their two sides, with retractions."""

from __future__ import annotations

from random import Random
from typing import Any

import millstream as ms
from millstream.model.script import Elements, Step, Watermark
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Stateful, walk
from millstream.reference.interpreter import Interpreter
from millstream.reference.rows import Row
from millstream.testing import test_stream
from millstream.testing.engines import operators_of

KEYS = ["a", "a", "b", None]
SHAPES = ("plain", "retracting table", "retracting rows", "join of joins", "aggregate after")
REGULAR = (
    "plain",
    "retracting rows",
    "retracting others",
    "join of aggregates",
    "join of joins",
    "aggregate after",
)


class RandomJoins:
    """Draws a program and its script from a seed. The sources are ``rows`` and ``versions``."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def temporal(self, shape: str | None = None, script: int = 0) -> ms.Stream:
        """A temporal join, of rows or of what comes out of a grouping."""
        draw = self._random
        shape = draw.choice(SHAPES) if shape is None else shape
        rows, given = source("rows", script), source("versions", script)
        versions = given.select("k", p="v", gone="g")
        if shape == "retracting table":
            sums = totals(given).filter("v % 3 <> 1")
            versions = sums.select("k", "kind", p="v", gone="v % 5 = 0")
        if shape == "retracting rows":
            rows = totals(rows).select("k", "v", "kind")
        versions, how = self._met(versions, "p")
        joined = rows.temporal_join(versions, **how)
        if shape == "join of joins":
            again, how = self._met(given.select("k", q="v", gone_2="g"), "q")
            joined = joined.temporal_join(again, **{**how, "deleted": "gone_2"})
        if shape == "aggregate after":
            windows = joined.key_by("k").window(ms.fixed(10))
            joined = windows.aggregate(n=ms.count(), p=ms.sum("p"))
        return joined

    def regular(self, shape: str | None = None, script: int = 0) -> ms.Stream:
        """A regular join, of rows, of what groupings emit, or of another join."""
        draw = self._random
        shape = draw.choice(REGULAR) if shape is None else shape
        given = source("versions", script)
        rows, others = source("rows", script).select("k", "v"), given.select("k", w="v")
        if shape in ("retracting rows", "join of aggregates"):
            rows = totals(rows).select("k", "v", "kind")
        if shape in ("retracting others", "join of aggregates"):
            others = (
                totals(others.select("k", v="w")).filter("v % 3 <> 1").select("k", "kind", w="v")
            )
        joined = self._regular(rows, others, ["k", ("k", "k"), ["k", ("v % 2", "w % 2")]])
        if shape == "join of joins":
            joined = self._regular(joined, given.select("k", x="v"), ["k"])
        if shape == "aggregate after":
            often = joined.key_by("k").trigger(ms.repeatedly(ms.after_count(1)))
            joined = often.refine(ms.retracting).aggregate(n=ms.count(), v=ms.sum("v"))
        return joined

    def _regular(self, left: ms.Stream, right: ms.Stream, on: list[Any]) -> ms.Stream:
        how = self._random.choice(["inner", "left", "right", "full", "semi", "anti"])
        ttl = self._random.choice([None, 3, 8])
        where = None
        if right.schema.find("w") is not None:
            where = self._random.choice([None, None, "v + w <> 4", "w > 2 OR v IS NULL"])
        met = self._random.choice(on)
        return left.join(right, met, how, where, ttl=ttl, unbounded_state=ttl is None)

    def _met(self, versions: ms.Stream, value: str) -> tuple[ms.Stream, dict[str, Any]]:
        """The versions, under their own names for keys or the same, and how rows meet them."""
        on: Any = self._random.choice(["k", ["k", ("v % 2", f"{value} % 2")]])
        if self._random.random() < 0.5:
            versions = versions.with_columns(**{f"key_{value}": "k"}).drop("k")
            on = self._random.choice([("k", f"key_{value}"), ("lower(k)", f"lower(key_{value})")])
        return versions, {"on": on, **self._how()}

    def _how(self) -> dict[str, Any]:
        draw = self._random
        direction = draw.choice(["backward", "backward", "forward", "nearest"])
        tolerance = draw.choice([None, 0, 3, 8]) if direction == "backward" else draw.choice([0, 3])
        return {
            "how": draw.choice(["inner", "left"]),
            "grace": draw.choice([0, 0, 4]),
            "direction": direction,
            "tolerance": tolerance,
            "deleted": draw.choice([None, "gone"]),
        }

    def steps(self, most: int = 10, script: int = 0) -> list[Step]:
        """Rows of either side, some of them late, and watermarks; at the end, the end of time."""
        draw = self._random
        made: list[Step] = []
        reached = {"rows": 0, "versions": 0}
        for _ in range(draw.randint(4, most)):
            side = draw.choice(["rows", "versions"])
            if draw.random() < 0.6:
                rows = [self._row(reached[side]) for _ in range(draw.randint(1, 8))]
                made.append(Elements(rows, source=name_of(side, script)))
            else:
                reached[side] += draw.randint(0, 9)
                made.append(Watermark(reached[side], source=name_of(side, script)))
        return [*made, Watermark.end()]

    def _row(self, reached: int) -> dict[str, Any]:
        draw = self._random
        return {
            "k": draw.choice(KEYS),
            "v": draw.randint(0, 5),
            "g": draw.random() < 0.2,
            "at": float(max(0, reached + draw.randint(-4, 9))),
        }


def name_of(side: str, script: int) -> str:
    return side if not script else f"{side} {script}"


def source(side: str, script: int = 0) -> ms.Stream:
    """The rows of a script, under the name of their side."""
    schema = "k string, v int, g boolean, at double"
    return test_stream(schema, event_time="at", name=name_of(side, script))


def totals(stream: ms.Stream) -> ms.Stream:
    """A sum for each key and window, emitted at each change, and taken back at the next one."""
    windows = stream.key_by("k").window(ms.fixed(2), allowed_lateness=6)
    often = windows.trigger(ms.at_watermark(early=ms.after_count(1), late=ms.after_count(1)))
    return often.refine(ms.retracting).aggregate(v=ms.sum("v"))


def in_any_order(rows: list[Row]) -> list[str]:
    return sorted(f"{row.values} {row.time} {row.kind}" for row in rows)


def trace(stream: ms.Stream, steps: list[Step], engine: str) -> list[Any]:
    """All that comes of each step, of each operator, and the operator's output watermark."""
    (node,) = with_distinct_names(stream.node)
    interpreter = Interpreter(node, operators=operators_of(engine))
    operators = [each for each in walk(node) if isinstance(each, Stateful)]
    sources = [each.name for each in walk(node) if not each.inputs]
    found = []
    for step in steps:
        made = taken(interpreter, step, sources)
        for each in operators:
            tagged = {tag: in_any_order(rows) for tag, rows in made.tagged[each].items()}
            found.append((in_any_order(made.rows[each]), tagged, interpreter._watermarks[each]))
    return found


def taken(interpreter: Interpreter, step: Step, sources: list[str]) -> Any:
    match step:
        case Elements():
            return interpreter.step(rows={str(step.source): step.items})
        case Watermark():
            moved = sources if step.source is None else [step.source]
            return interpreter.step(watermarks=dict.fromkeys(moved, step.us))
    raise AssertionError(step)


def net(rows: Any) -> list[str]:
    """What is left of rows and retractions, in any order."""
    left: dict[str, int] = {}
    for row in rows:
        values = {name: value for name, value in row.items() if name != "kind"}
        left[repr(values)] = left.get(repr(values), 0) + (1 if row.get("kind", "+") == "+" else -1)
    assert all(count >= 0 for count in left.values())
    return sorted(text for text, count in left.items() for _ in range(count))
