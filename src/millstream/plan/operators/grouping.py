"""The grouping: rows by key and window, and an aggregate of each pane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.model.aggregates import Aggregate, ApproxDistinct, ApproxQuantile, Combine, Count
from millstream.model.clock_windows import ByClock
from millstream.model.refinements import retracting
from millstream.model.windowing import Windowing
from millstream.plan.explain.words import keys_text, when_text, where_text
from millstream.plan.finishing import uses_clock
from millstream.plan.nodes import Computed, Line, Port
from millstream.plan.operators.one_port import OnePort
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import Field, quoted

WINDOW = Field("window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>")
_NUMBERED_WINDOW = Field("window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP, index: BIGINT>")
PANE = Field("pane", "STRUCT<timing: STRING, index: BIGINT, first: BOOLEAN, last: BOOLEAN>")
KIND = Field("kind", "STRING")


def window_field(windowing: Windowing) -> Field:
    """The column that has the window of a pane; windows in the order of rows are counted, too."""
    return _NUMBERED_WINDOW if windowing.where.ordered else WINDOW


@dataclass(frozen=True, slots=True)
class AggregateInputs:
    """The checked expressions of an aggregate: its value (None: the whole row) and its order."""

    of: Expression | None
    by: Expression | None = None


@dataclass(frozen=True, eq=False)
class Grouping(OnePort):
    """Groups by key and window, and aggregates each pane."""

    kind: ClassVar[str] = "aggregate"
    emits: ClassVar[str] = "panes"

    windowing: Windowing
    aggregates: tuple[tuple[str, Aggregate, AggregateInputs], ...]
    attribute: Expression | None = None
    """What the windows of rows depend on besides their order, if they do."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Rows that came too late."""
        return ("late",)

    @property
    def details(self) -> list[Line]:
        """The answers to the four questions."""
        what = (f"{quoted(name)} = {aggregate!r}" for name, aggregate, _ in self.aggregates)
        return [
            ("key", keys_text(self.keys) or "none: one group for everything"),
            ("what", ", ".join(what)),
            ("where", where_text(self.windowing)),
            ("when", when_text(self.windowing)),
            ("how", repr(self.windowing.refine)),
        ]

    @property
    def own_columns(self) -> tuple[Field, ...]:
        """Where and when a pane was emitted, and whether it takes an earlier one back."""
        return (window_field(self.windowing), PANE, *([KIND] if self.retracts else []))

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
        return tuple(name for name, _ in self.keys)

    @property
    def needs_whole_rows(self) -> bool:
        """Whether a key or an aggregate is made of the whole row."""
        whole = any(i.of is None and not isinstance(a, Count) for _, a, i in self.aggregates)
        return whole or super().needs_whole_rows

    @property
    def state_types(self) -> tuple[str, ...]:
        """The types of its keys and of what it aggregates, and what is kept as a sketch."""
        sketches = (ApproxDistinct, ApproxQuantile)
        values = (
            f"{n} {i.of.type if i.of else 'row'}{' sketch' if isinstance(a, sketches) else ''}"
            for n, a, i in self.aggregates
        )
        return (*super().state_types, *values)

    @property
    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Those of its ``combine`` aggregates."""
        for _, aggregate, _ in self.aggregates:
            if isinstance(aggregate, Combine):
                for part in ("create", "add", "extract"):
                    yield f"{part} of {aggregate!r}", getattr(aggregate, part)

    def computing(self, port: Port) -> Iterator[Computed]:
        """The keys, and the values and orders of the aggregates."""
        yield from super().computing(port)
        if self.attribute is not None:
            yield Computed("attribute", str(self.windowing.where), self.attribute)
        for i, (_, aggregate, inputs) in enumerate(self.aggregates):
            for role, value in (("of", inputs.of), ("by", inputs.by)):
                if value is not None:
                    yield Computed(f"{role} {i}", str(aggregate), value)
