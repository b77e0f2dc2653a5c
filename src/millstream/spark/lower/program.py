"""Makes one DataFrame of a program: stage by stage, the JVM and Python taking turns in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from millstream.engine.rows import SPLIT, TIME
from millstream.physical.plan import (
    Instance,
    Physical,
    column_of,
    decodes,
    decodes_lines,
    may_reject,
)
from millstream.physical.specs import InputSpec, has_input, spec_of
from millstream.plan.lineage import allowed_ahead, kind_column
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Function,
    Grouping,
    KafkaSource,
    KeyFunction,
    Node,
    Select,
    Sink,
    Source,
    SplitSource,
    Stateful,
    WithColumns,
    unknown_kind,
)
from millstream.plan.steps import in_step
from millstream.plan.types.schema import Schema, hidden
from millstream.sinks.kinds import opened
from millstream.spark.driver.failures import accepted
from millstream.spark.lower.jvm_stage import Wide, col, prepared_columns
from millstream.spark.lower.row_types import RowTypes, arrow_of, struct_of
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.sources.kafka import REFUSED, raw_columns
from millstream.spark.sources.loading import depth, named
from millstream.spark.worker.batch_clock import Moment
from millstream.spark.worker.envelopes import ENVELOPE, NAMES
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.python_stage import (
    PackedStage,
    PythonStage,
    RejectColumn,
    SliceBy,
)
from millstream.spark.worker.stateful_stage import Stage
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.call import Call
from millstream.spark.worker.tasks.decode import Decode
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.pick import Pick
from millstream.spark.worker.tasks.sinks import ToSink, Write
from millstream.spark.worker.tasks.task import RejectingTask, Task, in_order
from millstream.spark.worker.tasks.to_jvm import ToJvm
from millstream.spark.worker.tasks.to_shards import ToShards

Shuffle = Callable[[DataFrame, Stage], DataFrame]
"""Brings the envelopes of each shard together and runs a stage over them."""


@dataclass(frozen=True)
class Lowered:
    """A program as a DataFrame, and the last turn of Python, which writes the sinks.

    Where that comes right after a shuffle, it is part of the stage there, and nothing is left.
    """

    frame: DataFrame
    last: PythonStage | None


def lower(
    plan: Physical,
    read: Callable[[Source], DataFrame],
    shuffle: Shuffle,
    labels: list[int],
    run: str,
    ending: bool,
    splits: Mapping[str, list[str]] | None = None,
    apart: bool = False,
    owner: str = "",
    only: Moment | None = None,
) -> Lowered:
    """The DataFrame of a program.

    ``run`` is the id of the job's life; ``ending`` says that bounded sources tell of their end;
    ``splits`` are those that sources are known to have; ``apart`` leaves the last turn to be run,
    wherever it comes. ``owner`` is the process that owns the job's checkpoint. ``only`` is the
    number and clock of the only batch, where Spark does not number them.
    """
    ids = run, owner, only
    return _Lowering(plan, read, shuffle, labels, ids, ending, splits or {}, apart).lower()


class _Lowering:
    def __init__(
        self,
        plan: Physical,
        read: Callable[[Source], DataFrame],
        shuffle: Shuffle,
        labels: list[int],
        ids: tuple[str, str, Moment | None],
        ending: bool,
        splits: Mapping[str, list[str]],
        apart: bool,
    ) -> None:
        self.plan = plan
        self.read = read
        self.shuffle = shuffle
        self.labels = labels
        self.run, self.owner, self.only = ids
        self.ending = ending
        self.splits = splits
        self.apart = apart
        self.types = RowTypes(plan)
        self.listing = Listing(instance.node for instance in plan.instances)
        self.envelope = struct_of(ENVELOPE)

    def lower(self) -> Lowered:
        plan = self.plan
        only = plan.sources[0] if len(plan.sources) == 1 and plan.stages == 1 else None
        if only is not None:
            return Lowered(*self._segment(self._source(only), 0, only, last=True))
        # Types are found in the order of the plan, where the first part of a union says them.
        found = dict.fromkeys(i.source for i in plan.instances if i.source is not None)
        parts = {source: self._closed(self._source(source), 0, source) for source in found}
        frame = reduce(DataFrame.union, [parts[source] for source in plan.sources])
        for stage in range(1, plan.stages):
            last = stage == plan.stages - 1
            apart = last and self.apart
            if not apart and all(instance.phase == 1 for instance in plan.of(stage)):
                # Only Python's turn: it is taken where the panes are made.
                _, hop = self._segment(
                    Wide(frame, {}, list(NAMES), self.listing), stage, None, last
                )
                frame = self.shuffle(frame, replace(self._stage(stage), then=hop))
                if last:
                    return Lowered(frame, None)
                continue
            wide = Wide(self.shuffle(frame, self._stage(stage)), {}, list(NAMES), self.listing)
            if last:
                return Lowered(*self._segment(wide, stage, None, last=True))
            frame = self._closed(wide, stage, None)
        return Lowered(
            *self._segment(Wide(frame, {}, list(NAMES), self.listing), 0, None, last=True)
        )

    def _closed(self, wide: Wide, stage: int, source: Source | None) -> DataFrame:
        frame, hop = self._segment(wide, stage, source, last=False)
        return frame.mapInArrow(PackedStage(hop), self.envelope)

    def _source(self, source: Source) -> Wide:
        frame = self.read(source)
        read = self._read_columns(source)
        names = {name: f"__millstream_s{i}" for i, name in enumerate(read)}
        columns = [col(name).alias(column) for name, column in names.items()]
        if isinstance(source, KafkaSource):
            columns += [col(SPLIT)] if self._has_splits(source) else []
        elif isinstance(source, SplitSource) and source not in self.plan.loaded and source.split:
            columns.append(col(source.split).cast("string").alias(SPLIT))
        (origin,) = [i for i in self.plan.of(0, source, 0) if i.node is source]
        flag = None
        if may_reject(source) and not decodes(source) and not decodes_lines(source):
            flag = "__millstream_parsed"
            columns += [col(REFUSED), col(REFUSED).isNull().alias(flag)]
        wide = Wide(frame.select(*columns), {}, [], self.listing, self.plan.followed)
        wide.ports[origin] = StepColumns(names, flag)
        wide.rejected = {} if flag is None else {origin: REFUSED}
        self.types[origin] = wide.types(wide.ports[origin])
        return wide

    def _read_columns(self, source: Source) -> Sequence[str]:
        """What Spark reads of a source."""
        if isinstance(source, FilesSource) and source in self.plan.loaded:
            return named(self.plan.opens(source))
        return raw_columns(source) if decodes(source) else source.schema.names

    def _has_splits(self, source: Source | None) -> bool:
        """Whether rows tell the split that they are of."""
        if isinstance(source, KafkaSource):
            return True
        return isinstance(source, SplitSource) and source.split is not None

    def _segment(
        self, wide: Wide, stage: int, source: Source | None, last: bool
    ) -> tuple[DataFrame, PythonStage]:
        """All turns of a stage; the last one, which is Python's, is left to be run."""
        mine = self.plan.of(stage, source) if source is not None or stage else []
        turns = max((i.phase for i in mine), default=1) | 1  # Python's, even if there is no step
        split = self._has_splits(source)
        if split and source not in self.plan.loaded:
            wide.carried = [*wide.carried, SPLIT]
        for phase in range(turns + 1):
            group = [i for i in mine if i.phase == phase]
            if phase % 2 == 0:
                for instance in group:
                    if instance.input is not None:
                        with in_step(instance.node.name), accepted(self.listing):
                            wide.run(instance, self._whole(instance.node))
                            self.types[instance] = wide.types(wide.ports[instance])
                continue
            needed = {i.input: None for i in group if i.input and i.input.phase == phase - 1}
            wide.keep(list(needed))
            for input in needed:
                with in_step(input.node.name):
                    arrow_of(self.types[input])  # Python takes no others
            hop = self._hop(wide, group, source, last=last and phase == turns)
            if phase == turns:
                return wide.frame, hop
            later = any(i in self.plan.followed and i.phase > phase for i in mine)
            later = later or isinstance(source, KafkaSource)  # it says what slice rows are of
            wide = self._handed_on(wide, group, hop, split and later)
        raise AssertionError("a stage ends in Python")

    def _handed_on(self, wide: Wide, group: list[Instance], hop: PythonStage, split: bool) -> Wide:
        """The rows that Python has made for the JVM's next turn, and all that travels along."""
        emits = {task.step: task for task in hop.tasks if isinstance(task, ToJvm)}
        fields = list(self.envelope.fields)
        ports: dict[Instance, StepColumns] = {}
        for instance in group:
            emit = emits.get(_emit_name(instance, group))
            if emit is None:
                continue
            port = emit.columns
            fields += [
                StructField(column, self.types[instance][name].dataType)
                for name, column in port.columns.items()
            ]
            fields += [
                StructField(str(port.time), LongType()),
                StructField(str(port.sign), ByteType()),
                StructField(str(port.flag), BooleanType()),
            ]
            ports[instance] = port
        carried = list(NAMES)
        if split:
            hop.by_split = True  # each row that is made is of the split of its input
            fields.append(StructField(SPLIT, StringType()))
            carried.append(SPLIT)
        schema = StructType(fields)
        hop.schema = arrow_of(schema)
        made = wide.frame.mapInArrow(PackedStage(hop), schema)
        return Wide(made, ports, carried, self.listing, self.plan.followed)

    # What Python does in a turn.

    def _hop(
        self, wide: Wide, group: list[Instance], source: Source | None, last: bool
    ) -> PythonStage:
        tasks: dict[Instance, list[Task]] = {}
        made: list[Task] = []
        for instance in group:
            task = self._task(instance, last)
            tasks[instance] = [task]
            made.append(task)
        for instance in group:
            self._wire(instance, group, tasks, made)
        writes = {sink.name: self._written(sink) for sink in self._fed_sinks()} if last else {}
        for instance in group:
            if isinstance(instance.node, Sink) and last:
                tasks[instance][0].then.append(writes[instance.node.name])
        made += writes.values()
        ports = [(columns, self._readers(i, group, tasks)) for i, columns in wide.ports.items()]
        envelopes: dict[tuple[str, str], list[Task]] = {}
        for instance in group:
            if instance.tag is not None:
                kind = "pane" if instance.tag == "rows" else instance.tag
                key = (kind, instance.node.name)
                envelopes.setdefault(key, []).extend(tasks[instance])
        if last:
            envelopes |= {("sink", name): [task] for name, task in writes.items()}
        follows = [self._follow(i, column) for i, column in wide.marks.items()]
        refusals = [
            RejectColumn(
                i.node.name,
                column,
                [t for c in i.consumers if c.role == "rejected" and c in tasks for t in tasks[c]],
            )
            for i, column in wide.rejected.items()
        ]
        untimed = {i.node.name: column for i, column in wide.untimed.items()}
        wide.marks, wide.rejected, wide.untimed = {}, {}, {}
        first = source is not None and not any(i.phase > 1 for i in group)
        marks = {i.mark for i in self.plan.instances if i.role == "scatter" and i.source is source}
        bounded = source is not None and source.bounded and self.ending
        loads = any(isinstance(task, Load) for task in made)
        return PythonStage(
            inputs=ports,
            envelopes=envelopes,
            groupings={
                i.node.name: self._pane_form(i.node)
                for i in group
                if i.tag == "rows" and isinstance(i.node, Grouping)
            },
            tasks=in_order(made),
            follows=follows,
            rejects=refusals,
            untimed=untimed,
            labels=self.labels,
            schema=arrow_of(self.envelope),
            split=SPLIT if SPLIT in wide.carried else None,
            ends=sorted(marks) if bounded else [],
            source=source.name if source is not None and first and not loads else None,
            slices=_slices(source, group, made),
            origin=source.name if source is not None else "",
            by_split=any(isinstance(t, Time) and t.follow and t.follow.mark for t in made),
            run=self.run,
            owner=self.owner,
            batch=None if self.only is None else self.only.batch,
            clock=None if self.only is None else self.only.clock,
        )

    def _readers(
        self, instance: Instance, group: list[Instance], tasks: dict[Instance, list[Task]]
    ) -> list[Task]:
        return [
            t for c in instance.consumers if c in tasks and c.role != "rejected" for t in tasks[c]
        ]

    def _wire(
        self,
        instance: Instance,
        group: list[Instance],
        tasks: dict[Instance, list[Task]],
        made: list[Task],
    ) -> None:
        """Gives a task's rows to the tasks after it, or to the JVM."""
        (task,) = tasks[instance]
        rows = [c for c in instance.consumers if c.role != "rejected"]
        bad = [c for c in instance.consumers if c.role == "rejected"]
        task.then += [t for c in rows if c in tasks for t in tasks[c]]
        if isinstance(task, RejectingTask):
            task.rejected += [t for c in bad if c in tasks for t in tasks[c]]
        if any(c.phase == instance.phase + 1 for c in rows):
            number = f"{instance.stage}_{instance.phase}_{group.index(instance)}"
            columns = StepColumns(
                {
                    n: f"__millstream_p{number}_{i}"
                    for i, n in enumerate(self.types[instance].names)
                },
                f"__millstream_f{number}",
                f"__millstream_t{number}",
                f"__millstream_g{number}",
            )
            emit = ToJvm(step=_emit_name(instance, group), columns=columns)
            task.then.append(emit)
            made.append(emit)

    def _task(self, instance: Instance, last: bool) -> Task:
        node, name = instance.node, instance.node.name
        with in_step(name):
            self.types[instance] = self.types.of(instance)
        if instance.role == "scatter":
            assert isinstance(node, Grouping)
            return ToShards(
                step=name,
                spec=spec_of(self.plan, node, self.splits),
                input=self._input(instance, node),
                labels=self.labels,
            )
        if isinstance(node, Sink):
            return self._sunk(node, last)
        if instance.role in ("prepare", "output", "rejected"):
            return Task(step=name)
        match node:
            case KafkaSource():
                schema = arrow_of(self.types[instance])
                values = [f for f in schema if f.name not in node.metadata]
                return Decode(step=name, source=node, schema=pa.schema(values))
            case FilesSource():
                schema = arrow_of(self.types[instance])
                return Load(
                    step=name,
                    below=depth(node.path),
                    schema=schema,
                    layout=node.layout,
                    split=node.split,
                )
            case Function():
                bare = replace(node, input=_nothing(node.schema))
                return Call(step=name, node=bare, schema=arrow_of(self.types[instance]))
            case EventTime():
                follow = None if node.watermark is None else self._follow(instance, TIME)
                return Time(step=name, column=node.column, follow=follow)
            case Select() | WithColumns():
                kept = (
                    {n: n for n in node.input.schema.names} if isinstance(node, WithColumns) else {}
                )
                picked = {n: str(column_of(e, node.input)) for n, e in node.columns}
                columns = {**kept, **picked}
                return Pick(step=name, columns={n: columns[n] for n in node.schema.names})
        raise unknown_kind(node)

    def _follow(self, instance: Instance, column: str) -> Follow:
        """The watermark that follows the times of a step, in a column of the DataFrame."""
        node = instance.node
        assert isinstance(node, EventTime)
        assert node.watermark is not None
        mark = instance.mark if instance in self.plan.followed else None
        return Follow(node.name, mark, column, node.watermark, allowed_ahead(node))

    def _sunk(self, sink: Sink, last: bool) -> Task:
        if last:
            return Task(step=sink.name)  # its rows go on to the one writer that the sink has
        return ToSink(step=sink.name, schema=self._sink_schema(sink))

    def _written(self, sink: Sink) -> Write:
        return Write(step=sink.name, target=opened(sink.target), schema=self._sink_schema(sink))

    def _fed_sinks(self) -> list[Sink]:
        """The sinks that any rows can reach: a rejected output may have nothing before it."""
        fed = {instance.node for instance in self.plan.instances}
        return [sink for sink in self.plan.sinks if sink in fed]

    def _sink_schema(self, sink: Sink) -> pa.Schema:
        (first, *_) = [i for i in self.plan.instances if i.node is sink]
        assert first.input is not None
        return arrow_of(self.types[first.input])

    # Groupings.

    def _stage(self, stage: int) -> Stage:
        levels = self.plan.levels.items()
        specs = [spec_of(self.plan, g, self.splits) for g in self.plan.operators(stage)]
        later = [spec_of(self.plan, g, self.splits) for g, level in levels if level > stage]
        marks = frozenset(origin for spec in later for origin in spec.origins)
        return Stage(specs, self.labels, marks)

    def _input(self, instance: Instance, node: Grouping) -> InputSpec:
        """Where the grouping's keys and values stand in the rows of its input."""
        assert instance.input is not None
        prepared = instance.input
        wanted = prepared_columns(node)
        if prepared.in_jvm:
            columns = {name: hidden(name) for name in wanted}
        else:
            columns = {name: str(column_of(e, node.input)) for name, e in wanted.items()}
        whole = [
            f"of {i}"
            for i, (_, aggregate, inputs) in enumerate(node.aggregates)
            if inputs.of is None and has_input(aggregate, inputs)
        ]
        if self.plan.is_read(node, "late"):
            whole.append("row")
        return InputSpec(
            columns=columns,
            functions={
                f"key {i}": (key, arrow_of(self.types.panes(node)).field(name).type)
                for i, (name, key) in enumerate(node.keys)
                if isinstance(key, KeyFunction)
            },
            row=node.input.schema.names if self._whole(node) else (),
            step=node.name,
            whole=tuple(whole),
            kind=kind_column(node.input),
        )

    def _whole(self, node: Node) -> bool:
        """Whether a grouping needs whole rows, and not just its keys and values."""
        return isinstance(node, Stateful) and (
            node.needs_whole_rows or any(self.plan.is_read(node, tag) for tag in node.tags)
        )

    def _pane_form(self, node: Grouping) -> tuple[list[str], list[str], pa.Schema]:
        keys = [name for name, _ in node.keys]
        return keys, [n for n, _, _ in node.aggregates], arrow_of(self.types.panes(node))


def _slices(source: Source | None, group: list[Instance], tasks: list[Task]) -> SliceBy:
    """What makes a slice of its own; where several sources are but written, where rows are from.

    Of what only goes to groupings there are no slices, and all splits of a task are taken at once.
    """
    if isinstance(source, KafkaSource) and not source.bounded:
        told_apart = any(isinstance(task, ToSink | Write | ToJvm) for task in tasks)
        return "splits" if told_apart else "tasks"
    return "tasks" if source is not None or group else "origins"


def _emit_name(instance: Instance, group: list[Instance]) -> str:
    return f"{instance.node.name}#{group.index(instance)}"


def _nothing(schema: Schema) -> Node:
    return Node("", schema)
