"""Lowers a program: makes one DataFrame of its physical plan, from the sources to the sinks.

Each stage of the plan begins with a frame: what a source reads, or envelopes that have passed a
shuffle. JVM stages and Python stages follow one another in it (``stages.py``). The last one is
always a Python stage. It makes envelopes for the next shuffle, or writes the sinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame

from millstream.plan.nodes import Source
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.operators import stateful_stage
from millstream.spark.lower.shuffles import Shuffle
from millstream.spark.lower.source_frame import source_frame
from millstream.spark.lower.stages import run_stages
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.sources.kafka_frame import TopicFrame
from millstream.spark.worker.envelopes import NAMES
from millstream.spark.worker.python_stage import PackedStage, PythonStage

Read = Callable[[Source], DataFrame | TopicFrame]
"""Reads a source."""


@dataclass(frozen=True)
class Lowered:
    """A program as a DataFrame, and the last Python stage, which writes the sinks.

    Where that comes right after a shuffle, the stateful stage runs it, and ``last`` is None. So it
    is where it runs as records of Kafka are read.
    """

    frame: DataFrame
    last: PythonStage | None


def lower(lowering: Lowering, read: Read, shuffle: Shuffle, apart: bool = False) -> Lowered:
    """The DataFrame of a program; ``apart`` leaves the last Python stage to the caller always."""
    plan = lowering.plan
    if len(plan.sources) == 1 and plan.stages == 1:
        (source,) = plan.sources
        wide = source_frame(lowering, source, read(source), apart)
        return _last(lowering, wide, 0, source, apart)
    frame = _all_sources(lowering, read)
    for stage in range(1, plan.stages):
        last = stage == plan.stages - 1
        operators = stateful_stage(lowering, stage)
        if _is_python(lowering, stage) and not (last and apart):
            # It runs where the rows are made, and nothing travels in between.
            _, python = run_stages(lowering, _envelopes(frame), stage, None, last)
            frame = shuffle(frame, replace(operators, then=python))
            if last:
                return Lowered(frame, None)
        else:
            made = _envelopes(shuffle(frame, operators))
            if last:
                return _last(lowering, made, stage, None, apart)
            frame = _sent(lowering, made, stage, None)
    return _last(lowering, _envelopes(frame), 0, None, apart)


def _all_sources(lowering: Lowering, read: Read) -> DataFrame:
    """The envelopes that are made of all sources before the first shuffle."""
    plan = lowering.plan
    # Types are found in the order of the plan, where the first part of a union has them.
    found = dict.fromkeys(i.source for i in plan.instances if i.source is not None)
    made = {
        source: _sent(lowering, source_frame(lowering, source, read(source)), 0, source)
        for source in found
    }
    return reduce(DataFrame.union, [made[source] for source in plan.sources])


def _is_python(lowering: Lowering, stage: int) -> bool:
    """Whether a stage after a shuffle is one Python stage and nothing else."""
    return all(instance.phase == 1 for instance in lowering.plan.of(stage))


def _envelopes(frame: DataFrame) -> WideFrame:
    return WideFrame(frame, {}, list(NAMES))


def _sent(lowering: Lowering, wide: WideFrame, stage: int, source: Source | None) -> DataFrame:
    """The envelopes that a stage makes for the next shuffle."""
    frame, python = run_stages(lowering, wide, stage, source, last=False)
    return frame.mapInArrow(PackedStage(python), lowering.envelope)


def _last(
    lowering: Lowering, wide: WideFrame, stage: int, source: Source | None, apart: bool
) -> Lowered:
    frame, python = run_stages(lowering, wide, stage, source, last=True)
    if not isinstance(frame, TopicFrame):
        return Lowered(frame, python)
    if apart:
        return Lowered(frame.loaded(), python)
    return Lowered(frame.mapInArrow(PackedStage(python), lowering.envelope), None)
