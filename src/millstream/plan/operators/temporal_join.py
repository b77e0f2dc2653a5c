"""The temporal join: each row meets the version of a changing table that was valid at its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from millstream.model.arguments import one_of
from millstream.model.durations import format_duration, not_negative
from millstream.model.errors import PlanError, in_step
from millstream.plan.build.steps import condition
from millstream.plan.checks.event_time import check_has_event_time
from millstream.plan.checks.missing_watermark import check_followed
from millstream.plan.checks.retractions import check_nothing_reads_kind
from millstream.plan.explain.details import setting_lines
from millstream.plan.lineage import is_bounded, taking_back
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Computed, Line, Node, Port
from millstream.plan.operators.two_sides import (
    LEFT,
    RIGHT,
    TwoSides,
    meeting,
    pair_columns,
    pair_fields,
)
from millstream.plan.operators.windowed import KIND
from millstream.plan.settings import Settings
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import Schema

TemporalHow = Literal["inner", "left"]
Direction = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True, eq=False)
class TemporalJoin(TwoSides):
    """Rows on the left, versions of a table on the right. A version is valid from its event time
    until that of the next one of its key.
    """

    kind: ClassVar[str] = "temporal_join"

    direction: Direction
    grace: int
    tolerance: int | None
    deleted: Expression | None

    @property
    def retracts(self) -> bool:
        """A row that takes one back takes back its pair; versions change no pair that is made."""
        return taking_back(self.left) is not None

    @property
    def details(self) -> list[Line]:
        """On what rows meet, and which version."""
        within = "" if self.tolerance is None else f", within {format_duration(self.tolerance)}"
        lines = [("joins", self.how), ("on", self.meets), ("version", f"{self.direction}{within}")]
        if self.grace:
            lines.append(("grace", format_duration(self.grace)))
        if self.deleted is not None:
            lines.append(("deleted", self.deleted.text))
        return lines

    def computing(self, port: Port) -> Iterator[Computed]:
        """The keys; of a version, whether it deletes."""
        yield from super().computing(port)
        if port.name == RIGHT and self.deleted is not None:
            yield Computed("deleted", "deleted=", self.deleted)


def temporal_join(
    left: Node,
    table: Node,
    settings: tuple[Settings, Settings],
    on: Any,
    how: Any,
    grace: Any,
    direction: Any,
    tolerance: Any,
    deleted: Any,
    suffix: Any,
) -> TemporalJoin:
    """The checked join of ``left`` with the versions of ``table``."""
    step = automatic_name(TemporalJoin.kind, left, table)
    with in_step(step):
        _check_unset(*settings)
        for side, what in ((left, "temporal_join(…) is"), (table, "a version of a table is")):
            check_has_event_time(side, what)
            check_followed(side, "a row waits for the versions of its time")
            check_nothing_reads_kind(side)
        met = meeting(left, table, on)
        retracts = taking_back(left) is not None
        columns = pair_columns(left, table, met.shared, ["kind"] if retracts else [], suffix)
        fields = pair_fields(columns, left.schema, table.schema)
        checked_direction = one_of(direction, "direction", get_args(Direction))
        within = None if tolerance is None else not_negative(tolerance, what="tolerance")
        if checked_direction != "backward" and within is None:
            _check_ends(checked_direction, left, table)
        return TemporalJoin(
            step,
            Schema((*fields, *([KIND] if retracts else []))),
            (Port(LEFT, left, met.left), Port(RIGHT, table, met.right)),
            one_of(how, "how", get_args(TemporalHow)),
            columns,
            checked_direction,
            not_negative(grace, what="grace"),
            within,
            None if deleted is None else condition(deleted, table.schema),
        )


def _check_ends(direction: str, left: Node, table: Node) -> None:
    """A row that may meet any later version waits for the end of input."""
    if not (is_bounded(left) and is_bounded(table)):
        raise PlanError(
            "MS143",
            f"direction={direction!r} waits for versions after a row, and the input has no end: "
            "no row would ever be emitted",
            fix="say how far from a row's time a version may be: tolerance='1m'",
        )


def _check_unset(*settings: Settings) -> None:
    for each in settings:
        if each:
            others = ", ".join(map(" ".join, setting_lines(each)))
            raise PlanError(
                "MS117",
                f"temporal_join(…) meets rows by on=…, and has no use for {others}",
                fix="leave it out, and name the key in on=…",
            )
