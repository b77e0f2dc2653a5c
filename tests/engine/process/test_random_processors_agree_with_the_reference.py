"""Random processors give on the columnar engine what they give on the reference, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Node, Stateful, walk
from millstream.reference import paged
from millstream.reference.interpreter import Interpreter
from millstream.reference.rows import Row
from millstream.reference.step import Step as Made
from millstream.testing import columnar_operator
from millstream.testing.engines import operators_of
from random_processors import RandomPrograms

PROGRAMS = 1000
PARTS = 4


def emitted(rows: list[Row]) -> dict[str, list[Any]]:
    """What was emitted for each key, in order: in which order keys have their turns is open."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        values = [row.values["k"], row.values["v"], row.values["what"], row.time, row.kind]
        found.setdefault(row.values["k"], []).append(values)
    return found


def in_any_order(rows: list[Row]) -> list[str]:
    return sorted(f"{row.values} {row.time} {row.kind}" for row in rows)


def taken(interpreter: Interpreter, step: Step) -> Made:
    match step:
        case Elements():
            return interpreter.step(rows={"events": step.items})
        case Watermark():
            return interpreter.step(watermarks={"events": step.us})
        case ProcessingTime():
            return interpreter.step(now=step.us)


def trace(node: Node, steps: list[Step], engine: str) -> list[Any]:
    """All that comes of each step, of each operator, and the operator's output watermark."""
    interpreter = Interpreter(node, operators=operators_of(engine))
    operators = [each for each in walk(node) if isinstance(each, Stateful)]
    found = []
    for step in steps:
        made = taken(interpreter, step)
        for each in operators:
            order = emitted if each.kind == "process" else in_any_order
            tagged = made.tagged[each].items()
            found.append(
                (
                    order(made.rows[each]),
                    {tag: in_any_order(rows) for tag, rows in tagged},
                    in_any_order(made.rejected.get(each, [])),
                    interpreter._watermarks[each],
                )
            )
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_agree_step_by_step(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shard has an output watermark of its own, which rows of others do not hold.
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    for seed in range(part, PROGRAMS, PARTS):
        drawn = RandomPrograms(seed)
        (node,) = with_distinct_names(drawn.program().node)
        steps = drawn.steps()
        expected = trace(node, steps, "reference")
        assert trace(node, steps, "columnar") == expected, f"seed {seed}: {steps}"


def test_random_programs_agree_where_all_lists_dicts_and_sets_are_in_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    monkeypatch.setattr(paged, "LARGE", 1)
    monkeypatch.setattr(paged, "PAGE", 2)
    for seed in range(150):
        drawn = RandomPrograms(seed)
        (node,) = with_distinct_names(drawn.program().node)
        steps = drawn.steps()
        expected = trace(node, steps, "reference")
        assert trace(node, steps, "columnar") == expected, f"seed {seed}: {steps}"


def test_a_batch_gives_the_rows_of_a_stream_if_no_row_is_late() -> None:
    for seed in range(100):
        drawn = RandomPrograms(seed)
        (node,) = with_distinct_names(drawn.program("one", is_like_a_batch=True).node)
        rows = sorted((drawn.row(0, 20) for _ in range(12)), key=lambda row: row["at"] or 0)
        batch = [Elements(rows), Watermark.end()]
        stream: list[Step] = []
        for row in rows:
            stream += [Elements([row]), Watermark((row["at"] or 0) + drawn.random.choice([-9, 0]))]
        found = []
        for steps in (batch, [*stream, Watermark.end()]):
            interpreter = Interpreter(node, operators=operators_of("reference"))
            values: list[str] = []
            for step in steps:
                made = taken(interpreter, step)
                emitted = [*made.rows[node], *made.tagged[node]["alerts"]]
                values += [str(row.values) for row in emitted]
            found.append(sorted(values))
        assert found[0] == found[1], f"seed {seed}"
