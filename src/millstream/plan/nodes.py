"""The steps of a program: frozen nodes, each knowing its inputs and the schema of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from millstream.model.time_units import TimeUnit
from millstream.model.watermarks import WatermarkPolicy
from millstream.plan.layouts import Layout, layout_of
from millstream.plan.positions import Position
from millstream.plan.sql.expressions import Expression
from millstream.plan.targets import FileFormat, Target
from millstream.plan.types.schema import Field, Schema

OnError = Literal["fail", "reject", "drop"]
OnMalformed = Literal["reject", "null"]
RecordFormat = Literal["json", "csv", "text", "raw"]

Line = tuple[str, str]
"""A label, and the text under it."""


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a program. Nodes are compared by identity: the graph behind a stream shares them.

    ``name`` is unique in a pipeline; ``schema`` is that of its rows.
    """

    name: str
    schema: Schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The steps that feed this one."""
        return ()


@dataclass(frozen=True, eq=False)
class Source(Node):
    """Where rows come from. A bounded source ends; its rows are then all there are."""

    bounded: bool


@dataclass(frozen=True, eq=False)
class RowsSource(Source):
    """Rows given in the program itself."""

    rows: tuple[dict[str, Any], ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class TestSource(Source):
    """An endless source whose rows come from the steps of a test."""

    __test__ = False


@dataclass(frozen=True, eq=False)
class SplitSource(Source):
    """A source that only Spark can read.

    Rows with equal values in the column ``split`` are in one split, which has a watermark of its
    own; without such a column all of the source is one split.
    """

    split: str | None


@dataclass(frozen=True, eq=False)
class FilesSource(SplitSource):
    """Files in a folder. One that is not bounded continues to read files as they are added.

    Columns in ``optional`` may be missing from all files.
    """

    path: str
    format: FileFormat
    options: tuple[tuple[str, str], ...] = ()
    max_files_per_batch: int | None = None
    on_malformed: OnMalformed = "reject"
    optional: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout | None:
        """How its lines are decoded in Python, each as a whole or not at all."""
        if self.on_malformed == "null" or (self.format != "json" and self.format != "csv"):
            return None
        return layout_of(self.format, self.options)


@dataclass(frozen=True, eq=False)
class SocketSource(SplitSource):
    """Lines of text that a server sends."""

    host: str
    port: int


@dataclass(frozen=True, eq=False)
class RateSource(SplitSource):
    """Numbers and the times at which they were made, so many each second."""

    rows_per_second: int


@dataclass(frozen=True, eq=False)
class KafkaSource(SplitSource):
    """Records of topics. Each partition is a split, whatever its columns are.

    The columns in ``metadata`` are about the record itself, the others are read from its value.
    ``servers`` are found when the job runs, unless the program names them.
    """

    format: RecordFormat
    metadata: tuple[str, ...]
    topics: tuple[str, ...]
    pattern: str | None
    start: Position
    until: Position | None
    max_per_batch: int | None
    on_data_loss: Literal["fail", "continue"]
    servers: str | None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may be secret

    @property
    def split_by(self) -> tuple[str, ...]:
        """What splits are named by: partitions, and their topics unless there can be only one."""
        return ("partition",) if len(self.topics) == 1 else ("topic", "partition")


@dataclass(frozen=True, eq=False)
class FrameSource(SplitSource):
    """A DataFrame of the user's own Spark session."""

    frame: Any = field(repr=False)


@dataclass(frozen=True, eq=False)
class OneInput(Node):
    """A step over one other step."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one step that feeds this one."""
        return (self.input,)


@dataclass(frozen=True, eq=False)
class EventTime(OneInput):
    """Takes each row's event time from a column; rows without one are rejected.

    ``unit`` is that of numbers, in the column of a punctuated watermark as well.
    """

    column: str
    watermark: WatermarkPolicy | None
    unit: TimeUnit = "s"


@dataclass(frozen=True, eq=False)
class Filter(OneInput):
    """Keeps the rows for which the condition is true."""

    condition: Expression
    on_error: OnError = "fail"


@dataclass(frozen=True, eq=False)
class Select(OneInput):
    """Computes new rows from expressions."""

    columns: tuple[tuple[str, Expression], ...]
    on_error: OnError = "fail"


@dataclass(frozen=True, eq=False)
class WithColumns(OneInput):
    """Adds columns to each row, or replaces them."""

    columns: tuple[tuple[str, Expression], ...]
    on_error: OnError = "fail"


SqlStep = Filter | Select | WithColumns
"""A step that computes expressions over each row by itself."""


@dataclass(frozen=True, eq=False)
class Function(OneInput):
    """A user's function: of a row to a row, of a row to rows, or of a batch of rows to rows."""

    shape: Literal["map", "flat_map", "map_batches", "lookup"]
    function: Callable[[Any], Any]
    on_error: OnError
    kind_column: str | None = None
    """The column in which the function passes on which rows are taken back, where any may be."""


@dataclass(frozen=True, eq=False)
class Union(Node):
    """The rows of several steps of the same schema."""

    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The steps that are put together."""
        return self.parts


@dataclass(frozen=True, slots=True)
class KeyFunction:
    """A user's function of the row that makes the key, which is of a Spark type."""

    function: Callable[[Any], Any]
    type: str


Key = Expression | KeyFunction
Keys = tuple[tuple[str, Key], ...]
"""Named expressions, or one function of the row under the name ``key``."""


@dataclass(frozen=True)
class Port:
    """An input of an operator: the step that feeds it, and the keys of its rows.

    An operator with a single port calls it ``rows``.
    """

    name: str
    input: Node
    keys: Keys


@dataclass(frozen=True, slots=True)
class Computed:
    """What an operator computes of each row before the shuffle.

    ``name`` is its name in the engine, and ``place`` what an error message calls it.
    """

    name: str
    place: str
    value: Key


@dataclass(frozen=True, eq=False)
class Stateful(Node):
    """An operator: a step that keeps state by key, in shards.

    Besides its rows it emits those of its ``tags``, each of which a ``SideOutput`` can read.
    """

    kind: ClassVar[str]
    """The method of a stream that makes it, after which it is named."""
    emits: ClassVar[str] = "rows"
    """What its rows are called."""

    ports: tuple[Port, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The steps that feed its ports."""
        return tuple(port.input for port in self.ports)

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of what it emits besides its rows."""
        return ()

    @property
    def details(self) -> list[Line]:
        """What it does, in labelled lines."""
        raise unknown_kind(self)

    @property
    def own_columns(self) -> tuple[Field, ...]:
        """Columns that every operator of its kind adds, which need no types where it is shown."""
        return ()

    @property
    def retracts(self) -> bool:
        """Whether it may take back rows that it emitted."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether the order of rows counts: by event time, then by their places in splits."""
        return False

    @property
    def may_reject(self) -> bool:
        """Whether it emits rows as ``rejected``."""
        return False

    @property
    def uses_clock(self) -> bool:
        """Whether it emits anything because of processing time alone."""
        return False

    @property
    def reads_clock(self) -> bool:
        """Whether rows depend on the time of their batch, even if the clock alone does nothing."""
        return False

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of its rows that hold the key, if there are any."""
        return ()

    @property
    def needs_whole_rows(self) -> bool:
        """Whether it needs the rows themselves, and not only what is computed of them."""
        return any(isinstance(key, KeyFunction) for port in self.ports for _, key in port.keys)

    @property
    def state_types(self) -> tuple[str, ...]:
        """The names and types of the values that its state is made of."""
        return tuple(str(Field(name, key.type)) for port in self.ports for name, key in port.keys)

    @property
    def kept_details(self) -> list[Line]:
        """Those of its details that its state depends on."""
        return self.details

    @property
    def kept_parts(self) -> list[Line]:
        """What its state has, where a program that is resumed may add more: labels and texts."""
        return []

    @property
    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The user's functions that it runs besides those of keys, and what messages call them."""
        return iter(())

    def computing(self, port: Port) -> Iterator[Computed]:
        """What is computed of each row of a port before the shuffle."""
        for i, (name, key) in enumerate(port.keys):
            place = "the key function" if isinstance(key, KeyFunction) else f"the key {name!r}"
            yield Computed(f"key {i}", place, key)

    def computed(self, port: Port) -> dict[str, Key]:
        """The same by the engine's names."""
        return {each.name: each.value for each in self.computing(port)}


@dataclass(frozen=True, eq=False)
class SideOutput(OneInput):
    """What the operator that is its input emits under one of its tags."""

    input: Stateful
    tag: str


@dataclass(frozen=True, eq=False)
class Rejected(OneInput):
    """What all steps up to the input rejected."""


@dataclass(frozen=True, eq=False)
class Sink(OneInput):
    """Where results go."""

    target: Target


def unknown_kind(node: Node) -> TypeError:
    """What a dispatch raises that has no case for the step: none may be passed over in silence."""
    return TypeError(f"an unknown kind of step: {type(node).__name__} {node.name!r}")


def walk(*outputs: Node) -> Iterator[Node]:
    """Every node behind ``outputs`` once, inputs before what they feed."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(outputs)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in seen:
            continue
        if expanded:
            seen.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((n, False) for n in reversed(node.inputs))
