"""The steps that Spark SQL computes, in one wide frame."""

from __future__ import annotations

import json

import pytest

import millstream as ms
from millstream.plan.types.schema import hidden
from millstream.spark.lower.jvm_stage import JvmStage
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.worker.step_columns import StepColumns
from programs import instance_of, lowering_of

SCHEMA = "n int, at double"
VALUES = [(0, 1.0), (4, None), (6, 3.0)]


@pytest.fixture
def run(spark):
    """Runs the steps of a program up to a step; the wide frame, and the columns of that step."""

    def run(stream, name, role="run", whole=False):
        parts = [stream.collect("all")]
        if role == "run":
            parts.append(stream.rejected.collect("bad"))
        made = lowering_of(*parts)
        frame = spark.createDataFrame(VALUES, "c1 int, c2 double").coalesce(1)
        source = instance_of(made, "rows")
        wide = WideFrame(frame, {source: StepColumns({"n": "c1", "at": "c2"})}, [])
        stage = JvmStage(wide, made.listing, made.plan.followed)
        target = instance_of(made, name, role)
        for instance in made.plan.of(0, source.source, 0):
            if instance.input is not None:
                stage.run(instance, whole)
            if instance is target:
                break
        return wide, wide.steps[target], target

    return run


def values(wide, columns):
    rows = [row.asDict() for row in wide.frame.collect()]
    kept = [row for row in rows if columns.flag is None or row[columns.flag]]
    return [tuple(row[c] for c in columns.columns.values()) for row in kept]


def rows():
    return ms.from_rows([], SCHEMA, name="rows")


def test_a_filter_alone_filters_and_one_beside_others_makes_a_flag(run):
    wide, columns, _ = run(rows().filter("n > 3").named("big"), "big")
    assert columns.flag is None
    assert wide.frame.count() == 2
    both = rows()
    stream = both.filter("n > 3").named("big").union(both.filter("n < 3"))
    wide, columns, _ = run(stream, "big")
    assert wide.frame.count() == 3
    assert values(wide, columns) == [(4, None), (6, 3.0)]


def test_columns_that_are_only_picked_are_not_computed(run):
    wide, columns, _ = run(rows().select("at", m="n", twice="n * 2").named("made"), "made")
    assert (columns.columns["at"], columns.columns["m"]) == ("c2", "c1")
    assert values(wide, columns) == [(1.0, 0, 0), (None, 4, 8), (3.0, 6, 12)]
    assert len(wide.frame.columns) == 3


def test_rows_that_cannot_be_computed_are_rejected_with_the_record_and_are_no_rows(run):
    stream = rows().with_columns(part="12 / n", on_error="reject").named("parts")
    wide, columns, instance = run(stream, "parts")
    assert [row[-1] for row in values(wide, columns)] == [3.0, 2.0]
    (text,) = [t for row in wide.frame.collect() if (t := row[wide.rejected[instance]])]
    why, record = text.split("\n")
    assert why == "column 'part', 12 / n, cannot be computed"
    assert json.loads(record) == {"n": 0, "at": 1.0}


def test_rows_without_an_event_time_are_rejected(run):
    stream = rows().with_event_time("at", ms.ascending()).named("timed")
    wide, columns, instance = run(stream, "timed")
    found = [row[columns.time] for row in wide.frame.collect()]
    assert found == [1_000_000, None, 3_000_000]
    texts = [row[wide.rejected[instance]] for row in wide.frame.collect()]
    assert [text is None for text in texts] == [True, False, True]
    assert texts[1].startswith("event time 'at': it is null\n")


def test_an_operators_keys_and_inputs_are_prepared_and_whole_rows_where_they_are_needed(run):
    sums = rows().key_by(odd="n % 2 = 1").aggregate(total=ms.sum("n + 1")).named("sums")
    wide, columns, _ = run(sums, "sums", "prepare")
    assert list(columns.columns) == [hidden("key 0"), hidden("of 0")]
    assert values(wide, columns) == [(False, 1), (False, 5), (False, 7)]
    _, columns, _ = run(sums, "sums", "prepare", whole=True)
    assert list(columns.columns) == ["n", "at", hidden("key 0"), hidden("of 0")]
