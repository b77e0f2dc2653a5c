"""The interval join: rows of two streams meet if their event times are near each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from millstream.model.durations import format_duration, microseconds
from millstream.model.errors import PlanError, in_step
from millstream.model.refinements import Refinement, retracting
from millstream.model.watermarks import Bounded
from millstream.plan.build.join_sides import checked_how
from millstream.plan.checks.event_time import check_has_event_time
from millstream.plan.checks.missing_watermark import check_followed
from millstream.plan.checks.retractions import check_nothing_reads_kind
from millstream.plan.explain.details import setting_lines
from millstream.plan.lineage import taking_back
from millstream.plan.names import automatic_name
from millstream.plan.nodes import EventTime, Line, Node, Port, walk
from millstream.plan.operators.two_sides import (
    LEFT,
    ONE_SIDED,
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

Alone = Literal["padded", "matched", "unmatched"]
"""What is emitted of a row by itself: the row padded with nulls if it has met none, the row as it
is if it has met any, or if it has met none."""

_LONGEST = 10_000 * 366 * 86_400_000_000
"""No two event times are farther apart."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an interval join: a row at ``t`` meets rows of the other side that are from
    ``t + earliest`` to ``t + latest``, both included.

    A row is **decided** once the watermark has passed the last of these times. It is kept ``keep``
    long after its own time, in the progress of the watermark.
    """

    earliest: int
    latest: int
    alone: Alone | None
    keep: int
    retracted: bool
    """Whether rows of this side may be taken back."""


@dataclass(frozen=True, eq=False)
class IntervalJoin(TwoSides):
    """Rows of both sides with equal keys meet if the right one's event time is in the interval."""

    kind: ClassVar[str] = "interval_join"

    earliest: int
    latest: int
    refinement: Refinement
    where: Expression | None

    @property
    def at_once(self) -> bool:
        """Whether rows that have met none are emitted at once, and taken back when they meet one.

        Otherwise they are emitted when they are decided.
        """
        return self.refinement is retracting

    @property
    def emits_pairs(self) -> bool:
        """Whether pairs are emitted, and not only rows of the left side."""
        return self.how not in ONE_SIDED

    @property
    def ordered(self) -> bool:
        """Which rows meet does not depend on their order."""
        return False

    @property
    def retracts(self) -> bool:
        """Rows that are taken back take back their pairs."""
        return _retracts(self.left, self.right, self.how, self.refinement)

    @property
    def sides(self) -> tuple[Side, Side]:
        """The left and the right side. To decide on a row of one side, rows of the other side are
        kept until the last row that they may meet is decided.
        """
        alone = _ALONE[self.how]
        after = max(self.latest, 0), max(-self.earliest, 0)
        keep = [*after]
        if alone[0] is not None:
            keep[1] = max(0, after[0] - self.earliest)
        if alone[1] is not None:
            keep[0] = max(keep[0], after[1] + self.latest)
        back = [taking_back(port.input) is not None for port in self.ports]
        return (
            Side(self.earliest, self.latest, alone[0], keep[0], back[0]),
            Side(-self.latest, -self.earliest, alone[1], keep[1], back[1]),
        )

    @property
    def spread(self) -> int:
        """How far apart the event times of rows are that are kept, as far as the plan shows it."""
        policies = (n.watermark for n in walk(self) if isinstance(n, EventTime))
        disorder = max((p.disorder for p in policies if isinstance(p, Bounded)), default=0)
        return self.latest - self.earliest + disorder

    @property
    def details(self) -> list[Line]:
        """Which rows meet, and what is emitted of those that meet none."""
        bounds = f"{format_duration(self.earliest)} to {format_duration(self.latest)}"
        lines = [("joins", self.how), ("on", self.meets), ("between", bounds)]
        lines += [] if self.where is None else [("where", self.where.text)]
        return [*lines, *([("how", repr(self.refinement))] if self.at_once else [])]


_ALONE: dict[str, tuple[Alone | None, Alone | None]] = {
    "inner": (None, None),
    "left": ("padded", None),
    "right": (None, "padded"),
    "full": ("padded", "padded"),
    "semi": ("matched", None),
    "anti": ("unmatched", None),
}


def interval_join(
    left: Node,
    right: Node,
    settings: tuple[Settings, Settings],
    on: Any,
    between: Any,
    how: Any,
    where: Any,
    suffix: Any,
) -> IntervalJoin:
    """The checked join of two steps."""
    step = automatic_name(IntervalJoin.kind, left, right)
    with in_step(step):
        refinement = _refinement(*settings)
        for side in (left, right):
            check_has_event_time(side, "interval_join(…) is")
            check_followed(side, "rows are kept until the watermark shows that they meet no more")
            check_nothing_reads_kind(side)
        met = meeting(left, right, on)
        earliest, latest = _interval(between)
        chosen = checked_how(how)
        own = [KIND] if _retracts(left, right, chosen, refinement) else []
        columns = pair_columns(left, right, met.shared, [field.name for field in own], suffix)
        fields = shown_fields(columns, chosen, left.schema, right.schema)
        ports = Port(LEFT, left, met.left), Port(RIGHT, right, met.right)
        schema = Schema((*fields, *own))
        node = IntervalJoin(
            step, schema, ports, chosen, columns, earliest, latest, refinement, None
        )
        if where is None:
            return node
        return replace(node, where=checked_condition(where, node.pair_schema))


def _retracts(left: Node, right: Node, how: str, refinement: Refinement) -> bool:
    changes_mind = refinement is retracting and how not in ("inner", "semi")
    return changes_mind or any(taking_back(each) is not None for each in (left, right))


def _interval(between: Any) -> tuple[int, int]:
    fix = "give the first and the last time, from the left row's: between=('-10m', '0s')"
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise PlanError("MS138", f"between={between!r} is no interval of event time", fix=fix)
    earliest, latest = (microseconds(each, what="between=") for each in between)
    if earliest > latest:
        fix = f"write between=({between[1]!r}, {between[0]!r})"
        raise PlanError("MS138", f"between={between!r} ends before it begins", fix=fix)
    if max(abs(earliest), abs(latest)) > _LONGEST:
        raise PlanError(
            "MS138",
            f"between={between!r} is longer than there are event times",
            fix="use at most 10,000 years",
        )
    return earliest, latest


def _refinement(left: Settings, right: Settings) -> Refinement:
    own = ("refine", repr(retracting))
    others = [line for line in setting_lines(left) if line != own] + setting_lines(right)
    if others:
        raise PlanError(
            "MS117",
            "interval_join(…) matches rows by on= and between=, and has no use for "
            + ", ".join(map(" ".join, others)),
            fix="leave it out: only refine(ms.retracting), on the left, is for interval_join(…)",
        )
    return left.windowing.refine
