"""All SQL of a program as one text, by whose lines an error of Spark leads back to its step.

Spark's errors tell at which line of its text an expression failed. Each expression is given to
Spark with as many empty lines before it as there are lines of others.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.plan.nodes import Node
from millstream.plan.sql.failures import Sql, sql_of

_FIRST = 100  # before it are the lines of SQL in PySpark Columns that a user has made


class Listing:
    """The expressions of some steps, each at lines of its own."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.all = [sql for node in dict.fromkeys(nodes) for sql in sql_of(node)]
        self._lines: dict[int, Sql] = {}
        self._starts: dict[tuple[Node, str, str], int] = {}
        line = _FIRST
        for sql in self.all:
            self._starts[sql.node, sql.port, sql.name] = line
            for _ in range(sql.expression.text.count("\n") + 1):
                self._lines[line] = sql
                line += 1

    def column(self, node: Node, name: str, port: str = "") -> Column:
        """An expression of a step, or of an operator's port, as a Column of Spark."""
        start = self._starts[node, port, name]
        expression = self._lines[start].expression
        if expression.column is not None:
            return expression.column  # type: ignore[no-any-return] # a user's own
        return F.expr("\n" * (start - 1) + expression.text)

    def at(self, line: int) -> Sql | None:
        """The expression that a line is of; None: a user's own Column."""
        return self._lines.get(line)
