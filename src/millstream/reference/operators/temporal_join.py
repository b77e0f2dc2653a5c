"""The temporal join: all versions of each key are kept, and a row that waits reads them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.operators.two_sides import LEFT, RIGHT
from millstream.reference.computing import Compute
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.operators.pairs import late_side, pair
from millstream.reference.ordering import ordering
from millstream.reference.rows import Row, row_order


@dataclass(frozen=True, slots=True)
class _Version:
    time: int
    values: dict[str, Any]
    deleted: bool


class TemporalJoinOperator:
    """Versions by key, in the order in which the later one counts; and the rows that wait."""

    def __init__(self, node: TemporalJoin) -> None:
        self.node = node
        left, right = node.ports
        self._left, self._right = Keyed(node, left), Keyed(node, right)
        self._deleted: Compute = self._right.values.get("deleted", _never)
        self._versions: dict[Any, list[_Version]] = {}
        self._waiting: list[Row] = []
        self._watermark = self._output_watermark = START_OF_TIME

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """Takes versions and rows, then matches the rows whose time has passed."""
        closed = self._closed
        self._watermark = max(self._watermark, watermark)
        late, arrived = [], {}
        for side in (LEFT, RIGHT):
            in_order = sorted(rows[side], key=row_order)
            arrived[side] = [row for row in in_order if _time(row) >= closed]
            late += [late_side(self.node, row, side) for row in in_order if _time(row) < closed]
        with in_step(self.node.name):
            self._keep(arrived[RIGHT])
            waiting = sorted([*self._waiting, *arrived[LEFT]], key=row_order)
            made = [self._matched(row) for row in waiting if self._is_decided(_time(row))]
            self._waiting = [row for row in waiting if not self._is_decided(_time(row))]
        reached = min([self._watermark, *map(_time, self._waiting)])
        self._output_watermark = max(self._output_watermark, reached)
        pairs = [row for row in made if row is not None]
        return Output({ROWS: pairs, "late": late}, self._output_watermark)

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def _closed(self) -> int:
        """The time before which nothing is accepted any more."""
        if self._watermark >= END_OF_TIME:
            return END_OF_TIME
        return max(self._watermark - self.node.grace, START_OF_TIME)

    def _is_decided(self, time: int) -> bool:
        """Whether all versions that a row may meet have arrived."""
        if self.node.direction == "backward":
            return time < self._closed
        if self.node.tolerance is None or self._closed == END_OF_TIME:
            return self._closed == END_OF_TIME
        return time + self.node.tolerance < self._closed

    def _keep(self, rows: list[Row]) -> None:
        """Adds versions; then a retraction removes the newest version that is equal to it."""
        for row in rows:
            if row.kind == "+":
                version = _Version(_time(row), row.values, bool(self._deleted(row.values)))
                versions = self._versions.setdefault(ordering(self._right.key(row.values)), [])
                versions.append(version)
                versions.sort(key=lambda each: each.time)
        for row in rows:
            if row.kind == "-":
                versions = self._versions.get(ordering(self._right.key(row.values)), [])
                equal = [i for i, each in enumerate(versions) if self._is_of(each, row)]
                if equal:
                    del versions[equal[-1]]

    def _is_of(self, version: _Version, row: Row) -> bool:
        names = [column.right for column in self.node.columns if column.right is not None]
        of_row, own = ([values[n] for n in names] for values in (row.values, version.values))
        return version.time == row.time and ordering(of_row) == ordering(own)

    def _matched(self, row: Row) -> Row | None:
        key = self._left.key(row.values)
        versions = [] if None in key else self._versions.get(ordering(key), [])
        found = self._found(_time(row), versions)
        if found is None and self.node.how == "inner":
            return None
        return pair(self.node, row, None if found is None else found.values)

    def _found(self, time: int, versions: list[_Version]) -> _Version | None:
        """The version that a row of that time meets."""
        last = {version.time: version for version in versions}  # of one time, the last counts
        within = self.node.tolerance
        before = [version for at, version in last.items() if at <= time]
        after = [v for at, v in last.items() if at >= time and not v.deleted]
        valid = before[-1:] if before and not before[-1].deleted else []
        direction = self.node.direction
        near = [*(valid if direction != "forward" else []), *after[: direction != "backward"]]
        near = [v for v in near if within is None or abs(v.time - time) <= within]
        return min(near, key=lambda version: abs(version.time - time), default=None)


def _never(values: Mapping[str, Any]) -> bool:
    return False


def _time(row: Row) -> int:
    assert row.time is not None
    return row.time
