"""What all joins take: how rows are matched, the keys of both sides, and the names of columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import Key, Keys, Node
from millstream.plan.operators.windowed import PANE, WINDOW
from millstream.plan.sql.expressions import Expression, is_pyspark_column, named_scalar
from millstream.plan.types.result_types import INTEGERS, common_type
from millstream.plan.types.schema import Field, Schema, quoted

How = Literal["inner", "left", "right", "full", "semi", "anti"]
"""Which rows a join emits: pairs; with padded rows of one side or both; or rows of the left side
that have a match, or none."""

SUFFIX = "_right"
"""What is added to the name of a column of the right side that the left side has, too."""


def checked_how(given: Any, choices: tuple[Any, ...] = get_args(How)) -> How:
    """One of the ways to join."""
    how: How = one_of(given, "how", choices)
    return how


def join_keys(left: Node, right: Node, on: Any) -> tuple[Keys, Keys]:
    """The keys of both sides: ``on`` is a column or expression of both, a pair, or a list of these.

    >>> left = Node("left", Schema.of("id bigint, name string"))
    >>> right = Node("right", Schema.of("user_id bigint"))
    >>> [[name for name, _ in keys] for keys in join_keys(left, right, on=("id", "user_id"))]
    [['id'], ['id']]
    """
    pairs = [each if isinstance(each, tuple) else (each, each) for each in _listed(on)]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise PlanError(
            "MS113",
            f"on={on!r} names no keys that both sides have",
            fix="give a column, on='id', a pair, on=('id', 'user_id'), or a list of these",
        )
    keys = [_left_key(first, left.schema) for first, _ in pairs]
    others = [
        (name, named_scalar(second, right.schema)[1])
        for (name, _), (_, second) in zip(keys, pairs, strict=True)
    ]
    check_same_types(keys, others, integers_are_one=True)
    return tuple(keys), tuple(others)


def _listed(on: Any) -> list[Any]:
    single = isinstance(on, str | tuple) or is_pyspark_column(on) or not isinstance(on, Iterable)
    return [] if on is None else [on] if single else list(on)


def _left_key(given: Any, schema: Schema) -> tuple[str, Expression]:
    name, expression = named_scalar(given, schema)
    name = name or _column(expression, schema)
    if name is None:
        raise PlanError(
            "MS112",
            f"the key {expression.text!r} has no name",
            fix=f"write '{expression.text} AS name', with a name of your choice",
        )
    return name, expression


def widened(keys: tuple[Keys, Keys], left: Node, right: Node) -> tuple[Keys, Keys]:
    """The keys of both sides, each pair of one type: integers that differ become BIGINT."""
    pairs = [
        ((name, _as(type, one, left)), (name, _as(type, other, right)))
        for (name, one), (_, other) in zip(*keys, strict=True)
        for type in [common_type(one.type, other.type)]
    ]
    return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)


def _as(type: str | None, key: Key, side: Node) -> Key:
    if type is None or key.type in (None, type) or not isinstance(key, Expression):
        return key
    return named_scalar(f"CAST({key.text} AS {type})", side.schema)[1]


def check_same_types(
    left: Iterable[tuple[str, Key]],
    right: Iterable[tuple[str, Key]],
    integers_are_one: bool = False,
) -> None:
    """MS134: values are equal only if they are of one type, or of integers if these are one."""
    for (name, one), (_, other) in zip(left, right, strict=True):
        if integers_are_one and {one.type, other.type} <= set(INTEGERS):
            continue
        if one.type != other.type and one.type is not None and other.type is not None:
            raise PlanError(
                "MS134",
                f"the key {name!r} is {one.type} on one side and {other.type} on the other",
                fix=_same_type(one, other),
            )


def _same_type(one: Key, other: Key) -> str:
    if isinstance(one, Expression) and isinstance(other, Expression):
        cast = f"CAST({other.text} AS {one.type})"
        return f"give both one type: on=({one.text!r}, {cast!r})"
    return "give both one type: key_by(…, type=…)"


@dataclass(frozen=True)
class JoinedColumns:
    """The columns of a join's rows: the keys, once, then those of the left and the right side.

    Of each side's: what the column is called there, and what it is called in the result.
    """

    keys: tuple[Field, ...]
    left: tuple[tuple[str, Field], ...]
    right: tuple[tuple[str, Field], ...]

    @property
    def pair(self) -> Schema:
        """The columns of two rows that match."""
        return Schema((*self.keys, *(f for _, f in self.left), *(f for _, f in self.right)))

    def fields(self, how: How) -> tuple[Field, ...]:
        """The columns that the result has."""
        if how in ("semi", "anti"):
            return (*self.keys, *(f for _, f in self.left))
        return self.pair.fields


def joined_columns(
    left: Node, right: Node, keys: tuple[Keys, Keys], suffix: Any, own: tuple[Field, ...] = ()
) -> JoinedColumns:
    """The columns of a join; ``own`` are those that it adds, as a join in windows does.

    What earlier groupings added under these names is left out, for it is the same for all rows of
    a window; columns of the user's own may not have them.
    """
    firsts, seconds = keys
    taken = {name.lower() for name, _ in firsts}
    others = [f for f in _columns(left, firsts, own) if f.name.lower() not in taken]
    taken |= {f.name.lower() for f in others}
    renamed = []
    for field in _columns(right, seconds, own):
        name = f"{field.name}{_checked(suffix)}" if field.name.lower() in taken else field.name
        if name.lower() in taken:
            raise PlanError(
                "MS133",
                f"{right.name!r} has a column {field.name!r}, and {name!r} is there already",
                fix=f"rename it there: .select('{quoted(field.name)} AS …', …), or choose another "
                "suffix=",
            )
        taken.add(name.lower())
        renamed.append((field.name, Field(name, field.type)))
    types = (
        Field(n, common_type(a.type, b.type))
        for (n, a), (_, b) in zip(firsts, seconds, strict=True)
    )
    return JoinedColumns(tuple(types), tuple((f.name, f) for f in others), tuple(renamed))


def _columns(side: Node, keys: Keys, own: tuple[Field, ...]) -> list[Field]:
    """The columns of a side, without those that are its keys."""
    names = {_column(key, side.schema) for _, key in keys if isinstance(key, Expression)}
    kept = []
    for field in side.schema:
        if field.name in names or _is_of_a_grouping(field, side, own):
            continue
        if field.name.lower() in {each.name for each in own}:
            raise PlanError(
                "MS133",
                f"{side.name!r} has a column {field.name!r}, and the join adds one of that name",
                fix=f"rename it there: .with_columns({field.name}_2={quoted(field.name)!r})"
                f".drop({field.name!r})",
            )
        kept.append(field)
    return kept


def _is_of_a_grouping(field: Field, side: Node, own: tuple[Field, ...]) -> bool:
    """Whether an earlier grouping added the column, and the join adds one of its own.

    What marks retractions is left out of any join, which takes back what it has emitted itself.
    """
    if field.name == kind_column(side):
        return True
    if field.name not in {each.name for each in own}:
        return False
    base = {WINDOW.name: "STRUCT<start: TIMESTAMP, end: TIMESTAMP", PANE.name: PANE.type}
    return str(field.type).startswith(str(base.get(field.name)))


def _column(expression: Expression, schema: Schema) -> str | None:
    """The column that a key is, if it is one as it stands."""
    if expression.column is not None:
        return None
    names = {spelled: n for n in schema.names for spelled in (quoted(n), f"`{n}`")}
    return names.get(expression.text)


def _checked(suffix: Any) -> str:
    if isinstance(suffix, str) and suffix:
        return suffix
    raise PlanError("MS113", f"suffix={suffix!r} is no text", fix="give one, such as '_right'")
