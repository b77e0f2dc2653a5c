"""A program becomes one frame: which Python stages run apart, and which inside a stateful stage."""

from __future__ import annotations

from dataclasses import replace

import pytest

import millstream as ms
from millstream.spark.lower import program
from millstream.spark.worker.envelopes import ARROW
from millstream.spark.worker.python_stage import PythonStage
from programs import lowering_of

ROWS = ms.from_rows([], "key string, n int", name="rows")
OTHERS = ms.from_rows([], "key string, n int", name="others")


class Frame(str):
    """A frame that is only what was done to get it."""

    def mapInArrow(self, stage, schema):  # noqa: N802 - Spark's name
        return Frame(f"{self} > python")

    def union(self, other):
        return Frame(f"({self} + {other})")


@pytest.fixture
def lowered(monkeypatch):
    """Lowers a program to the text of what is done, and the name of the stage that is left."""

    def run_stages(lowering, wide, stage, source, last):
        steps = lowering.plan.of(stage, source) if source is not None or stage else []
        jvm = any(i.in_jvm and i.input is not None for i in steps)
        name = f"{stage}{'' if source is None else source.name}{' last' if last else ''}"
        return Frame(f"{wide.frame}{' > jvm' if jvm else ''}"), PythonStage(schema=ARROW, run=name)

    def shuffle(frame, stage):
        then = "" if stage.then is None else f" with {stage.then.run}"
        operators = ",".join(spec.name for spec in stage.specs)
        return Frame(f"{frame} > [{operators}{then}]")

    monkeypatch.setattr(program, "run_stages", run_stages)
    monkeypatch.setattr(program, "PackedStage", lambda stage: stage)
    monkeypatch.setattr(
        program,
        "source_frame",
        lambda lowering, source, frame, apart=False: program._envelopes(frame),
    )
    monkeypatch.setattr(program.DataFrame, "union", Frame.union)

    def lowered(*parts, **how):
        made = replace(lowering_of(*parts))
        monkeypatch.setattr(type(made), "envelope", ARROW)
        found = program.lower(made, lambda source: Frame(source.name), shuffle, **how)
        return str(found.frame), None if found.last is None else found.last.run

    return lowered


def counts(stream, name):
    return stream.key_by("key").aggregate(n=ms.count()).named(name)


def test_a_program_without_operators_is_one_python_stage_after_its_source(lowered):
    assert lowered(ROWS.filter("n > 1").collect("all")) == ("rows > jvm", "0rows last")


def test_all_sources_meet_before_what_is_written(lowered):
    frame, last = lowered(ROWS.union(OTHERS).collect("all"))
    assert frame == "(others > python + rows > python)"
    assert last == "0 last"


def test_what_only_python_does_after_a_shuffle_runs_where_the_rows_are_made(lowered):
    assert lowered(counts(ROWS, "counts").collect("all")) == (
        "rows > jvm > python > [counts with 1 last]",
        None,
    )


def test_the_last_stage_is_left_to_the_caller_who_asks_for_it(lowered):
    assert lowered(counts(ROWS, "counts").collect("all"), apart=True) == (
        "rows > jvm > python > [counts]",
        "1 last",
    )


def test_sql_after_a_shuffle_runs_in_the_jvm_before_the_next_one(lowered):
    big = counts(ROWS, "counts").filter("n > 1").select("key")
    frame, last = lowered(counts(big, "again").collect("all"))
    assert frame == "rows > jvm > python > [counts] > jvm > python > [again with 2 last]"
    assert last is None
