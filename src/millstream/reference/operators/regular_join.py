"""The regular join: all rows of both sides are kept, and a key that changes is joined anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan.lineage import kind_column
from millstream.plan.operators.regular_join import RegularJoin
from millstream.plan.operators.two_sides import LEFT, RIGHT
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.operators.pairs import (
    late_side,
    not_there,
    pair_condition,
    pair_values,
)
from millstream.reference.ordering import ordering
from millstream.reference.rows import Row, row_order

_Id = tuple[int, Any]
"""The time of a row, and the ordering of its values."""
_Pair = tuple[_Id | None, _Id | None]


class RegularJoinOperator:
    """The rows of each key and side, with how many there are of each."""

    def __init__(self, node: RegularJoin) -> None:
        self.node = node
        self._keyed = {port.name: Keyed(node, port) for port in node.ports}
        self._columns = {
            port.name: [n for n in port.input.schema.names if n != kind_column(port.input)]
            for port in node.ports
        }
        self._where = pair_condition(node, node.where)
        self._rows: dict[Any, dict[str, Counter[_Id]]] = {}
        self._values: dict[tuple[str, Any], dict[str, Any]] = {}
        self._watermark = START_OF_TIME

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """Takes the rows of both sides; emits how the joins of their keys have changed."""
        closed = START_OF_TIME
        if self.node.ttl is not None and self._watermark > START_OF_TIME:
            closed = max(self._watermark - self.node.ttl, START_OF_TIME)
        late: list[Row] = []
        made: list[Row] = []
        arrived: dict[Any, list[tuple[str, Row]]] = {}
        with in_step(self.node.name):
            for side in (LEFT, RIGHT):
                for row in sorted(rows[side], key=row_order):
                    key = self._keyed[side].key(row.values)
                    if _time(row) < closed:
                        late.append(late_side(self.node, row, side))
                    elif None in key:
                        made += self._alone(side, row)
                    else:
                        arrived.setdefault(ordering(key), []).append((side, row))
            for key, some in arrived.items():
                made += self._changed(key, some)
        self._watermark = max(self._watermark, watermark)
        return Output({ROWS: made, "late": late}, self._watermark)

    def close(self) -> None:
        """Nothing is held open."""

    def _alone(self, side: str, row: Row) -> Iterator[Row]:
        """A row that meets nothing, and is not kept."""
        sides = {LEFT: Counter[_Id](), RIGHT: Counter[_Id]()}
        sides[side][self._place(side, row)] += 1
        for left, right in self._joined(sides):
            yield self._row(left, right, row.kind)

    def _changed(self, key: Any, arrived: list[tuple[str, Row]]) -> Iterator[Row]:
        """How the join of a key changes by some rows."""
        sides = self._rows.setdefault(key, {LEFT: Counter(), RIGHT: Counter()})
        before = self._joined(sides)
        for side, row in arrived:
            sides[side][self._place(side, row)] += 1 if row.kind == "+" else -1
        if any(n < 0 for some in sides.values() for n in some.values()):
            raise not_there(self.node.name)
        after = self._joined(sides)
        after.subtract(before)
        for (left, right), count in sorted(after.items(), key=lambda each: each[1] > 0):
            for _ in range(abs(count)):
                yield self._row(left, right, "+" if count > 0 else "-")

    def _place(self, side: str, row: Row) -> _Id:
        values = [row.values[name] for name in self._columns[side]]
        place = _time(row), ordering(values)
        self._values[side, place] = row.values
        return place

    def _joined(self, sides: dict[str, Counter[_Id]]) -> Counter[_Pair]:
        """What the join of a key is, with how many there are of each pair."""
        how, pairs = self.node.how, Counter[_Pair]()
        matched: dict[str, set[_Id]] = {LEFT: set(), RIGHT: set()}
        for left, n in sides[LEFT].items():
            for right, m in sides[RIGHT].items():
                if n and m and self._meet(left, right):
                    pairs[left, right] += n * m
                    matched[LEFT].add(left)
                    matched[RIGHT].add(right)
        lefts = sides[LEFT].items()
        alone: Counter[_Pair] = Counter(
            {(row, None): n for row, n in lefts if row not in matched[LEFT]}
        )
        if how == "semi":
            return Counter[_Pair]({(row, None): n for row, n in lefts if row in matched[LEFT]})
        if how == "anti":
            return alone
        if how in ("left", "full"):
            pairs += alone
        if how in ("right", "full"):
            others = sides[RIGHT].items()
            pairs += Counter({(None, row): n for row, n in others if row not in matched[RIGHT]})
        return pairs

    def _meet(self, left: _Id, right: _Id) -> bool:
        """Whether rows with equal keys meet."""
        if self.node.ttl is not None and abs(left[0] - right[0]) > self.node.ttl:
            return False
        if self._where is None:
            return True
        both = self._values[LEFT, left], self._values[RIGHT, right]
        return self._where(pair_values(self.node, *both)) is True

    def _row(self, left: _Id | None, right: _Id | None, kind: Any) -> Row:
        one = None if left is None else self._values[LEFT, left]
        other = None if right is None else self._values[RIGHT, right]
        made = pair_values(self.node, one, other)
        values = {name: value for name, value in made.items() if self.node.schema.find(name)}
        if self.node.retracts:
            values["kind"] = kind
        time = max(place[0] for place in (left, right) if place is not None)
        return Row(values, None if time == START_OF_TIME + 1 else time, kind)


def _time(row: Row) -> int:
    return START_OF_TIME + 1 if row.time is None else row.time
