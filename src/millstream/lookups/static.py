"""A table that does not change while a program runs: its rows are part of the program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from millstream.model.amounts import counted
from millstream.model.errors import RunError
from millstream.plan.lookup import Find, LookupKey
from millstream.plan.records import shown
from millstream.plan.types.schema import Schema

MOST_ROWS = 1_000_000
"""How many rows a table may have: every worker keeps all of them in memory."""


@dataclass(frozen=True)
class StaticTable:
    """Rows by key."""

    schema: Schema
    rows: dict[LookupKey, dict[str, Any]] = field(repr=False)
    changes = False

    def __str__(self) -> str:
        return f"a table of {counted(len(self.rows), 'row')}"

    def open(self) -> StaticTable:
        """It is ready."""
        return self

    def at(self, now: int) -> Find:
        """The same at any time."""
        return self.find

    def find(self, keys: list[LookupKey]) -> dict[LookupKey, dict[str, Any]]:
        """The rows of these keys."""
        return {key: self.rows[key] for key in keys if key in self.rows}


def by_key(
    rows: Iterable[dict[str, Any]], keys: tuple[str, ...], schema: Schema, what: str
) -> StaticTable:
    """The table of some rows; ``schema`` has the columns that are not keys.

    >>> by_key([{"id": 7, "name": "ann"}], ("id",), Schema.of("name string"), "it").rows
    {(7,): {'name': 'ann'}}
    """
    found: dict[LookupKey, dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        if key in found:
            named = ", ".join(f"{n} = {shown(v)}" for n, v in zip(keys, key, strict=True))
            raise RunError(
                "MS230",
                f"{what} has two rows of one key: {named}",
                fix="look up by more columns, on=[…], or leave one of the rows out",
            )
        if len(found) == MOST_ROWS:
            raise RunError(
                "MS230",
                f"{what} has more than {MOST_ROWS:,} rows, and each worker would keep all of them",
                fix="read it as a stream, and join that: .temporal_join(…) or .join(…). Or give a "
                "function that looks keys up where the table is",
            )
        found[key] = {name: row[name] for name in schema.names}
    return StaticTable(schema, found)
