"""The physical plan as text: the stages from top to bottom, and what runs where in each.

A row walks down: through the JVM stages and Python stages of a stage, and through a shuffle
to the next. It needs neither a Spark session nor PySpark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from millstream.engine.operator import BUCKETS, BY_WINDOW
from millstream.physical.operators import spec_of
from millstream.physical.plan import Instance, Physical
from millstream.plan.explain.details import aligned, details
from millstream.plan.names import kind_of
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    KafkaSource,
    Line,
    Node,
    Sink,
    SplitSource,
    Stateful,
)
from millstream.plan.types.schema import quoted

_INDENT = " " * 5


def explain_physical(plan: Physical, needs_no_spark: bool) -> str:
    """The plan as it would run."""
    sections = list(_sections(plan))
    columns = zip(*(row for _, rows in sections for row in rows), strict=True)
    widths = [max(map(len, column)) for column in columns]
    lines = [*_query(plan, needs_no_spark)]
    for heading, rows in sections:
        lines.append(heading)
        for row in rows:
            cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
            lines.append((_INDENT + "  ".join(cells)).rstrip())
    return "\n".join(lines)


Row = tuple[str, str, str]
"""Where a step runs, the step, and what it does there."""


def _sections(plan: Physical) -> Iterator[tuple[str, list[Row]]]:
    for source in plan.sources:
        yield f"stage 0, from {_title(source)}", list(_places(plan, plan.of(0, source)))
    for stage in range(1, plan.stages):
        yield "shuffle, by shard", []
        steps = plan.of(stage)
        alone = all(instance.phase == 1 for instance in steps)  # where the panes are made
        heading = f"stage {stage}{', in one call of Python for each shard' if alone else ''}"
        yield heading, [*_kept(plan, stage), *_places(plan, steps)]
    sinks = [("", _title(sink), _writes(sink)) for sink in plan.sinks]
    yield "sinks, all written in one pass by the last Python stage", sinks


# The query as a whole.


def _query(plan: Physical, needs_no_spark: bool) -> Iterator[str]:
    bounded = all(source.bounded for source in plan.sources)
    yield f"one {'batch' if bounded else 'streaming'} query"
    lines = []
    if needs_no_spark:
        lines.append(("or", "no query: rows of the program that are only collected need no Spark"))
    if bounded:
        lines.append(("or", "one streaming query, with mode='streaming' or a checkpoint"))
    if plan.levels:
        lines.append(("time", _time(plan, bounded)))
        lines.append(("shards", "one for each of Spark's shuffle partitions"))
        where = "memory" if bounded else "RocksDB, in the checkpoint"
        lines.append(("state", f"by shard, in {where}"))
    yield from (_INDENT + line for line in aligned(lines))


def _time(plan: Physical, bounded: bool) -> str:
    if bounded:
        return "the end of the input ends all windows"
    if plan.needs_clock:
        return "watermarks in the data, and the clock, so that batches run without data too"
    return "watermarks in the data; nothing waits for the clock, so there is no batch without data"


# The JVM stages and Python stages of a stage.


def _places(plan: Physical, instances: Iterable[Instance]) -> Iterator[Row]:
    by_phase = sorted(instances, key=lambda i: i.phase)
    for _, group in groupby(by_phase, key=lambda i: i.phase):
        shown = [i for i in group if i.role != "prepare" or i.in_jvm]
        for i, instance in enumerate(shown):
            place = "JVM" if instance.in_jvm else "Python"
            yield "" if i else place, _title(instance.node), _does(plan, instance)


def _does(plan: Physical, instance: Instance) -> str:
    node = instance.node
    match instance.role:
        case "raw":
            if isinstance(node, FilesSource):
                return "names of files" if plan.opens(node) else "files"
            return "records"
        case "run" if isinstance(node, KafkaSource) and instance.input is not None:
            return f"columns of their {node.format}"
        case "run" if isinstance(node, FilesSource) and node in plan.loaded:
            return "their rows" if node.layout is None else "columns of their lines"
        case "prepare":
            return "keys and inputs"
        case "scatter":
            assert isinstance(node, Stateful)
            return f"{spec_of(plan, node, {}).sends} to its shard"
        case "output":
            assert isinstance(node, Stateful)
            return node.emits if instance.tag == "rows" else f"{instance.tag} rows"
        case "rejected":
            assert instance.input is not None
            return f"what {instance.input.node.name!r} rejects"
        case "sink" if instance.stage < plan.stages - 1:
            return "rows go along to the last stage"
    if isinstance(node, EventTime) and node.watermark is not None and instance.keeper is instance:
        return "moves the watermark"
    return ""


# What operators keep.


def _kept(plan: Physical, stage: int) -> Iterator[Row]:
    for i, operator in enumerate(plan.operators(stage)):
        marks = dict.fromkeys(_mark(instance) for instance in plan.feeding(operator))
        watermark = "watermark", ", ".join(marks)
        first, *more = aligned([*_keeps(plan, operator), watermark])
        yield "" if i else "state", _title(operator), first
        yield from (("", "", line) for line in more)


def _keeps(plan: Physical, node: Stateful) -> list[Line]:
    spec = spec_of(plan, node, {})
    operator = spec.operator
    buckets, batches = f"{BUCKETS} of the keys", "read and write the buckets that they touch"
    if operator.bucket == BY_WINDOW:
        buckets = "one for each window"
    if operator.deferral is not None:
        batches = "stored as parts until the window ends"
        if operator.deferral.sharing is not None:
            buckets = "one for each stretch of slices, and for each window that has ended"
            batches = "stored as parts of stretches until no window needs them"
    return [("holds", spec.holds), ("buckets", buckets), ("batches", batches)]


def _mark(instance: Instance) -> str:
    """Where the operator's watermark comes from."""
    if instance.origin is not None:
        return f"that of {instance.origin.name!r}"
    source, keeper = instance.source, instance.keeper
    assert source is not None
    if keeper is None or not isinstance(keeper.node, EventTime):
        return f"{source.name!r} reports {'only its end' if source.bounded else 'none'}"
    by = source.split if isinstance(source, SplitSource) else None
    split = "" if by is None else f", for each {quoted(by)}"
    return f"{keeper.node.watermark!r} of {source.name!r}{split}"


# Words and lines.


def _title(node: Node) -> str:
    return f"{kind_of(node)} {node.name!r}"


def _writes(sink: Sink) -> str:
    text = "; ".join(f"{label} {text}" for label, text in details(sink))
    return text or "keeps them in memory"
