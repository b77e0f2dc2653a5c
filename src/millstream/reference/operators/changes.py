"""The changes of each key: what it remembers is the last row's values in the columns watched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan.operators.changes import Changes
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.ordering import ordering
from millstream.reference.rows import Row, row_order


class ChangesOperator:
    """The last values of each key. Keys and values are held by their ordering, which is hashable
    and treats equal ones alike.
    """

    def __init__(self, node: Changes) -> None:
        self.node = node
        (self._port,) = node.ports
        self._keyed = Keyed(node, self._port)
        self._last: dict[Any, Any] = {}
        self._watermark = START_OF_TIME

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """The rows that differ from the one before: by event time, then by their places."""
        self._watermark = max(self._watermark, watermark)
        with in_step(self.node.name):
            changed = list(filter(self._differs, sorted(rows[self._port.name], key=row_order)))
        return Output({ROWS: changed}, self._watermark)

    def close(self) -> None:
        """Nothing is held open."""

    def _differs(self, row: Row) -> bool:
        key = ordering(self._keyed.key(row.values))
        values = ordering([row.values[name] for name in self.node.columns])
        before, self._last[key] = self._last.get(key), values
        return before != values
