"""Operators that compute panes: of rows by key and window, when a trigger says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.model.clock_windows import ByClock
from millstream.model.refinements import retracting
from millstream.model.windowing import Windowing
from millstream.plan.explain.words import when_text, where_text
from millstream.plan.finishing import uses_clock
from millstream.plan.nodes import Line, Stateful
from millstream.plan.types.schema import Field

WINDOW = Field("window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>")
_NUMBERED_WINDOW = Field("window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP, index: BIGINT>")
PANE = Field("pane", "STRUCT<timing: STRING, index: BIGINT, first: BOOLEAN, last: BOOLEAN>")
KIND = Field("kind", "STRING")


def window_field(windowing: Windowing) -> Field:
    """The column that has the window of a pane; windows in the order of rows are counted, too."""
    return _NUMBERED_WINDOW if windowing.where.ordered else WINDOW


def pane_fields(windowing: Windowing) -> tuple[Field, ...]:
    """Where and when a pane was emitted, and whether it takes an earlier one back."""
    kind = [KIND] if windowing.refine is retracting else []
    return (window_field(windowing), PANE, *kind)


@dataclass(frozen=True, eq=False)
class Windowed(Stateful):
    """An operator that answers where, when and how; each kind of them says what is computed."""

    emits: ClassVar[str] = "panes"

    windowing: Windowing

    @property
    def tags(self) -> tuple[str, ...]:
        """Rows that came too late."""
        return ("late",)

    @property
    def own_columns(self) -> tuple[Field, ...]:
        """Where and when a pane was emitted, and whether it takes an earlier one back."""
        return pane_fields(self.windowing)

    @property
    def retracts(self) -> bool:
        """Whether its refinement takes panes back."""
        return self.windowing.refine is retracting

    @property
    def uses_clock(self) -> bool:
        """Whether its windows or its trigger depend on processing time."""
        return self.windowing.where.uses_clock or uses_clock(self.windowing.when)

    @property
    def reads_clock(self) -> bool:
        """Whether the windows of rows are by the clock."""
        return isinstance(self.windowing.where, ByClock)

    @property
    def ordered(self) -> bool:
        """Whether the order of rows makes its windows."""
        return self.windowing.where.ordered

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Its keys, which are columns of each pane."""
        return tuple(name for name, _ in self.ports[0].keys)

    @property
    def windowing_details(self) -> list[Line]:
        """Where, when and how."""
        return [
            ("where", where_text(self.windowing)),
            ("when", when_text(self.windowing)),
            ("how", repr(self.windowing.refine)),
        ]
