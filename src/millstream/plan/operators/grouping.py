"""The grouping: rows by key and window, and an aggregate of each pane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.model.aggregates import Aggregate, ApproxDistinct, ApproxQuantile, Combine, Count
from millstream.plan.explain.words import keys_text
from millstream.plan.nodes import Computed, Line, Port
from millstream.plan.operators.one_port import OnePort
from millstream.plan.operators.windowed import Windowed
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import quoted


@dataclass(frozen=True, slots=True)
class AggregateInputs:
    """The checked expressions of an aggregate: its value (None: the whole row) and its order."""

    of: Expression | None
    by: Expression | None = None


@dataclass(frozen=True, eq=False)
class Grouping(Windowed, OnePort):
    """Groups by key and window, and aggregates each pane."""

    kind: ClassVar[str] = "aggregate"

    aggregates: tuple[tuple[str, Aggregate, AggregateInputs], ...]
    attribute: Expression | None = None
    """What the windows of rows depend on besides their order, if they do."""

    @property
    def details(self) -> list[Line]:
        """The answers to the four questions."""
        what = (f"{quoted(name)} = {aggregate!r}" for name, aggregate, _ in self.aggregates)
        return [
            ("key", keys_text(self.keys) or "none: one group for everything"),
            ("what", ", ".join(what)),
            *self.windowing_details,
        ]

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
