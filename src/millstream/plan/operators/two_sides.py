"""What joins have in common: two ports, on what their rows meet, and the columns of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from millstream.model.errors import PlanError
from millstream.plan.build.steps import condition
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.lineage import kind_column, taking_back
from millstream.plan.nodes import Keys, Node, Stateful
from millstream.plan.operators.windowed import KIND
from millstream.plan.sql.expressions import Expression, is_pyspark_column, scalar
from millstream.plan.types.result_types import INTEGERS, common_type
from millstream.plan.types.schema import Field, Schema

LEFT, RIGHT = "left", "right"
ONE_SIDED = ("semi", "anti")
"""The joins that emit rows of the left side only."""
SIDE, REASON = Field("side", "STRING"), Field("reason", "STRING")


@dataclass(frozen=True, slots=True)
class PairColumn:
    """A column of pairs: of the left row, of the right one, or of both, which are equal in it."""

    name: str
    left: str | None
    right: str | None


@dataclass(frozen=True, eq=False)
class TwoSides(Stateful):
    """An operator with the ports ``left`` and ``right``, whose rows meet where keys are equal."""

    how: str
    columns: tuple[PairColumn, ...]

    @property
    def left(self) -> Node:
        """The step on the left."""
        return self.ports[0].input

    @property
    def right(self) -> Node:
        """The step on the right."""
        return self.ports[1].input

    @property
    def tags(self) -> tuple[str, ...]:
        """Rows of either side that came too late."""
        return ("late",)

    @property
    def ordered(self) -> bool:
        """Of rows of one event time, the last counts; and pairs are in the order of rows."""
        return True

    @property
    def needs_whole_rows(self) -> bool:
        """Pairs have the columns of both rows."""
        return True

    @property
    def meets(self) -> str:
        """On what rows meet, in words."""
        left, right = self.ports
        both = zip(left.keys, right.keys, strict=True)
        return ", ".join(a if a == b else f"{a} = {b}" for (a, _), (b, _) in both)

    @property
    def state_types(self) -> tuple[str, ...]:
        """The types of its keys, and the columns of both sides."""
        sides = (str(field) for port in self.ports for field in port.input.schema)
        return (*super().state_types, *sides)

    @property
    def pair_schema(self) -> Schema:
        """The columns of pairs, which a further condition reads."""
        return Schema(pair_fields(self.columns, self.left.schema, self.right.schema))

    @property
    def late_schema(self) -> Schema:
        """Late rows: the columns of pairs, with null for the other side; the side; the reason."""
        marked = [KIND] if any(map(taking_back, self.inputs)) else []
        own = [*marked, SIDE, REASON]
        check_column_names((c.name for c in self.columns), own=[field.name for field in own])
        return Schema((*pair_fields(self.columns, self.left.schema, self.right.schema), *own))


@dataclass(frozen=True, slots=True)
class Meeting:
    """On what the rows of two sides meet; ``shared`` are columns that are equal, by both names."""

    left: Keys
    right: Keys
    shared: tuple[tuple[str, str], ...]


def meeting(left: Node, right: Node, on: Any) -> Meeting:
    """What ``on`` means: a name or expression of both sides, a pair of them, or a list of these.

    >>> from millstream.plan.nodes import TestSource
    >>> orders = TestSource("orders", Schema.of("id int, item string"), False)
    >>> items = TestSource("items", Schema.of("item string, price int"), False)
    >>> meeting(orders, items, "item").shared
    (('item', 'item'),)
    >>> [name for name, _ in meeting(orders, items, ("lower(item)", "item")).left]
    ['LOWER(item)']
    """
    lefts, rights, shared = [], [], []
    for mine, other in _pairs(on):
        a, b = _of_one_type(scalar(mine, left.schema), scalar(other, right.schema), left, right)
        lefts.append((a.text, a))
        rights.append((b.text, b))
        names = _column(mine, left.schema), _column(other, right.schema)
        if names[0] is not None and names[1] is not None:
            shared.append((names[0], names[1]))
    return Meeting(tuple(lefts), tuple(rights), tuple(shared))


def pair_columns(
    left: Node,
    right: Node,
    shared: Iterable[tuple[str, str]],
    own: Iterable[str] = (),
    suffix: Any = "_right",
) -> tuple[PairColumn, ...]:
    """The columns of pairs: the left row's, then those of the right row that are not shared.

    One of the right side whose name is taken gets the ``suffix``. The columns that mark retractions
    are left out; ``own`` are names that the join adds.
    """
    both = dict(shared)
    kept = [name for name in left.schema.names if name != kind_column(left)]
    columns = [PairColumn(name, name, both.get(name)) for name in kept]
    taken = {name.lower() for name in (*kept, *own)}
    for name in right.schema.names:
        if name != kind_column(right) and name not in both.values():
            given = f"{name}{_checked(suffix)}" if name.lower() in taken else name
            columns.append(PairColumn(given, None, name))
            taken.add(given.lower())
    check_column_names((column.name for column in columns), own=list(own))
    return tuple(columns)


def shown_fields(
    columns: Iterable[PairColumn], how: str, left: Schema, right: Schema
) -> tuple[Field, ...]:
    """The columns that a join emits: semi and anti joins have those of the left row."""
    shown = [c for c in columns if c.left is not None or how not in ONE_SIDED]
    return pair_fields(shown, left, right)


def checked_condition(given: Any, schema: Schema) -> Expression:
    """A further condition on the columns of pairs, which is computed in Python."""
    if is_pyspark_column(given):
        raise PlanError(
            "MS112",
            "where= is computed of pairs in Python, which has no use for a PySpark Column",
            fix="write it as Spark SQL text, such as where='amount > least'",
        )
    return condition(given, schema)


def pair_fields(columns: Iterable[PairColumn], left: Schema, right: Schema) -> tuple[Field, ...]:
    """The columns with their types; one of both sides takes the values of either."""
    return tuple(Field(each.name, _type(each, left, right)) for each in columns)


def _type(column: PairColumn, left: Schema, right: Schema) -> str | None:
    found = [
        schema.resolve(name).type
        for schema, name in ((left, column.left), (right, column.right))
        if name is not None
    ]
    return common_type(*found)


def checked_types(node: TwoSides, left: Iterable[str], right: Iterable[str]) -> None:
    """MS142: the keys of both sides, whose types are all known now, are of the same types."""
    keys = zip(*(port.keys for port in node.ports), strict=True)
    for ((a, _), (b, _)), mine, other in zip(keys, left, right, strict=True):
        if mine != other:
            raise _different(a, mine, b, other)


def _pairs(on: Any) -> list[tuple[Any, Any]]:
    given = on if isinstance(on, list) else [on]
    pairs = [each if isinstance(each, tuple) else (each, each) for each in given]
    if not pairs or on is None or any(len(pair) != 2 for pair in pairs):
        raise PlanError(
            "MS142",
            f"on={on!r} does not say on what rows of both sides meet",
            fix="name a column of both, on='id', a pair, on=('id', 'order_id'), or a list of these",
        )
    return pairs


def _column(given: Any, schema: Schema) -> str | None:
    field = schema.find(given.strip("`")) if isinstance(given, str) else None
    return None if field is None else field.name


def _checked(suffix: Any) -> str:
    if isinstance(suffix, str) and suffix:
        return suffix
    raise PlanError("MS113", f"suffix={suffix!r} is no text", fix="give one, such as '_right'")


def _of_one_type(
    a: Expression, b: Expression, left: Node, right: Node
) -> tuple[Expression, Expression]:
    if a.type is None or b.type is None or a.type == b.type:
        return a, b
    if a.type in INTEGERS and b.type in INTEGERS:
        return _as_bigint(a, left.schema), _as_bigint(b, right.schema)
    raise _different(a.text, a.type, b.text, b.type)


def _as_bigint(given: Expression, schema: Schema) -> Expression:
    return given if given.type == "BIGINT" else scalar(f"CAST({given.text} AS BIGINT)", schema)


def _different(a: str, mine: str, b: str, other: str) -> PlanError:
    return PlanError(
        "MS142",
        f"rows meet where {a}, which is {mine}, equals {b}, which is {other}",
        fix=f"convert one: on=({a!r}, 'CAST({b} AS {mine})')",
    )
