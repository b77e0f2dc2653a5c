"""The JVM stages and Python stages between two shuffles, one after another."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, ByteType, LongType, StringType, StructField, StructType

from millstream.engine.rows import SPLIT
from millstream.model.errors import in_step
from millstream.physical.plan import Instance
from millstream.plan.nodes import KafkaSource, Source
from millstream.spark.lower.jvm_stage import JvmStage
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.python_stage import python_stage
from millstream.spark.lower.refused_sql import accepted
from millstream.spark.lower.source_frame import has_splits
from millstream.spark.lower.task_graph import TaskGraph
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.sources.kafka_frame import TopicFrame
from millstream.spark.types import arrow_of, struct_of
from millstream.spark.worker.envelopes import NAMES
from millstream.spark.worker.python_stage import PackedStage, PythonStage

_PLACE = "origin string, split string, offset bigint"


def run_stages(
    lowering: Lowering, wide: WideFrame, stage: int, source: Source | None, last: bool
) -> tuple[DataFrame | TopicFrame, PythonStage]:
    """Runs all steps of a stage, in the first stage those after one source.

    Returns the frame before the last Python stage, and that one, which is left to be run. ``last``
    says that no shuffle follows it, so it writes the sinks.
    """
    steps = lowering.plan.of(stage, source) if source is not None or stage else []
    phases = max((i.phase for i in steps), default=1) | 1  # it ends in Python, without steps too
    if has_splits(source) and source not in lowering.plan.loaded:
        wide.carried = [*wide.carried, SPLIT]
    for phase in range(0, phases, 2):
        _run_jvm(lowering, wide, [i for i in steps if i.phase == phase])
        group = [i for i in steps if i.phase == phase + 1]
        _keep_inputs(lowering, wide, group)
        graph = TaskGraph(lowering, group, last=last and phase + 1 == phases)
        python = python_stage(lowering, wide, graph, source)
        if phase + 1 == phases:
            break
        later = any(i in lowering.plan.followed and i.phase > phase + 1 for i in steps)
        # The split of a Kafka record is also the slice that it is in.
        splits = has_splits(source) and (later or isinstance(source, KafkaSource))
        wide = _run_python(lowering, wide, graph, python, splits)
    return wide.read, python


def _run_jvm(lowering: Lowering, wide: WideFrame, steps: list[Instance]) -> None:
    jvm = JvmStage(wide, lowering.listing, lowering.plan.followed)
    for instance in steps:
        if instance.input is not None:
            with in_step(instance.node.name), accepted(lowering.listing):
                jvm.run(instance, lowering.whole_rows(instance.node))
                lowering.types[instance] = wide.types(instance)


def _keep_inputs(lowering: Lowering, wide: WideFrame, steps: list[Instance]) -> None:
    """Drops what the steps of a Python stage do not read; the others have types of Python."""
    read = {i.input: None for i in steps if i.input and i.input.phase == i.phase - 1}
    wide.keep(list(read))
    for input in read:
        with in_step(input.node.name):
            arrow_of(lowering.types[input])  # raises if there is none


def _run_python(
    lowering: Lowering, wide: WideFrame, graph: TaskGraph, python: PythonStage, splits: bool
) -> WideFrame:
    """Runs a Python stage: the frame of its rows for the next JVM stage, and of its envelopes."""
    fields = list(lowering.envelope.fields)
    steps = {instance: task.columns for instance, task in graph.to_jvm.items()}
    for instance, columns in steps.items():
        types = lowering.types[instance]
        fields += [StructField(c, types[name].dataType) for name, c in columns.columns.items()]
        fields += [
            StructField(str(columns.time), LongType()),
            StructField(str(columns.sign), ByteType()),
            StructField(str(columns.flag), BooleanType()),
        ]
        if columns.place is not None:
            fields.append(StructField(columns.place, struct_of(_PLACE)))
    carried = list(NAMES)
    if splits:
        python.by_split = True  # each row that is made is of the split of its input
        fields.append(StructField(SPLIT, StringType()))
        carried.append(SPLIT)
    schema = StructType(fields)
    python.schema = arrow_of(schema)
    return WideFrame(wide.read.mapInArrow(PackedStage(python), schema), steps, carried)
