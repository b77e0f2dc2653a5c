"""The tasks of a Python stage, each linked to those that take its rows."""

from __future__ import annotations

import millstream as ms
from millstream.spark.lower.task_graph import TaskGraph
from millstream.spark.types import struct_of
from millstream.spark.worker.tasks.sinks import Write
from programs import instance_of, lowering_of

SCHEMA = "key string, n int"


def same(row):
    return row


def graph_of(*parts, phase=1, last=True):
    made = lowering_of(*parts)
    for instance in made.plan.instances:
        made.types[instance] = struct_of(SCHEMA)
    steps = [i for i in made.plan.of(0) if i.phase == phase]
    return made, TaskGraph(made, steps, last)


def source():
    return ms.from_rows([], SCHEMA, name="rows")


def test_each_task_gives_its_rows_to_all_that_read_them(spark):
    mapped = source().map(same, SCHEMA, on_error="reject").named("mapped")
    again = mapped.map(same, SCHEMA).named("again")
    made, graph = graph_of(
        mapped.collect("first"), again.collect("second"), mapped.rejected.collect("bad")
    )
    tasks = {(i.node.name, i.role): task for i, task in graph.tasks.items()}
    first = tasks["mapped", "run"]
    assert first.then == [tasks["first", "sink"], tasks["again", "run"]]
    assert first.rejected == [tasks["rejected-1", "rejected"]]
    assert graph.readers(instance_of(made, "mapped")) == first.then
    assert graph.reject_readers(instance_of(made, "mapped")) == first.rejected


def test_the_last_stage_has_one_writer_for_each_sink(spark):
    mapped = source().map(same, SCHEMA)
    _, graph = graph_of(mapped.union(mapped).collect("all"))
    (writer,) = graph.writes.values()
    assert isinstance(writer, Write)
    sinks = [task for i, task in graph.tasks.items() if i.role == "sink"]
    assert len(sinks) == 2
    assert all(task.then == [writer] for task in sinks)
    assert graph.all[-1] is writer, "each comes before those that it gives rows to"


def test_other_stages_write_nothing(spark):
    assert graph_of(source().map(same, SCHEMA).collect("all"), last=False)[1].writes == {}


def test_rows_for_the_next_jvm_stage_have_columns_of_their_own(spark):
    mapped = source().map(same, SCHEMA).named("mapped")
    made, graph = graph_of(
        mapped.filter("n > 1").collect("big"), mapped.map(same, SCHEMA).collect("all"), last=False
    )
    ((instance, to_jvm),) = graph.to_jvm.items()
    assert instance is instance_of(made, "mapped")
    assert to_jvm in graph.tasks[instance].then
    assert list(to_jvm.columns.columns) == ["key", "n"]
    assert len(set(to_jvm.columns.names())) == 5, "two columns, a flag, a time and a sign"
    assert to_jvm.columns.place is None


def test_a_rejected_output_that_nothing_reaches_is_written_by_nobody(spark):
    rows = source()
    made, graph = graph_of(rows.rejected.collect("bad"), rows.collect("all"))
    assert [sink.name for sink in made.plan.sinks] == ["bad", "all"]
    assert list(graph.writes) == ["all"]
