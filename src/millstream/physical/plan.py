"""The physical plan: which step of a program runs where, and in what order.

A micro-batch runs through **stages**, with a shuffle before each but the first. Stage 0 has what
comes before any grouping, a part for each source; stage n the groupings that are fed by those of
earlier stages, and the steps after them. Within a stage, the JVM and Python take turns: SQL runs in
the JVM, users' functions in Python. An even **phase** is the JVM's, an odd one Python's. Panes come
out of Python, so a stage after a shuffle begins in phase 1.

A step after a union runs once for each part of it, wherever those are: that is what an ``Instance``
is. So any graph of steps, branches that part and meet again too, becomes one line of stages, in
which each row is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeGuard

from millstream.model.aggregates import Count
from millstream.model.watermarks import Silence
from millstream.plan.finishing import uses_clock
from millstream.plan.lineage import allowed_ahead
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    Function,
    Grouping,
    KafkaSource,
    Node,
    RateSource,
    Select,
    SideOutput,
    Sink,
    Source,
    Union,
    WithColumns,
    unknown_kind,
    walk,
)
from millstream.plan.sql.expressions import Expression
from millstream.plan.targets import Each, Kafka
from millstream.plan.types.schema import quoted

Role = Literal["raw", "run", "panes", "late", "rejected", "prepare", "scatter", "sink"]


@dataclass(eq=False)
class Instance:
    """A step in one place of the plan.

    ``role`` tells what it does there: a grouping's input is prepared and scattered before the
    shuffle, its panes and late rows come after it; records are read raw, and decoded in Python,
    and so are names of files.
    ``keeper`` is the instance of the step whose
    watermark policy its rows have passed, if they come straight from a source.
    """

    node: Node
    role: Role
    stage: int
    phase: int
    input: Instance | None = None
    source: Source | None = None
    keeper: Instance | None = None
    origin: Grouping | None = None
    consumers: list[Instance] = field(default_factory=list)

    @property
    def in_jvm(self) -> bool:
        return self.phase % 2 == 0

    @property
    def origins(self) -> tuple[Node, ...]:
        """What the watermarks that its rows go with are of: a grouping, or a source and a step."""
        if self.origin is not None:
            return (self.origin,)
        assert self.source is not None
        return (self.source, self.keeper.node) if self.keeper else (self.source,)

    @property
    def mark(self) -> str:
        """The name of those watermarks."""
        return "/".join(node.name for node in self.origins)


@dataclass(frozen=True)
class Physical:
    """All instances, in an order in which each comes after its input."""

    sinks: tuple[Sink, ...]
    instances: tuple[Instance, ...]
    levels: dict[Grouping, int]
    sees_files: bool = True

    @property
    def stages(self) -> int:
        return max(self.levels.values(), default=0) + 1

    @property
    def sources(self) -> list[Source]:
        """The sources, in an order that sinks do not change: Spark knows them by their places.

        Those come last of which nobody knows how many tasks they are read in. The tasks of a stage
        are counted through, and the slices of other sources go by the numbers of theirs.
        """
        found = [i.node for i in self.instances if isinstance(i.node, Source) and i.input is None]
        return sorted(found, key=lambda source: (not _in_known_tasks(source), source.name))

    @property
    def loaded(self) -> list[FilesSource]:
        """The sources whose files Python reads."""
        nodes = (i.node for i in self.instances if i.role == "raw")
        return [node for node in nodes if isinstance(node, FilesSource)]

    def opens(self, source: FilesSource) -> bool:
        """Whether Python opens the files of a source itself; else it gets their content."""
        return self.sees_files and is_on_disk(source)

    @property
    def slices_by_tasks(self) -> bool:
        """Whether the tasks that read files decide on the slices of a sink to which that matters.

        Files are as good in other slices. Rows from Kafka are in those of their partitions.
        """
        return any(
            isinstance(i.node, Sink)
            and isinstance(i.node.target, Each | Kafka)
            and i.origin is None
            and not (isinstance(i.source, KafkaSource) and not i.source.bounded)
            for i in self.instances
        )

    def groupings(self, stage: int) -> list[Grouping]:
        """The groupings whose state is kept in that stage."""
        return [g for g, level in self.levels.items() if level == stage]

    def of(
        self, stage: int, source: Source | None = None, phase: int | None = None
    ) -> list[Instance]:
        """The instances of a stage, in the first stage those after one source."""
        return [
            i
            for i in self.instances
            if i.stage == stage
            and (source is None or i.source is source)
            and (phase is None or i.phase == phase)
        ]

    def feeding(self, grouping: Grouping) -> list[Instance]:
        """Where the grouping's input is scattered."""
        return [i for i in self.instances if i.role == "scatter" and i.node is grouping]

    def origins(self, grouping: Grouping) -> dict[str, Silence]:
        """What the grouping's watermark is made of, and what the silence of each part means."""
        return {i.mark: _silence(i) for i in self.feeding(grouping)}

    def keeps_late(self, grouping: Grouping) -> bool:
        """Whether anything reads the rows that are too late for the grouping."""
        return any(i.role == "late" and i.node is grouping for i in self.instances)

    def feeds_groupings(self, grouping: Grouping) -> bool:
        return any(i.role == "scatter" and i.origin is grouping for i in self.instances)

    @cached_property
    def followed(self) -> set[Instance]:
        """The steps whose watermark a grouping follows."""
        return {i.keeper for i in self.instances if i.role == "scatter" and i.keeper is not None}

    @property
    def needs_clock(self) -> bool:
        """Whether anything happens by processing time alone.

        Where all sources end, they end everything before a clock could; and Spark would go on for
        ever with batches in which there might be something to do by the clock.
        """
        return not all(source.bounded for source in self.sources) and any(
            uses_clock(g.windowing.when)
            or any(origin.idle is not None for origin in self.origins(g).values())
            for g in self.levels
        )

    @property
    def judges_times(self) -> bool:
        """Whether event times are held against the clock."""
        return any(
            isinstance(i.node, EventTime) and allowed_ahead(i.node) is not None
            for i in self.instances
        )


def physical(sinks: Sequence[Node], sees_files: bool = True) -> Physical:
    """The physical plan of a program.

    Python reads the files of sources whose lines it decodes, and where it ``sees_files``, as Spark
    does, also those that it reads faster, if no step requires their rows in the JVM.
    """
    plan = _planned(sinks, frozenset(), sees_files)
    decoded = {source for source in plan.sources if decodes_lines(source)}
    can = {source for source in plan.sources if sees_files and can_load(source)}
    for instance in plan.of(0):
        if _wants(instance.node, instance.role) == "jvm":
            can.discard(instance.source)
    loaded = frozenset(can | decoded)
    return _planned(sinks, loaded, sees_files) if loaded else plan


def _planned(sinks: Sequence[Node], loaded: frozenset[Source], sees_files: bool) -> Physical:
    made: dict[tuple[Node, str], list[Instance]] = {}
    instances: list[Instance] = []
    levels: dict[Grouping, int] = {}
    for node in walk(*sinks):
        for instance in _instances(node, made, levels, loaded):
            instances.append(instance)
            if instance.input is not None:
                instance.input.consumers.append(instance)
            if instance.role not in ("raw", "prepare", "scatter", "sink"):
                side = instance.role if instance.role in ("late", "rejected") else "rows"
                made.setdefault((node, side), []).append(instance)
        if isinstance(node, Union):
            made[node, "rows"] = [i for part in node.inputs for i in made[part, "rows"]]
        if isinstance(node, SideOutput):
            made[node, "rows"] = made.pop((node, node.side), made.get((node, "rows"), []))
    found = tuple(sink for sink in sinks if isinstance(sink, Sink))
    return Physical(found, tuple(_wanted(instances)), levels, sees_files)


def _wanted(instances: list[Instance]) -> list[Instance]:
    """Without steps whose rows nothing reads: a rejected output wants only what was rejected."""
    wanted: list[Instance] = []
    for instance in reversed(instances):
        leaf = instance.role == "run" and not isinstance(instance.node, Source)
        if leaf and not instance.consumers and instance.input is not None:
            instance.input.consumers.remove(instance)
        else:
            wanted.append(instance)
    return wanted[::-1]


Made = dict[tuple[Node, str], list[Instance]]


def _instances(
    node: Node, made: Made, levels: dict[Grouping, int], loaded: frozenset[Source]
) -> Iterator[Instance]:
    match node:
        case Source() if decodes(node) or node in loaded:
            raw = Instance(node, "raw", 0, 0, source=node)
            yield raw
            yield replace(raw, role="run", phase=1, input=raw, consumers=[])
        case Source():
            yield Instance(node, "run", 0, 0, source=node)
        case Union():
            return
        case Grouping():
            yield from _grouped(node, made, levels)
        case SideOutput(side="late"):
            assert isinstance(node.input, Grouping)
            grouping = node.input
            yield Instance(grouping, "late", levels[grouping], 1, origin=grouping)
        case SideOutput():
            yield from _rejected(node, made)
        case EventTime() | Filter() | Select() | WithColumns() | Function() | Sink():
            for input in made[node.input, "rows"]:
                yield _after(input, node, "sink" if isinstance(node, Sink) else "run")
        case _:
            raise unknown_kind(node)


def _grouped(node: Grouping, made: Made, levels: dict[Grouping, int]) -> Iterator[Instance]:
    inputs = made[node.input, "rows"]
    levels[node] = 1 + max((i.stage for i in inputs), default=0)
    for input in inputs:
        prepared = _after(input, node, "prepare")
        yield prepared
        yield _after(prepared, node, "scatter")
    yield Instance(node, "panes", levels[node], 1, origin=node)


def _rejected(node: SideOutput, made: Made) -> Iterator[Instance]:
    for each in walk(node.input):
        if may_reject(each):
            for instance in made[each, "rows"]:
                yield _after(instance, node, "rejected")


def decodes(node: Node) -> TypeGuard[KafkaSource]:
    """Whether the values of records are decoded, which Python does."""
    return isinstance(node, KafkaSource) and node.format in ("json", "csv")


def decodes_lines(node: Node) -> TypeGuard[FilesSource]:
    """Whether the lines of files are decoded, which Python does."""
    return isinstance(node, FilesSource) and node.layout is not None


def is_on_disk(source: FilesSource) -> bool:
    """Whether its files are on a disk, as far as their path says."""
    return ":" not in source.path or source.path.startswith("file:")


def can_load(node: Node) -> bool:
    """Whether it reads files that Arrow, in Python, reads as Spark would.

    Where they are bounded, Spark does: it can give parts of a large file to several cores.
    """
    return (
        isinstance(node, FilesSource)
        and node.format == "parquet"
        and not node.bounded
        and not node.options
        and node.split is None
        and "{" not in node.path
        and is_on_disk(node)
    )


def _in_known_tasks(source: Source) -> bool:
    """Whether it is read in as many tasks when a batch is done again (see ``packing.py``)."""
    return source.bounded or isinstance(source, FilesSource | RateSource)


def may_reject(node: Node) -> bool:
    """Whether the step may send rows to ``rejected``."""
    if isinstance(node, KafkaSource):
        return node.format != "raw"
    if isinstance(node, FilesSource):
        return decodes_lines(node)
    if isinstance(node, Function | Filter | Select | WithColumns):
        return node.on_error == "reject"
    return isinstance(node, EventTime)


def _after(input: Instance, node: Node, role: Role) -> Instance:
    phase = input.phase
    wants = _wants(node, role)
    if (wants == "jvm" and not input.in_jvm) or (wants == "python" and input.in_jvm):
        phase += 1
    made = replace(input, node=node, role=role, phase=phase, input=input, consumers=[])
    if isinstance(node, EventTime) and node.watermark is not None and made.origin is None:
        made.keeper = made
    return made


def _wants(node: Node, role: Role) -> Literal["jvm", "python", "any"]:
    """Where the step can run."""
    if role in ("scatter", "sink", "rejected") or isinstance(node, Function):
        return "python"
    if isinstance(node, EventTime) and node.watermark and node.watermark.on_ahead == "reject":
        return "python"  # only Python knows the clock of the batch
    if role == "prepare":
        assert isinstance(node, Grouping)
        return "any" if all(is_column(e, node.input) for e in expressions(node)) else "jvm"
    if isinstance(node, Filter):
        return "jvm"
    if isinstance(node, Select | WithColumns):
        return "any" if all(is_column(e, node.input) for _, e in node.columns) else "jvm"
    if isinstance(node, EventTime | Grouping | Source):
        return "any"
    raise unknown_kind(node)


def expressions(node: Grouping) -> Iterator[Expression]:
    """What a grouping computes of its input's rows before it groups them."""
    for _, key in node.keys:
        if isinstance(key, Expression):
            yield key
    for _, _, inputs in node.aggregates:
        yield from (e for e in (inputs.of, inputs.by) if e is not None)


def is_column(expression: Expression, input: Node) -> bool:
    """Whether the expression is nothing but a column, which any place can hand on."""
    return column_of(expression, input) is not None


def column_of(expression: Expression, input: Node) -> str | None:
    """The column that the expression is, if it is one."""
    if expression.column is not None:
        return None
    names = {quoted(name): name for name in input.schema.names}
    # A keyword is in backquotes, though it would do without them where types are told.
    names |= {"`" + name.replace("`", "``") + "`": name for name in input.schema.names}
    return names.get(expression.text)


def needs_whole_rows(node: Grouping) -> bool:
    """Whether a key or an aggregate is made of the whole row."""
    whole = any(
        inputs.of is None and not isinstance(aggregate, Count)
        for _, aggregate, inputs in node.aggregates
    )
    return whole or any(not isinstance(key, Expression) for _, key in node.keys)


def _silence(instance: Instance) -> Silence:
    keeper = instance.keeper
    if keeper is None or not isinstance(keeper.node, EventTime) or keeper.node.watermark is None:
        return Silence()
    return keeper.node.watermark.silence
