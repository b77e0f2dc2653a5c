"""The pages of large lists, dicts and sets in the state of keys, as tables.

A key has a column ``large …`` for each field that may be in pages: where they are, if they are. The
column of the field itself is then null. A page is a table with a column ``item``, or for a dict
``number``, ``key`` and ``item``, for a set without the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.operator import BucketName, PageName, Pages
from millstream.engine.python_rows import python_columns
from millstream.engine.types import arrow_type
from millstream.plan.operators.process import Processing
from millstream.plan.types.fields import Elements, StateField
from millstream.reference import paged
from millstream.reference.paged import Page, Paged
from millstream.reference.state_values import whole
from millstream.reference.turns import Held

_PLACE = ("id", "size", "begin", "end", "pages")
_PLACES = pl.Struct(dict.fromkeys(_PLACE, pl.Int64))


@dataclass(frozen=True)
class StoredPages:
    """The pages of a step: what reads those that are stored, and the first id that is free."""

    pages: Pages
    free: int

    def of(self, each: StateField, bucket: BucketName, place: Mapping[str, int]) -> Paged:
        """The value of a field that is in pages."""
        assert each.elements is not None
        read = _Reading(self.pages, bucket, each, place["id"])
        return Paged(read=read, **{name: place[name] for name in _PLACE})  # type: ignore[arg-type]


class PagedFields:
    """The fields of a processor's state that may be in pages."""

    def __init__(self, what: Processing) -> None:
        fields = () if what.state is None else what.state.fields
        self.fields = {i: f for i, f in enumerate(fields) if f.elements is not None}

    def stored(self, keys: pl.DataFrame | None, pages: Pages | None) -> StoredPages | None:
        """What reads the pages of these keys, which are all of some buckets."""
        if pages is None:
            return None
        columns = (
            []
            if keys is None
            else [name for name in map(_large, self.fields.values()) if name in keys.columns]
        )
        free = 0
        if keys is not None and columns:
            ids = [keys[name].struct.field("id").max() for name in columns]
            free = max((int(each) + 1 for each in ids if isinstance(each, int)), default=0)
        return StoredPages(pages, free)

    def read(self, keys: pl.DataFrame, stored: StoredPages | None) -> dict[int, dict[int, Paged]]:
        """The values that are in pages, by field and by row of the table."""
        found: dict[int, dict[int, Paged]] = {}
        for index, each in self.fields.items():
            if _large(each) not in keys.columns:
                continue
            column = keys[_large(each)]
            if column.null_count() == column.len():
                continue
            assert stored is not None
            buckets = keys["bucket"].to_list()
            found[index] = {
                row: stored.of(each, (buckets[row],), place)
                for row, place in enumerate(column.to_list())
                if place is not None
            }
        return found

    def whole(self, keys: pl.DataFrame, stored: StoredPages | None) -> tuple[pl.DataFrame, Any]:
        """Keys with all values in their columns; and the pages, which are then to be removed."""
        removed: dict[PageName, None] = {}
        for index, values in self.read(keys, stored).items():
            each = self.fields[index]
            column = python_columns(keys.select(f"field {each.name}"))[0]
            for row, value in values.items():
                column[row] = each.keep(whole(value, each))
                bucket = (keys["bucket"][row],)
                removed |= {(bucket, _name(each, value.id, n)): None for n in value.numbers}
            made = pl.Series(pl.from_arrow(pa.array(column, arrow_type(each.type))))
            keys = keys.with_columns(made.alias(f"field {each.name}")).drop(_large(each))
        return keys, removed


class PagedTurn:
    """The values in pages of the keys that have a turn: those before it, and those after it."""

    def __init__(self, fields: PagedFields, stored: StoredPages | None) -> None:
        self._fields = fields.fields
        self._stored = stored
        self._free = 0 if stored is None else stored.free
        self._before: dict[tuple[int, int], Paged] = {}
        self.changed: dict[PageName, pl.DataFrame | None] = {}

    def note(self, slot: int, index: int, value: Paged) -> None:
        """A value that was read."""
        self._before[slot, index] = value

    def columns(
        self, slots: pl.DataFrame, held: dict[int, Held]
    ) -> dict[int, tuple[list[Any], pl.Series]]:
        """For fields with values in pages: the values of the field's own column, and where those
        in pages are. ``held`` is by slot. All that has changed is in ``changed``.
        """
        if self._stored is None or not self._fields:
            return {}
        made, buckets = {}, slots["bucket"].to_list()
        for index, each in self._fields.items():
            values, places = [], []
            for slot, kept in held.items():
                value, place = self._placed(slot, index, kept.values[index], (buckets[slot],))
                values.append(value)
                places.append(place)
            if any(place is not None for place in places):
                made[index] = (values, pl.Series(_large(each), places, _PLACES))
        for (slot, index), value in self._before.items():
            self._remove(index, (buckets[slot],), value, range(0))
        return made

    def _placed(
        self, slot: int, index: int, value: Any, bucket: BucketName
    ) -> tuple[Any, dict[str, int] | None]:
        """The value for the column, or where its pages are; these are then written."""
        each = self._fields[index]
        if not isinstance(value, Paged):
            if value is None or len(value) <= paged.LARGE:
                return value, None
            assert each.elements is not None
            value = paged.paged(value, each.elements)
        before = self._before.get((slot, index))
        if before is not None and before.id == value.id:
            del self._before[slot, index]
            self._remove(index, bucket, before, value.numbers)
        else:
            value, self._free = replace(value, id=self._free), self._free + 1
        for number, page in value.changed.items():
            if number in value.numbers:
                self.changed[bucket, _name(each, value.id, number)] = _table(page, each)
        return None, {name: getattr(value, name) for name in _PLACE}

    def _remove(self, index: int, bucket: BucketName, value: Paged, kept: range) -> None:
        """Removes the pages of a value, except for some."""
        numbers = value.numbers
        first, last = (kept.start, kept.stop) if kept else (numbers.stop, numbers.stop)
        for gone in (range(numbers.start, min(first, numbers.stop)), range(last, numbers.stop)):
            for number in gone:
                self.changed[bucket, _name(self._fields[index], value.id, number)] = None


@dataclass
class _Reading:
    """Reads the pages of one value, each once."""

    pages: Pages
    bucket: BucketName
    field: StateField
    id: int

    def __post_init__(self) -> None:
        self._known: dict[int, Page] = {}

    def __call__(self, number: int) -> Page:
        if number not in self._known:
            table = self.pages.read(self.bucket, _name(self.field, self.id, number))
            self._known[number] = _page(table, self.field.elements)
        return self._known[number]


def _large(each: StateField) -> str:
    return f"large {each.name}"


def _name(each: StateField, id: int | None, number: int) -> str:
    """The name of a page among the tables of its bucket."""
    return f"{each.name}.{id}.{number}"


def _page(table: pl.DataFrame, elements: Elements | None) -> Page:
    assert elements is not None
    columns = dict(zip(table.columns, python_columns(table), strict=True))
    if elements.kind == "list":
        return columns["item"]
    items = columns.get("item") or [None] * table.height
    entries = zip(columns["number"], items, strict=True)
    return dict(zip(columns["key"], entries, strict=True))


def _table(page: Page, each: StateField) -> pl.DataFrame:
    elements = each.elements
    assert elements is not None
    if elements.kind == "list":
        return _frame({"item": (page, elements.item)})
    columns: dict[str, tuple[list[Any], str | None]] = {
        "number": ([number for number, _ in page.values()], "BIGINT"),
        "key": ([*page], elements.key),
    }
    if elements.item is not None:
        columns["item"] = ([value for _, value in page.values()], elements.item)
    return _frame(columns)


def _frame(columns: dict[str, tuple[list[Any], str | None]]) -> pl.DataFrame:
    arrays = {
        name: pa.array(values, arrow_type(str(type))) for name, (values, type) in columns.items()
    }
    made = pl.from_arrow(pa.table(arrays))
    assert isinstance(made, pl.DataFrame)
    return made
