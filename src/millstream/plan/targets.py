"""Where the rows of a sink go: descriptions, which travel to whoever writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

FileFormat = Literal["parquet", "json", "csv", "text"]
FileMode = Literal["append", "overwrite", "error"]
ChangeFormat = Literal["changelog", "upsert"]
Delivery = Literal["exactly_once", "at_least_once"]
Columns = str | tuple[str, ...]
"""One column as it is, or several as a JSON object."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go. ``kind`` is what the sink is called in the language of the API."""

    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Table:
    """How rows make up a table: a row replaces the one before it with the same values in ``by``.

    If rows may be taken back, the column ``kind`` marks them.
    """

    by: tuple[str, ...]
    kind: str | None


@dataclass(frozen=True, slots=True)
class Memory(Target):
    """The job keeps the rows, to hand them out: all of them, or those of the ``table``."""

    kind: ClassVar[str] = "collect"

    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Files(Target):
    """A folder; each row is written there exactly once.

    Rows that are equal in ``partition_by`` are in a folder of their own below it. ``mode`` is
    what a run that writes everything anew does with earlier results: without one, it is refused.
    """

    kind: ClassVar[str] = "write_files"

    path: str
    format: FileFormat
    options: tuple[tuple[str, str], ...] = ()
    partition_by: tuple[str, ...] = ()
    mode: FileMode | None = None


@dataclass(frozen=True, slots=True)
class Kafka(Target):
    """A topic. A key or value is a column as it is, or several columns as a JSON object.

    Retractions are records of their own in a ``changelog``, which marks them by a header; under
    ``upsert`` they are tombstones, unless something new comes in their place. There are some only
    if the stream ``retracts``; else a column ``kind`` is one like any other.
    """

    kind: ClassVar[str] = "write_kafka"

    topic: str
    key: Columns | None
    value: Columns
    headers: tuple[tuple[str, str], ...]
    partition_by: Columns | None
    changes: ChangeFormat
    retracts: bool
    delivery: Delivery
    servers: str | None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may be secret


@dataclass(frozen=True, slots=True)
class Console(Target):
    """Standard output; of a batch or ``table`` with more than ``limit`` rows only the first.

    Where the stream ``retracts``, the column ``kind`` marks rows that take back others.
    """

    kind: ClassVar[str] = "write_console"

    limit: int
    retracts: bool = False
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Each(Target):
    """A function of the user, called with rows, the number of the batch and that of the slice.

    With a ``table`` that is all of its rows, whenever a batch has changed it, as slice 0.
    """

    kind: ClassVar[str] = "write_each"

    function: Callable[[Any, int, int], Any]
    table: Table | None = None
