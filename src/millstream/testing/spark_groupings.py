"""Replays groupings of any Python values on Spark, as programs over columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from millstream.model.aggregates import Aggregate, Collect
from millstream.model.errors import RunError
from millstream.model.ordered_windows import Ordered
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, Step
from millstream.model.watermarks import ascending
from millstream.model.windowing import Windowing
from millstream.model.windows import fixed
from millstream.plan.types.values import MisfitError
from millstream.reference.ordering import ordering
from millstream.sources import test_stream
from millstream.spark.sources.type_names import type_name
from millstream.stream import Stream
from millstream.testing.groupings import Summary, shown
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.panes import Panes
from millstream.testing.pipelines import checked_grouping
from millstream.testing.untyped import UntypedColumn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Script:
    """A grouping, and its steps. Keys and values that are no columns travel as numbers."""

    windowing: Windowing
    steps: Sequence[Step]
    summary: Summary
    _keys: list[Any] = field(default_factory=list, init=False)
    _values: list[Any] = field(default_factory=list, init=False)

    def program(self, sources: dict[str, Stream], number: int) -> Program:
        """The same as a program over a source of columns.

        Those of one type of values are branches of one source: it takes ``number`` to tell rows.
        """
        steps = list(self._as_rows(number))
        schema = "script int, key bigint, number bigint, at timestamp"
        aggregate: Aggregate = Collect("number")
        if self._reads_values:
            schema += f", value {self._type()}"
        if isinstance(self.summary, Aggregate):
            aggregate = replace(self.summary, of=self.summary.of or "value")
        source = sources.setdefault(schema, test_stream(schema, name=schema))
        mine = source.flat_map(partial(_of_script, number), schema=schema)
        # Steps move the watermark; the policy makes it one of this branch alone.
        keyed = mine.with_event_time("at", ascending(ahead=None)).key_by("key")
        # A replay takes windowings that a program may not have: they are not checked.
        where = self.windowing.where
        checked = keyed.window(where if where.ordered else fixed(1)).refine(self.windowing.refine)
        checked = checked.aggregate(result=aggregate)
        return Program(replace(checked_grouping(checked.node), windowing=self.windowing), steps)

    def given(self, panes: Panes) -> Panes:
        """The panes, with the keys and values that were given."""
        late = [self._late(element) for element in panes.late]
        return Panes([self._pane(pane) for pane in panes], late)

    def _as_rows(self, script: int) -> Iterator[Step]:
        self._values = []
        elements = [step for step in self.steps if isinstance(step, Elements)]
        keys = {ordering(key): key for step in elements for key, _, _ in step.triples()}
        numbers = {place: number for number, place in enumerate(sorted(keys))}
        self._keys = [keys[place] for place in numbers]
        for step in self.steps:
            if not isinstance(step, Elements):
                yield step
                continue
            rows = []
            for key, value, time in step.triples():
                at = _EPOCH + timedelta(microseconds=time)
                place = {"script": script, "number": len(self._values)}
                row = {**place, "key": numbers[ordering(key)], "at": at, **self._value(value)}
                rows.append(row)
                self._values.append(value)
            yield Elements(rows)

    def _value(self, value: Any) -> dict[str, Any]:
        return {"value": value} if self._reads_values else {}

    @property
    def _reads_values(self) -> bool:
        where = self.windowing.where
        by_value = isinstance(where, Ordered) and where.attribute is not None
        return by_value or isinstance(self.summary, Aggregate)

    def _type(self) -> str:
        """The type of the values, if one holds them all."""
        try:
            column = UntypedColumn("value").of(self._values)
        except MisfitError as error:
            raise RunError(
                "MS202",
                f"{self.summary!r}: {error}",
                fix="give values of one type, or replay them on the reference, which takes any",
            ) from None
        known = any(value is not None for value in self._values)
        return type_name(column.to_arrow().type) if known else "INT"

    def _pane(self, pane: Pane) -> Pane:
        values = shown(pane.values, self.summary, self._values)
        return replace(pane, key=self._keys[pane.key], values=values)

    def _late(self, late: LateElement) -> LateElement:
        value = self._values[late.value["number"]]
        return replace(late, key=self._keys[late.key], value=value, grouping=None)


def _of_script(number: int, row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row] if row["script"] == number else []


def replay_scripts(scripts: Sequence[Script]) -> list[Panes]:
    """The panes of each grouping; all share one query."""
    sources: dict[str, Stream] = {}
    programs = [script.program(sources, number) for number, script in enumerate(scripts)]
    made = replay_programs(programs)
    return [script.given(panes) for script, panes in zip(scripts, made, strict=True)]
