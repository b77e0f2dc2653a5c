"""The types of rows: those of the plan where it knows them, else those that Spark has found."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

import millstream as ms
from programs import instance_of, lowering_of

FOUND = StructType(
    [
        StructField("key", StringType()),
        StructField("price", DecimalType(12, 4)),
        StructField("at", LongType()),
    ]
)
"""What Spark finds in a frame whose price the plan has no type for."""


def same(row):
    return row


def files(**how):
    schema = "key string, price decimal(12, 4), at bigint"
    return ms.read_files("/data", "json", schema, name="files", **how)


def types(stream, name, *, after=FOUND, role="run", **has):
    """The types of one step's rows, if those before it have these."""
    made = lowering_of(stream.collect("all"))
    instance = instance_of(made, name, role, **has)
    made.types[instance.input] = after
    return made.types.of(instance)


def test_picked_columns_have_the_types_of_their_columns(spark):
    picked = files().map(same, "key string, price string, at bigint").select("at", cost="price")
    found = types(picked.named("picked"), "picked")
    assert found.simpleString() == "struct<at:bigint,cost:decimal(12,4)>"


def test_added_columns_come_after_those_that_are_kept(spark):
    mapped = files().map(same, "key string, price string, at bigint")
    found = types(mapped.with_columns(cost="price", at="key").named("more"), "more")
    assert (
        found.simpleString()
        == "struct<key:string,price:decimal(12,4),at:string,cost:decimal(12,4)>"
    )


def test_rows_of_sinks_and_event_times_are_those_before_them(spark):
    timed = files().with_event_time("at", ms.ascending()).named("timed")
    assert types(timed, "timed") is FOUND
    assert types(timed, "all", role="sink") is FOUND


def test_a_function_gives_what_the_program_says_of_it(spark):
    found = types(files().map(same, "n int").named("mapped"), "mapped")
    assert found == StructType([StructField("n", IntegerType())])


def test_rejected_rows_have_three_columns_of_text(spark):
    made = lowering_of(files().rejected.collect("bad"))
    found = made.types.of(instance_of(made, "rejected-1", "rejected"))
    assert found.simpleString() == "struct<step:string,reason:string,record:string>"


@pytest.mark.parametrize("tag", ["rows", "late"])
def test_what_an_operator_emits_has_the_types_that_spark_finds_before_it(spark, tag):
    mapped = files().map(same, "key string, price string, at bigint")
    mapped = mapped.with_event_time("at", ms.ascending())
    dear = mapped.key_by("key").window(ms.fixed(10)).aggregate(most=ms.max("price")).named("dear")
    made = lowering_of(dear.collect("all"), dear.late.collect("late"))
    prepared = instance_of(made, "dear", "prepare")
    made.types[prepared.input] = made.types[prepared] = FOUND
    found = made.types.output(prepared.node, tag)
    names = {"rows": ["key", "most", "window", "pane"], "late": [*FOUND.names, "window", "reason"]}
    assert found.names == names[tag]
    if tag == "late":
        assert found["price"].dataType == DecimalType(12, 4)
    assert made.types.output(prepared.node, tag) is found, "it is found once"
