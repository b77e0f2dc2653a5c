"""Which task a Python stage runs for a step, and with what."""

from __future__ import annotations

import pyarrow as pa
import pytest

import millstream as ms
from millstream.engine.rows import TIME
from millstream.spark.lower.tasks import follow_of, sink_schema, task_of
from millstream.spark.types import struct_of
from millstream.spark.worker.tasks.call import Call
from millstream.spark.worker.tasks.decode import Decode
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.pick import Pick
from millstream.spark.worker.tasks.sinks import ToSink
from millstream.spark.worker.tasks.task import Task
from millstream.spark.worker.tasks.to_shards import ToShards
from programs import instance_of, lowering_of

SCHEMA = "key string, n int, at double"
POLICY = ms.bounded("5s")


def same(row):
    return row


def files():
    return ms.read_files("/data/in", "json", SCHEMA, name="files")


def task(made, name, role="run", last=True, **has):
    instance = instance_of(made, name, role, **has)
    if instance.input is not None and instance.input not in made.types:
        made.types[instance.input] = struct_of(SCHEMA)
    return task_of(made, instance, last)


def test_sources_that_python_decodes(spark):
    kafka = ms.read_kafka("scores", SCHEMA, metadata=["offset"], servers="x:1", name="scores")
    made = lowering_of(kafka.collect("all"))
    decode = task(made, "scores")
    assert isinstance(decode, Decode)
    assert decode.schema.names == ["key", "n", "at"], "the offset is no part of the value"
    made = lowering_of(files().collect("all"))
    load = task(made, "files")
    assert isinstance(load, Load)
    assert (load.below, load.schema.names, load.ordered) == (3, ["key", "n", "at"], False)


def test_steps_over_rows(spark):
    timed = files().map(same, SCHEMA).named("mapped").with_event_time("at", POLICY).named("timed")
    stream = timed.select("at", m="n").named("picked").with_columns(k="m").named("more")
    made = lowering_of(stream.collect("all"))
    call = task(made, "mapped")
    assert isinstance(call, Call)
    assert call.node.function is same
    assert call.node.input.inputs == (), "workers need no more of the plan"
    assert call.schema.field("n").type == pa.int32()
    time = task(made, "timed")
    assert isinstance(time, Time)
    assert (time.column, time.follow.policy, time.follow.column) == ("at", POLICY, TIME)
    picked = task(made, "picked")
    assert isinstance(picked, Pick)
    assert picked.columns == {"at": "at", "m": "n"}
    more = task(made, "more")
    assert isinstance(more, Pick)
    assert more.columns == {"at": "at", "m": "m", "k": "m"}


def test_a_sink_is_written_in_the_last_stage_and_sent_there_from_others(spark):
    made = lowering_of(files().collect("all"))
    assert type(task(made, "all", "sink", last=True)) is Task
    sent = task(made, "all", "sink", last=False)
    assert isinstance(sent, ToSink)
    assert sent.schema.names == ["key", "n", "at"]


def test_operators_are_sent_rows_and_what_they_emit_is_taken_as_it_is(spark):
    counts = files().with_event_time("at", POLICY).window(ms.fixed(10)).aggregate(n=ms.count())
    made = lowering_of(counts.named("counts").collect("all"))
    scatter = instance_of(made, "counts", "scatter")
    made.types[scatter.input] = made.types[scatter.input.input] = struct_of(SCHEMA)
    assert isinstance(task_of(made, scatter, last=False), ToShards)
    assert type(task(made, "counts", "output")) is Task


def test_a_watermark_has_a_name_only_where_an_operator_needs_it():
    timed = files().with_event_time("at", POLICY).named("timed")
    counts = timed.window(ms.fixed(10)).aggregate(n=ms.count())
    followed, not_followed = lowering_of(counts.collect("n")), lowering_of(timed.collect("all"))
    assert follow_of(followed, instance_of(followed, "timed"), "t").mark == "files/timed"
    found = follow_of(not_followed, instance_of(not_followed, "timed"), "t")
    assert (found.mark, found.step, found.column) == (None, "timed", "t")


@pytest.mark.parametrize("first", ["one", "two"])
def test_a_sink_has_the_types_of_the_part_of_a_union_that_is_lowered_first(spark, first):
    one = ms.from_rows([], "n int", name="one")
    two = ms.from_rows([], "n int", name="two")
    made = lowering_of(one.union(two).collect("all"))
    made.types[instance_of(made, first)] = struct_of("n bigint")
    (sink,) = made.plan.sinks
    assert sink_schema(made, sink) == pa.schema([("n", pa.int64())])
