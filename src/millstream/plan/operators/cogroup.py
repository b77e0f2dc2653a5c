"""The cogroup: rows of several streams by key and window; a join in windows is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from millstream.plan.build.join_sides import How, JoinedColumns
from millstream.plan.explain.words import keys_text
from millstream.plan.nodes import Computed, Line, Port
from millstream.plan.operators.windowed import Windowed
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.result_types import struct_type
from millstream.plan.types.schema import Field, Schema, quoted


@dataclass(frozen=True, eq=False)
class Cogroup(Windowed):
    """Groups the rows of each port by key and window: a list of rows for each port in each pane."""

    kind: ClassVar[str] = "cogroup"

    attributes: tuple[tuple[str, Expression], ...] = ()
    """What the windows of a port's rows depend on besides their order, if they do."""

    @property
    def details(self) -> list[Line]:
        """What is grouped by which keys, and the answers to the other questions."""
        return [*self._keys, ("what", self._what), *self.windowing_details]

    @property
    def _keys(self) -> list[Line]:
        texts = {keys_text(port.keys): None for port in self.ports}
        if len(texts) == 1:
            return [("key", next(iter(texts)) or "none: one group for everything")]
        return [(f"key of {port.name}", keys_text(port.keys)) for port in self.ports]

    @property
    def _what(self) -> str:
        return f"all rows of {', '.join(quoted(port.name) for port in self.ports)}"

    @property
    def rows_of_ports(self) -> Schema:
        """A column for the rows of each port, as in the late output."""
        return Schema(tuple(Field(p.name, struct_type(p.input.schema)) for p in self.ports))

    @property
    def needs_whole_rows(self) -> bool:
        """It emits rows with all of their columns."""
        return True

    @property
    def state_types(self) -> tuple[str, ...]:
        """The types of its keys, and the columns of its rows."""
        return (*super().state_types, *(f"{p.name}: {p.input.schema}" for p in self.ports))

    def computing(self, port: Port) -> Iterator[Computed]:
        """The keys, and what windows depend on."""
        yield from super().computing(port)
        for name, attribute in self.attributes:
            if name == port.name:
                yield Computed("attribute", str(self.windowing.where), attribute)


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowJoin(Cogroup):
    """The pairs of rows of two ports, ``left`` and ``right``, in each pane of a cogroup.

    Keys that are null match nothing. ``condition`` is computed of a pair; ``inner`` has none, for
    there a filter after the join does the same.
    """

    kind: ClassVar[str] = "join"

    join: How
    columns: JoinedColumns
    condition: Expression | None = None

    @property
    def _what(self) -> str:
        where = "" if self.condition is None else f" where {self.condition.text}"
        return f"{self.join} join{where}"
