"""A step with several outputs: each row goes to the first whose condition is true."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.nodes import Line, WithColumns
from millstream.plan.sql.expressions import Expression

Outputs = tuple[tuple[str, Expression | None], ...]
"""The name of each output and its condition; the one without takes the rest."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Branch(WithColumns):
    """Adds a column: the name of the output that takes the row, null if none does.

    So each condition is computed once, and at most until one is true. An output is a filter on that
    column, and leaves it out. To all that runs a program, this is a ``WithColumns``.
    """

    outputs: Outputs

    @property
    def column(self) -> str:
        """The name of the column."""
        ((name, _),) = self.columns
        return name

    @property
    def details(self) -> list[Line]:
        """The condition of each output."""
        return [(name, "the rest" if c is None else c.text) for name, c in self.outputs]
