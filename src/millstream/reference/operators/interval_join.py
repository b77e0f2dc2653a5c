"""An interval join: the result of all rows that have come, compared with the one before a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan.lineage import kind_column
from millstream.plan.operators.interval_join import IntervalJoin, Side
from millstream.plan.operators.two_sides import LEFT, RIGHT
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.operators.pairs import late_side, pair_condition, pair_values
from millstream.reference.ordering import ordering
from millstream.reference.rows import Row

_Identity = tuple[Any, int]
"""The ordering of a row's values, which is hashable, and its event time."""


class IntervalJoinOperator:
    """Every row of both sides, for ever. What a step emits is what it changes of the result."""

    def __init__(self, node: IntervalJoin) -> None:
        self.node = node
        self._keyed = {port.name: Keyed(node, port) for port in node.ports}
        self._kinds = {port.name: kind_column(port.input) for port in node.ports}
        self._sides = dict(zip((LEFT, RIGHT), node.sides, strict=True))
        self._rows: dict[str, dict[_Identity, Row]] = {LEFT: {}, RIGHT: {}}
        self._counts: dict[str, Counter[_Identity]] = {LEFT: Counter(), RIGHT: Counter()}
        self._where = pair_condition(node, node.where)
        self._watermark = self._output_watermark = START_OF_TIME

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """What is taken back of the result, and what is new in it."""
        late: list[Row] = []
        with in_step(self.node.name):
            before, known = self._result()
            for side in (LEFT, RIGHT):
                for row in rows[side]:
                    assert row.time is not None
                    if row.time < self._watermark:
                        late.append(late_side(self.node, row, side))
                    else:
                        self._take(side, row)
            self._watermark = max(self._watermark, watermark)
            after, made = self._result()
        known |= made
        emitted = [self._emitted(known[each], "-") for each in (before - after).elements()]
        emitted += [self._emitted(known[each], "+") for each in (after - before).elements()]
        reached = min([self._watermark, *self._undecided()])
        self._output_watermark = max(self._output_watermark, reached)
        return Output({ROWS: emitted, "late": late}, self._output_watermark)

    def close(self) -> None:
        """Nothing is held open."""

    def _take(self, side: str, row: Row) -> None:
        kind = self._kinds[side]
        if kind is not None:  # a retraction must equal the row that it takes back
            row = replace(row, values={**row.values, kind: "+"})
        assert row.time is not None
        identity = ordering(row.values), row.time
        self._rows[side][identity] = row
        self._counts[side][identity] += 1 if row.kind == "+" else -1

    def _there(self, side: str) -> Iterator[tuple[_Identity, Row, int]]:
        """The rows of a side, and how many times each is there."""
        for identity, count in self._counts[side].items():
            if count > 0:
                yield identity, self._rows[side][identity], count

    def _result(self) -> tuple[Counter[Any], dict[Any, Row]]:
        """All results, each as often as it is there: pairs, and rows by themselves."""
        counts: Counter[Any] = Counter()
        rows: dict[Any, Row] = {}
        met: dict[str, set[_Identity]] = {LEFT: set(), RIGHT: set()}
        rights: dict[Any, list[tuple[_Identity, Row, int]]] = {}
        for each in self._there(RIGHT):
            rights.setdefault(self._key(RIGHT, each[1]), []).append(each)
        for mine, left, many in self._there(LEFT):
            for other, right, times in rights.get(self._key(LEFT, left), ()):
                if self._meet(left, right):
                    met[LEFT].add(mine)
                    met[RIGHT].add(other)
                    if self.node.emits_pairs:
                        counts[mine, other] = many * times
                        rows[mine, other] = self._pair(left, right)
        for number, (name, side) in enumerate(self._sides.items()):
            for identity, row, count in self._there(name):
                if self._is_alone(side, row, identity in met[name]):
                    key = (number, identity)
                    counts[key], rows[key] = count, self._alone(name, row)
        return counts, rows

    def _key(self, side: str, row: Row) -> Any:
        """The key of a row, hashable; the row's own identity if a part of it is null."""
        key = self._keyed[side].key(row.values)
        return (side, id(row)) if any(part is None for part in key) else ordering(key)

    def _meet(self, left: Row, right: Row) -> bool:
        """Whether rows with equal keys meet."""
        assert left.time is not None
        assert right.time is not None
        if not self.node.earliest <= right.time - left.time <= self.node.latest:
            return False
        values = pair_values(self.node, left.values, right.values)
        return self._where is None or self._where(values) is True

    def _is_alone(self, side: Side, row: Row, is_met: bool) -> bool:
        if side.alone is None or side.alone == "matched":
            return side.alone is not None and is_met
        return not is_met and (self.node.at_once or self._is_decided(side, row))

    def _is_decided(self, side: Side, row: Row) -> bool:
        assert row.time is not None
        return row.time + side.latest < self._watermark

    def _undecided(self) -> Iterator[int]:
        """The times of rows that may yet be emitted, or taken back, by themselves."""
        for name, side in self._sides.items():
            if side.alone is not None:
                for _, row, _ in self._there(name):
                    key = self._keyed[name].key(row.values)
                    counts = side.alone != "matched" or not any(part is None for part in key)
                    if counts and not self._is_decided(side, row):
                        assert row.time is not None
                        yield row.time

    def _pair(self, left: Row, right: Row) -> Row:
        assert left.time is not None
        assert right.time is not None
        values = pair_values(self.node, left.values, right.values)
        return Row(values, max(left.time, right.time))

    def _alone(self, side: str, row: Row) -> Row:
        sides = (row.values, None) if side == LEFT else (None, row.values)
        values = pair_values(self.node, *sides)
        shown = {name: value for name, value in values.items() if self.node.schema.find(name)}
        return Row(shown, row.time)

    def _emitted(self, row: Row, kind: Any) -> Row:
        marked = {**row.values, "kind": kind} if self.node.retracts else dict(row.values)
        return Row(marked, row.time, kind)
