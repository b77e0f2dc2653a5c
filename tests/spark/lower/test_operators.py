"""What is sent to the shards of operators, and the stateful stage that runs them."""

from __future__ import annotations

import pyarrow as pa

import millstream as ms
from millstream.plan.types.schema import hidden
from millstream.spark.lower.operators import (
    emitted,
    prepared_columns,
    stateful_stage,
    to_shards,
)
from programs import instance_of, lowering_of

SCHEMA = "key string, n int, at double"


def same(row):
    return row


def source(name="rows"):
    return ms.from_rows([], SCHEMA, event_time="at", watermark=ms.ascending(), name=name)


def sums(stream, of="n + 1"):
    grouped = stream.key_by(k="key").window(ms.fixed(10)).aggregate(total=ms.sum(of))
    return grouped.named("sums")


def test_what_the_jvm_computes_is_read_from_its_hidden_columns(spark):
    made = lowering_of(sums(source()).collect("all"))
    task = to_shards(made, instance_of(made, "sums", "scatter"))
    assert task.input.columns == {"key 0": hidden("key 0"), "of 0": hidden("of 0")}
    assert (task.step, task.labels, task.input.row) == ("sums", [0, 1], ())


def test_plain_columns_are_read_where_python_has_the_rows(spark):
    made = lowering_of(sums(source().map(same, SCHEMA), of="n").collect("all"))
    task = to_shards(made, instance_of(made, "sums", "scatter"))
    assert task.input.columns == {"key 0": "key", "of 0": "n"}


def test_a_key_function_travels_with_the_type_of_its_key(spark):
    def first(row) -> str:
        return row["key"][0]

    counts = source().key_by(first).aggregate(n=ms.count()).named("counts")
    made = lowering_of(counts.collect("all"))
    task = to_shards(made, instance_of(made, "counts", "scatter"))
    ((name, (key, kind)),) = task.input.functions.items()
    assert (name, key.function, kind) == ("key 0", first, pa.string())
    assert task.input.row == ("key", "n", "at")
    (port,) = instance_of(made, "counts", "scatter").node.ports
    assert prepared_columns(instance_of(made, "counts", "scatter").node, port) == {}


def test_rows_are_sent_whole_under_the_names_that_the_operator_reads(spark):
    late = sums(source())
    made = lowering_of(late.collect("all"), late.late.collect("late"))
    task = to_shards(made, instance_of(made, "sums", "scatter"))
    assert (task.input.whole, task.input.row) == (("row",), ("key", "n", "at"))


def test_a_stage_passes_on_the_watermarks_that_later_stages_need():
    rows, others = source(), source("others")
    counts = rows.key_by("key").window(ms.fixed(10)).aggregate(n=ms.count()).named("counts")
    both = counts.select("key").union(others.select("key"))
    again = both.key_by("key").window(ms.fixed(10)).aggregate(n=ms.count()).named("again")
    made = lowering_of(again.collect("all"))
    first, second = stateful_stage(made, 1), stateful_stage(made, 2)
    assert [spec.name for spec in first.specs] == ["counts"]
    assert first.later == {"counts", "others/event_time-2"}
    assert ([spec.name for spec in second.specs], second.later) == (["again"], frozenset())
    assert first.labels == [0, 1]


def test_what_is_emitted_under_a_tag_has_the_types_of_its_step(spark):
    made = lowering_of(sums(source()).late.collect("late"))
    late = instance_of(made, "sums", "output", tag="late")
    for name, role in (("rows", "run"), ("event_time-1", "run"), ("sums", "prepare")):
        made.types[instance_of(made, name, role)] = prepared(made, name, role)
    made.types[late] = made.types.of(late)
    found = emitted(made, late, [])
    assert (found.tag, found.ordered) == ("late", False)
    assert found.schema.names == ["key", "n", "at", "window", "reason"]
    assert found.schema.field("n").type == pa.int32()


def prepared(made, name, role):
    """The types of a step before the operator, as Spark would find them."""
    from millstream.spark.types import struct_of

    computed = f"`{hidden('key 0')}` string, `{hidden('of 0')}` int"
    return struct_of(computed if role == "prepare" else SCHEMA)
