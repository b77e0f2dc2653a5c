"""A step that looks rows up in a table: the description of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from millstream.plan.nodes import Function, Line
from millstream.plan.types.schema import Field, Schema

Missing = Literal["null", "drop"]
"""What becomes of a row whose key is not in the table: it gets nulls, or is dropped."""

TableFormat = Literal["csv", "json", "parquet"]
Reload = int | Literal["change"] | None
"""When files are read again: so many microseconds after the last time, or if one changes."""

LookupKey = tuple[Any, ...]
Find = Callable[[list[LookupKey]], dict[LookupKey, dict[str, Any]]]
"""The rows of a table that have these keys."""


class OpenTable(Protocol):
    """A table that is read, in one process."""

    def at(self, now: int) -> Find:
        """The table as a batch of that clock time sees it."""


class LookupTable(Protocol):
    """What a table is made of. It is sent to workers, so it must be possible to pickle it.

    ``schema`` has the columns of the rows that are found, without the keys.
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def changes(self) -> bool:
        """Whether one key may have different rows at different times."""

    def open(self) -> OpenTable:
        """Makes it ready to be read."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Function):
    """Adds the columns of the row of a table that has the row's key.

    To all but what runs it, this is a function of rows: it keeps their order, times and kinds.
    """

    table: LookupTable
    on: tuple[str, ...]
    """The columns of the row that are its key."""
    columns: tuple[tuple[str, Field], ...]
    """The columns of the table, and what they are called here."""
    missing: Missing

    @property
    def details(self) -> list[Line]:
        """What is looked up where."""
        fate = "is dropped" if self.missing == "drop" else "gets nulls"
        return [("in", str(self.table)), ("by", ", ".join(self.on)), ("missing", f"a row {fate}")]
