"""A Python stage is made of its tasks and of what the wide frame before it holds."""

from __future__ import annotations

import millstream as ms
from millstream.engine.rows import SPLIT
from millstream.spark.lower.python_stage import python_stage
from millstream.spark.lower.task_graph import TaskGraph
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.types import struct_of
from millstream.spark.worker.batch_clock import Moment
from millstream.spark.worker.step_columns import StepColumns
from programs import instance_of, lowering_of

SCHEMA = "key string, n int, at double"
POLICY = ms.bounded("5s")


def same(row):
    return row


def stage_of(*parts, stage=0, carried=(), prepare=lambda made, wide: None, **how):
    made = lowering_of(*parts, **how)
    for instance in made.plan.instances:
        if instance.role != "output":
            made.types[instance] = struct_of(SCHEMA)
    source = made.plan.sources[0] if stage == 0 else None
    steps = [i for i in made.plan.of(stage, source) if i.phase == 1]
    read = {i.input: StepColumns({"n": "c"}) for i in steps if i.input and i.input.phase == 0}
    wide = WideFrame(None, read, list(carried))
    prepare(made, wide)
    graph = TaskGraph(made, steps, last=stage == made.plan.stages - 1)
    return made, python_stage(made, wide, graph, source)


def rows():
    return ms.from_rows([], SCHEMA, name="rows")


def test_a_stage_takes_the_columns_of_its_inputs_and_counts_the_rows_of_its_source(spark):
    _, made = stage_of(rows().map(same, SCHEMA).collect("all"))
    ((columns, tasks),) = made.inputs
    assert columns.columns == {"n": "c"}
    assert [task.step for task in tasks] == ["map-1"]
    assert (made.source, made.origin, made.slices) == ("rows", "rows", "tasks")
    assert list(made.sinks) == ["all"]
    assert (made.run, made.labels, made.batch) == ("a1b2c3d4", [0, 1], None)


def test_what_the_jvm_rejects_and_follows_is_read_from_its_columns(spark):
    timed = rows().with_event_time("at", POLICY).named("timed")
    counts = timed.window(ms.fixed(10)).aggregate(n=ms.count())

    def prepare(made, wide):
        instance = instance_of(made, "timed")
        wide.rejected, wide.marks = {instance: "why"}, {instance: "t"}

    _, made = stage_of(
        counts.collect("all"), counts.rejected.collect("bad"), prepare=prepare, ending=True
    )
    (reject,) = made.rejects
    assert (reject.step, reject.column) == ("timed", "why")
    assert [task.step for task in reject.tasks] == ["rejected-1"]
    (follow,) = made.follows
    assert (follow.step, follow.mark, follow.column) == ("timed", "rows/timed", "t")
    assert made.ends == ["rows/timed"], "the source ends"


def test_only_sources_that_report_their_end_do(spark):
    counts = rows().with_event_time("at", POLICY).window(ms.fixed(10)).aggregate(n=ms.count())
    assert stage_of(counts.collect("all"), ending=False)[1].ends == []


def test_the_only_batch_has_its_number_and_clock(spark):
    _, made = stage_of(rows().collect("all"), only=Moment(0, 77))
    assert (made.batch, made.clock) == (0, 77)


def test_splits_are_slices_where_records_of_kafka_are_written_and_not_where_they_are_sent(spark):
    scores = ms.read_kafka(
        "scores", SCHEMA, event_time="at", watermark=POLICY, servers="x:1", name="scores"
    )
    _, made = stage_of(scores.collect("all"), carried=[SPLIT])
    assert (made.slices, made.split) == ("splits", SPLIT)
    counts = scores.window(ms.fixed(10)).aggregate(n=ms.count())
    _, made = stage_of(counts.collect("all"), carried=[SPLIT])
    assert (made.slices, made.by_split) == ("tasks", True)


def test_rows_without_places_are_numbered_where_their_order_counts(spark):
    assert stage_of(rows().key_by("key").changes().collect("all"))[1].numbered
    assert not stage_of(rows().collect("all"))[1].numbered
    files = ms.read_files("/data", "json", SCHEMA, name="files")
    assert not stage_of(files.key_by("key").changes().collect("all"))[1].numbered


def test_what_operators_emit_goes_to_the_tasks_that_read_it(spark):
    counts = rows().key_by("key").aggregate(n=ms.count()).named("counts")

    def prepare(made, wide):
        before = instance_of(made, "counts", "prepare")
        made.types[before] = struct_of("`__millstream_key 0` string")

    _, made = stage_of(counts.collect("all"), stage=1, prepare=prepare)
    ((key, emitted),) = made.emitted.items()
    assert key == ("counts", "rows")
    assert [task.step for task in emitted.tasks] == ["counts"]
    assert emitted.schema.names == ["key", "n", "window", "pane"]
    assert made.source is None
