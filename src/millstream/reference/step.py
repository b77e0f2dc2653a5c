"""What one step of a program made: the rows of every node."""

from __future__ import annotations

from typing import Any

from millstream.plan.nodes import Node, Stateful
from millstream.plan.records import record_text
from millstream.reference.rows import Row


class Step:
    """Rows of each node, rows of operators by tag, rejected records.

    ``ahead`` has the rows whose times are too far ahead of the clock, if there is one; ``marks``
    the watermarks that policies have made of the times of other rows; ``moved`` the nodes whose
    watermarks were moved by what the sources were given.
    """

    def __init__(self, clock: int | None = None) -> None:
        self.clock = clock
        self.ahead: dict[Node, list[Row]] = {}
        self.marks: dict[Node, int] = {}
        self.moved: set[Node] = set()
        self.rows: dict[Node, list[Row]] = {}
        self.tagged: dict[Stateful, dict[str, list[Row]]] = {}
        self.rejected: dict[Node, list[Row]] = {}

    def reject(self, node: Node, reason: str, record: Any) -> None:
        self.add_rejected(node, reason, record_text(record))

    def add_rejected(self, node: Node, reason: str, record: str) -> None:
        """Takes a rejected record as text."""
        values = {"step": node.name, "reason": reason, "record": record}
        self.rejected.setdefault(node, []).append(Row(values))
