"""The whole result of a grouping, from the rows that it has emitted one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.plan.targets import Table


def remaining_rows(rows: Iterable[Mapping[str, Any]], table: Table) -> list[int]:
    """Which of the rows make up the table, in the order in which their places first appeared.

    >>> rows = [{"team": "red", "n": 1}, {"team": "blue", "n": 4}, {"team": "red", "n": 2}]
    >>> remaining_rows(rows, Table(("team",), None))
    [2, 1]
    >>> changes = [{"team": "red", "kind": "+"}, {"team": "red", "kind": "-"}]
    >>> remaining_rows(changes, Table(("team",), "kind"))
    []
    """
    places: dict[object, int] = {}
    for number, row in enumerate(rows):
        place = tuple(_hashable(row[name]) for name in table.by)
        if table.kind is not None and row[table.kind] == "-":
            places.pop(place, None)
        else:
            places[place] = number
    return list(places.values())


def _hashable(value: Any) -> object:
    if isinstance(value, Mapping):
        return tuple((name, _hashable(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return "NaN" if value != value else value
