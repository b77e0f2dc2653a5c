"""The JVM stages and Python stages between two shuffles, one after another."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.engine.rows import SPLIT
from millstream.model.errors import PlanError
from millstream.spark.lower.source_frame import source_frame
from millstream.spark.lower.stages import run_stages
from millstream.spark.worker.envelopes import NAMES
from programs import lowering_of

SCHEMA = "key string, n int"


def same(row):
    return row


@pytest.fixture
def run(spark):
    """Runs the stages of a program after its only source."""

    def run(stream, last=True):
        made = lowering_of(stream.collect("all"))
        (source,) = made.plan.sources
        frame = spark.createDataFrame([("a", 1), ("b", 5)], SCHEMA).coalesce(1)
        return run_stages(made, source_frame(made, source, frame), 0, source, last)

    return run


def rows():
    return ms.from_rows([], SCHEMA, name="rows")


def test_the_last_python_stage_is_left_and_writes_the_sinks(run):
    frame, python = run(rows().filter("n > 1").select("n"))
    assert [tuple(row) for row in frame.collect()] == [(5,)], "only what the stage reads"
    assert list(python.sinks) == ["all"]
    assert python.schema.names == list(NAMES)


def test_a_stage_before_a_shuffle_writes_nothing(run):
    _, python = run(rows().key_by("key").aggregate(n=ms.count()), last=False)
    assert python.sinks == {}


def test_a_python_stage_before_the_last_hands_its_rows_to_the_jvm(run):
    twice = rows().map(lambda row: {**row, "n": row["n"] * 2}, SCHEMA).filter("n > 2")
    frame, python = run(twice.map(same, SCHEMA))
    kept = [c for c in frame.columns if c not in NAMES]
    found = [tuple(row[c] for c in kept) for row in frame.collect() if row["kind"] is None]
    assert [row[:2] for row in found] == [("b", 10)]
    assert SPLIT not in frame.columns
    assert python.tasks[0].step == "map-2"


def test_sql_that_spark_refuses_is_named_with_its_step(run):
    with pytest.raises(PlanError, match="MS125 in step 'wrong': column 'm', ACOS"):
        run(rows().with_columns(m="acos(map(1, 2))").named("wrong"))
