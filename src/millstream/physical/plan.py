"""The physical plan: which step of a program runs where, and in what order.

A micro-batch runs through **stages**, with a shuffle before each but the first. Stage 0 has what
comes before any operator, a part for each source; stage n the operators that are fed by those of
earlier stages, and the steps after them. Within a stage, JVM stages and Python stages alternate:
SQL runs in the JVM, users' functions in Python. An even **phase** is a JVM stage, an odd one a
Python stage. Operators emit in Python, so a stage after a shuffle begins in phase 1.

A step after a union runs once for each part of it, wherever those are: that is what an ``Instance``
is. So any graph of steps, branches that part and meet again too, becomes one line of stages, in
which each row is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from millstream.model.watermarks import Silence
from millstream.physical.reading import (
    can_load,
    decodes,
    decodes_lines,
    in_known_tasks,
    is_on_disk,
    may_reject,
)
from millstream.plan.lineage import allowed_ahead
from millstream.plan.names import step_id
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    Function,
    KafkaSource,
    Key,
    Node,
    Port,
    Rejected,
    Select,
    SideOutput,
    Sink,
    Source,
    Stateful,
    Union,
    WithColumns,
    unknown_kind,
    walk,
)
from millstream.plan.sql.expressions import Expression
from millstream.plan.targets import Each, Kafka
from millstream.plan.types.schema import quoted

Role = Literal["raw", "run", "output", "rejected", "prepare", "scatter", "sink"]


@dataclass(eq=False)
class Instance:
    """A step in one place of the plan.

    ``role`` is what it does there: the rows of an operator's ``port`` are prepared and scattered
    before the shuffle, its output of each ``tag`` comes after it; records are read raw, and decoded
    in Python, and so are names of files. ``origin`` is the operator that made its rows; where none
    did, ``keeper`` is the instance of the step whose watermark policy they have passed, if any.
    """

    node: Node
    role: Role
    stage: int
    phase: int
    input: Instance | None = None
    source: Source | None = None
    keeper: Instance | None = None
    origin: Stateful | None = None
    port: Port | None = None
    tag: str | None = None
    consumers: list[Instance] = field(default_factory=list)

    @property
    def in_jvm(self) -> bool:
        return self.phase % 2 == 0

    @property
    def origins(self) -> tuple[Node, ...]:
        """What the watermarks that its rows go with are of: an operator, or a source and a step."""
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
    """All instances, in an order in which each comes after its input.

    In a replay, the script moves the watermarks: no step ``follows`` its policy. And all that
    operators emit is read, under whatever tag.
    """

    sinks: tuple[Sink, ...]
    instances: tuple[Instance, ...]
    levels: dict[Stateful, int]
    sees_files: bool = True
    follows: bool = True
    reads_all: bool = False

    @property
    def stages(self) -> int:
        return max(self.levels.values(), default=0) + 1

    @property
    def sources(self) -> list[Source]:
        """The sources, in an order that sinks do not change: Spark identifies them by their order.

        Sources with an unknown number of tasks are last. The tasks of a stage are numbered
        consecutively, and the slices of the other sources have the numbers of their tasks.
        """
        found = [i.node for i in self.instances if isinstance(i.node, Source) and i.input is None]
        return sorted(found, key=lambda source: (not in_known_tasks(source), source.name))

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

    def operators(self, stage: int) -> list[Stateful]:
        """The operators whose state is kept in that stage."""
        return [operator for operator, level in self.levels.items() if level == stage]

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

    def feeding(self, operator: Stateful) -> list[Instance]:
        """Where the operator's input is scattered."""
        return [i for i in self.instances if i.role == "scatter" and i.node is operator]

    def origins(self, operator: Stateful) -> dict[str, Silence]:
        """What the operator's watermark is made of, and what the silence of each part means."""
        marks = self.feeding(operator)
        return {i.mark: _silence(i) if self.follows else Silence() for i in marks}

    def is_read(self, operator: Stateful, tag: str) -> bool:
        """Whether any step reads what the operator emits under the tag."""
        return self.reads_all or any(i.node is operator and i.tag == tag for i in self.instances)

    def feeds_operators(self, operator: Stateful) -> bool:
        return any(i.role == "scatter" and i.origin is operator for i in self.instances)

    @cached_property
    def followed(self) -> set[Instance]:
        """The steps whose watermark an operator follows."""
        if not self.follows:
            return set()
        return {i.keeper for i in self.instances if i.role == "scatter" and i.keeper is not None}

    @property
    def is_ordered(self) -> bool:
        """Whether rows carry their places, because the order of rows counts for an operator."""
        return any(operator.ordered for operator in self.levels)

    @property
    def needs_clock(self) -> bool:
        """Whether anything happens by processing time alone.

        Where all sources end, they end everything before a clock could; and Spark would run
        batches for ever in which there might be something to do by the clock.
        """
        return not all(source.bounded for source in self.sources) and any(
            operator.uses_clock
            or any(origin.idle is not None for origin in self.origins(operator).values())
            for operator in self.levels
        )

    @property
    def reads_clock(self) -> bool:
        """Whether event times or rows are held against the clock of their batch."""
        return any(operator.reads_clock for operator in self.levels) or any(
            isinstance(i.node, EventTime) and allowed_ahead(i.node) is not None
            for i in self.instances
        )


def parallelism_of(plan: Physical, shards: int, splits: Mapping[str, int]) -> dict[str, int]:
    """In how many tasks steps run, by their ids, as far as that is known before they run.

    Operators and what comes after them run in shards, what reads Kafka in at most as many tasks as
    topics have partitions; the tasks of files depend on what is there.
    """
    known: dict[str, int] = {}
    for instance in plan.instances:
        if instance.stage > 0 or isinstance(instance.node, Stateful):
            known[step_id(instance.node)] = shards
        elif instance.source is not None and instance.source.name in splits:
            known[step_id(instance.node)] = splits[instance.source.name]
    return known


def physical(sinks: Sequence[Node], sees_files: bool = True) -> Physical:
    """The physical plan of a program.

    Python reads the files of sources whose lines it decodes, and where it ``sees_files``, as Spark
    does, also those that it reads faster, if no step requires their rows in the JVM.
    """
    plan = _planned(sinks, frozenset(), sees_files)
    decoded = {source for source in plan.sources if decodes_lines(source)}
    can = {source for source in plan.sources if sees_files and can_load(source)}
    for instance in plan.of(0):
        if _place(instance) == "jvm":
            can.discard(instance.source)
    loaded = frozenset(can | decoded)
    return _planned(sinks, loaded, sees_files) if loaded else plan


def _planned(sinks: Sequence[Node], loaded: frozenset[Source], sees_files: bool) -> Physical:
    made: Made = {}
    instances: list[Instance] = []
    levels: dict[Stateful, int] = {}
    for node in walk(*sinks):
        made[node] = []
        for instance in _instances(node, made, levels, loaded):
            instances.append(instance)
            if instance.input is not None:
                instance.input.consumers.append(instance)
            if instance.role in ("run", "output", "rejected"):
                made[node].append(instance)
        if isinstance(node, Union):
            made[node] = [i for part in node.inputs for i in made[part]]
    found = tuple(sink for sink in sinks if isinstance(sink, Sink))
    return Physical(found, tuple(_read(instances)), levels, sees_files)


def _read(instances: list[Instance]) -> list[Instance]:
    """Without steps whose rows nothing reads: a rejected output needs only what was rejected."""
    read: list[Instance] = []
    for instance in reversed(instances):
        leaf = instance.role == "run" and not isinstance(instance.node, Source)
        if leaf and not instance.consumers and instance.input is not None:
            instance.input.consumers.remove(instance)
        else:
            read.append(instance)
    return read[::-1]


Made = dict[Node, list[Instance]]
"""The instances that give the rows of each step."""


def _instances(
    node: Node, made: Made, levels: dict[Stateful, int], loaded: frozenset[Source]
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
        case Stateful():
            yield from _operator(node, made, levels)
        case SideOutput():
            yield _output(node.input, node.tag, levels)
        case Rejected():
            yield from _rejected(node, made, levels)
        case EventTime() | Filter() | Select() | WithColumns() | Function() | Sink():
            for input in made[node.input]:
                yield _after(input, node, "sink" if isinstance(node, Sink) else "run")
        case _:
            raise unknown_kind(node)


def _operator(node: Stateful, made: Made, levels: dict[Stateful, int]) -> Iterator[Instance]:
    levels[node] = 1 + max((i.stage for each in node.inputs for i in made[each]), default=0)
    for port in node.ports:
        for input in made[port.input]:
            prepared = _after(input, node, "prepare", port)
            yield prepared
            yield _after(prepared, node, "scatter", port)
    yield _output(node, "rows", levels)


def _output(node: Stateful, tag: str, levels: dict[Stateful, int]) -> Instance:
    return Instance(node, "output", levels[node], 1, origin=node, tag=tag)


def _rejected(node: Rejected, made: Made, levels: dict[Stateful, int]) -> Iterator[Instance]:
    for each in walk(node.input):
        if isinstance(each, Stateful) and each.may_reject:
            yield _output(each, "rejected", levels)
        elif may_reject(each):
            for instance in made[each]:
                yield _after(instance, node, "rejected")


def _after(input: Instance, node: Node, role: Role, port: Port | None = None) -> Instance:
    made = replace(input, node=node, role=role, input=input, port=port, tag=None, consumers=[])
    place = _place(made)
    if (place == "jvm" and not input.in_jvm) or (place == "python" and input.in_jvm):
        made.phase += 1
    if isinstance(node, EventTime) and node.watermark is not None and made.origin is None:
        made.keeper = made
    return made


def _place(instance: Instance) -> Literal["jvm", "python", "any"]:
    """Where the step can run."""
    node, role, port = instance.node, instance.role, instance.port
    if role in ("scatter", "sink", "rejected") or isinstance(node, Function):
        return "python"
    if isinstance(node, EventTime) and node.watermark and node.watermark.on_ahead == "reject":
        return "python"  # only Python knows the clock of the batch
    match node:
        case Stateful() if port is not None:
            return _place_of(node.computed(port).values(), port.input)
        case Filter():
            return "jvm"
        case Select() | WithColumns():
            return _place_of((expression for _, expression in node.columns), node.input)
        case EventTime() | Stateful() | Source():
            return "any"
    raise unknown_kind(node)


def _place_of(values: Iterable[Key], input: Node) -> Literal["jvm", "any"]:
    """Where values of rows can be computed: a column, any place can pass on."""
    expressions = (value for value in values if isinstance(value, Expression))
    return "any" if all(column_of(e, input) is not None for e in expressions) else "jvm"


def column_of(expression: Expression, input: Node) -> str | None:
    """The column that the expression is, if it is one."""
    if expression.column is not None:
        return None
    names = {quoted(name): name for name in input.schema.names}
    # A keyword is in backquotes, though it would do without them where types are listed.
    names |= {"`" + name.replace("`", "``") + "`": name for name in input.schema.names}
    return names.get(expression.text)


def _silence(instance: Instance) -> Silence:
    keeper = instance.keeper
    if keeper is None or not isinstance(keeper.node, EventTime) or keeper.node.watermark is None:
        return Silence()
    return keeper.node.watermark.silence
