"""The regular join: always that of all rows so far, less those that were taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from millstream.model.durations import format_duration, positive
from millstream.model.errors import PlanError, in_step
from millstream.plan.build.join_sides import checked_how
from millstream.plan.build.steps import filter as filtered
from millstream.plan.checks.event_time import check_has_event_time
from millstream.plan.checks.missing_watermark import check_followed
from millstream.plan.checks.retractions import check_nothing_reads_kind
from millstream.plan.lineage import is_bounded, taking_back
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Filter, Line, Node, Port
from millstream.plan.operators.two_sides import (
    LEFT,
    RIGHT,
    TwoSides,
    checked_condition,
    meeting,
    pair_columns,
    shown_fields,
)
from millstream.plan.operators.windowed import KIND
from millstream.plan.settings import Settings
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import Schema

TURNING = ("left", "right", "full", "anti")
"""The joins that emit rows which a later match takes back."""


@dataclass(frozen=True, eq=False)
class RegularJoin(TwoSides):
    """Rows meet if their keys are equal and their times are at most ``ttl`` apart."""

    kind: ClassVar[str] = "join"

    ttl: int | None
    where: Expression | None

    @property
    def retracts(self) -> bool:
        """Whether a row that comes, or one that is taken back, changes what was emitted."""
        return self.how in TURNING or any(map(taking_back, self.inputs))

    @property
    def details(self) -> list[Line]:
        """On what rows meet, and for how long they are kept."""
        lives = "for ever" if self.ttl is None else format_duration(self.ttl)
        where = [] if self.where is None else [("where", self.where.text)]
        return [("joins", self.how), ("on", self.meets), *where, ("lives", lives)]


def regular_join(
    left: Node,
    right: Node,
    settings: tuple[Settings, Settings],
    on: Any,
    how: Any,
    where: Any,
    ttl: Any,
    unbounded_state: bool,
    suffix: Any,
) -> RegularJoin | Filter:
    """The checked join of two steps. After an inner join, ``where`` is a filter."""
    step = automatic_name(RegularJoin.kind, left, right)
    with in_step(step):
        chosen = checked_how(how)
        lives = None if ttl is None else positive(ttl, what="ttl")
        _check_levels_off(lives, unbounded_state, left, right)
        for side in (left, right):
            check_nothing_reads_kind(side)
            if lives is not None:
                check_has_event_time(side, "ttl= is")
                check_followed(side, "rows are kept until the watermark is ttl= after them")
        met = meeting(left, right, _met_on(on, *settings))
        retracts = chosen in TURNING or any(map(taking_back, (left, right)))
        own = ["kind"] if retracts else []
        columns = pair_columns(left, right, met.shared, own, suffix)
        fields = shown_fields(columns, chosen, left.schema, right.schema)
        joined = RegularJoin(
            step,
            Schema((*fields, *([KIND] if retracts else []))),
            (Port(LEFT, left, met.left), Port(RIGHT, right, met.right)),
            chosen,
            columns,
            lives,
            None,
        )
        if where is not None and chosen != "inner":
            return replace(joined, where=checked_condition(where, joined.pair_schema))
    return joined if where is None else filtered(joined, where)


def check_no_ttl(ttl: Any, unbounded_state: bool) -> None:
    """Windows say how long rows are kept."""
    if ttl is not None or unbounded_state:
        raise PlanError(
            "MS113",
            "ttl= and unbounded_state= are for joins without windows: rows of a window are kept "
            "until it expires",
            fix="leave them out, or leave out window(…), trigger(…) and refine(…)",
        )


def _met_on(on: Any, left: Settings, right: Settings) -> Any:
    """What rows meet on: ``on``, or the keys of both sides."""
    keys = left.keys, right.keys
    if not any(keys):
        return on
    texts = [[key.text for _, key in side if isinstance(key, Expression)] for side in keys]
    if on is not None or len({len(each) for each in (*texts, *keys)}) > 1:
        raise PlanError(
            "MS142",
            "rows meet by on=…, or by as many keys of key_by(…), which are expressions, on both "
            "sides",
            fix="leave out key_by(…), and name a column of both, on='id', or a pair, "
            "on=('id', 'order_id')",
        )
    return list(zip(*texts, strict=True))


def _check_levels_off(ttl: int | None, unbounded: bool, left: Node, right: Node) -> None:
    if ttl is not None and unbounded:
        raise PlanError(
            "MS113",
            "unbounded_state=True keeps all rows, but ttl= says for how long they are kept",
            fix="give one of them",
        )
    if ttl is None and not unbounded and not (is_bounded(left) and is_bounded(right)):
        raise PlanError(
            "MS144",
            "the join keeps all rows of both sides, which have no end",
            fix="say how far apart in event time rows may meet: ttl='1d'; or, if there are few of "
            "them for ever, unbounded_state=True",
        )
