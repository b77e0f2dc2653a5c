"""What an operator in columns is: a pure step over typed tables, and the facts that wake it.

The shard runtime (``state/``) knows operators by this protocol alone, and never by their kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import polars as pl

from millstream.engine.tables import concatenated
from millstream.model.instants import END_OF_TIME

ROWS = "rows"
"""The port of an operator that has only one, and the tag of its main output."""
LATE = "late"
"""The tag of rows that came too late."""
REJECTED = "rejected"
"""The tag of rows that could not be handled, each with the reason."""
NEW = "new"
"""A column of rows that were combined before the shuffle: how many rows each was made of."""
INDEX = "window_index"
"""A column that names a window of a key, where the order of rows makes windows."""

Tables = dict[str, pl.DataFrame]
"""The state of an operator: its tables by name. A shard keeps only tables that have rows."""
Outputs = defaultdict[str, list[pl.DataFrame]]
"""What a step emits, by tag."""
BucketName = tuple[int | None, ...]
"""The values that name a bucket: the bounds of a window, or the number of a part of the keys."""

PageName = tuple[BucketName, str]
"""Names a page: a table of a bucket that is read only when the operator asks for it."""

BUCKETS = 16
"""How many parts the keys of a shard are in, where buckets are parts of the keys."""
BY_KEY = ("bucket",)
"""The column that names the bucket of a row, where buckets are parts of the keys."""
BY_WINDOW = ("start", "end")
"""The columns that do, where a bucket is a window."""


class Facts(NamedTuple):
    """What a shard knows of a bucket without reading it.

    ``wakes`` is the watermark at which something happens in it, ``due`` the clock time at which
    something may; ``holds`` is the event time that the output watermark may not pass.
    """

    wakes: int = END_OF_TIME
    due: int | None = None
    holds: int | None = None


@dataclass(frozen=True, slots=True)
class Advance:
    """How far time moves in a step: the watermark and the clock, before and after it."""

    watermark_before: int
    watermark: int
    now_before: int
    now: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a step gives: the new state, rows by tag, and facts by bucket.

    ``pages`` are those that are new or have changed; None removes one. All others stay.
    """

    tables: Tables
    outputs: Outputs
    facts: dict[BucketName, Facts]
    pages: Mapping[PageName, pl.DataFrame | None] = field(default_factory=dict)


class Pages(Protocol):
    """Reads the pages of buckets."""

    def read(self, bucket: BucketName, name: str) -> pl.DataFrame:
        """A page that is there."""


class PagedTables(dict[str, pl.DataFrame]):
    """The tables of some buckets, with what reads their pages."""

    def __init__(self, tables: Mapping[str, pl.DataFrame], pages: Pages) -> None:
        super().__init__(tables)
        self.pages = pages


class Merging(Protocol):
    """How rows that wait beside a bucket become fewer. They are **parts**, merged now and then."""

    @property
    def keys(self) -> Sequence[str]:
        """The columns by which many rows are cut into lanes."""

    def combined(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
        """Parts of one bucket made one with fewer rows, if these parts can be."""


class Deferral(Merging, Protocol):
    """Lets rows wait beside their bucket, unread, where they change nothing before its window ends.

    Then they are read.
    """

    @property
    def sharing(self) -> Sharing | None:
        """How rows that are in many buckets wait only once, if they do."""

    def until(self, bucket: BucketName) -> int:
        """The watermark up to which rows for the bucket may wait."""

    def trimmed(self, blob: bytes) -> bytes:
        """The rows of a blob, without columns that nothing will read."""

    def holds(self, bucket: BucketName, blob: bytes, watermark: int) -> int | None:
        """The event time that waiting rows hold the output watermark at."""

    def is_final(self, bucket: BucketName, advance: Advance) -> bool:
        """Whether all that a bucket of parts has left to do is to emit its rows, now."""

    def final(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The rows that such buckets emit; nothing of them is kept."""

    def emitted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The same, of rows that are combined: one for each key and bucket."""


class Sharing(Merging, Protocol):
    """Keeps rows that are in many buckets once, until these buckets wake.

    Rows know their ``slice``; a **stretch** is some adjacent slices. ``made`` is the watermark up
    to which buckets have woken: they have got what is shared, and share nothing more.
    """

    def apart(self, rows: pl.DataFrame, made: int) -> pl.DataFrame:
        """The rows that came for buckets which have woken, once for each, with its name."""

    def shared(self, rows: pl.DataFrame, made: int) -> dict[int, pl.DataFrame]:
        """The rows for buckets that will wake, combined, by the number of their stretch."""

    def wakes(self, slices: pl.Series, made: int) -> int | None:
        """When the first bucket wakes that has some of these slices; None if all have."""

    def first_slice(self, stretch: int) -> int:
        """The first slice of a stretch."""

    def waking(self, stretches: Sequence[int], made: int, watermark: int) -> range:
        """The numbers of buckets that wake up to a watermark and may have such stretches."""

    def is_cut(self, stretch: int, buckets: range) -> bool:
        """Whether one of these buckets, or the next one, has some slices of a stretch only."""

    def whole(self, stretch: int, rows: pl.DataFrame) -> pl.DataFrame:
        """All slices of a stretch as one."""

    def given(
        self, slices: Sequence[pl.DataFrame], wholes: Sequence[pl.DataFrame], buckets: range
    ) -> Iterator[pl.DataFrame]:
        """The rows of these buckets, combined, with their names; ``slices`` are of stretches that
        are cut, ``wholes`` of all others.
        """


@runtime_checkable
class Timeline(Merging, Protocol):
    """An operator may be one: its buckets are of event time, only added to, and let go of as a
    whole.

    A step is given the rows of the buckets that it reads, of all of them together, with the
    watermark at which their bucket ``wakes``. The tables that it returns are rows to be added. Its
    facts are of all rows of the buckets that it has read, and of the rows added to others.
    """

    def reads(
        self,
        batches: Mapping[str, pl.DataFrame],
        buckets: Collection[BucketName],
        awake: Collection[BucketName],
    ) -> set[BucketName]:
        """The buckets, of those that there are, that a step over these batches reads."""

    def ends(self, bucket: BucketName) -> int:
        """The watermark at which a bucket is let go of."""


class Operator(Protocol):
    """A pure function of its arguments: no I/O, no clock, and the same bytes when it is repeated.

    ``bucket`` are the columns of all its tables and batches that say in which bucket a row is. An
    operator may be given the rows of several buckets at once, and must keep them apart.
    """

    @property
    def bucket(self) -> tuple[str, ...]: ...

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which the rows that a step emits are sorted, over all buckets."""

    @property
    def deferral(self) -> Deferral | None:
        """How rows may wait, if they may."""

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """One step over some buckets: what has arrived at each port, then the watermark and clock.

        The tables and batches hold all rows of these buckets, and of no other. A shard gives
        ``PagedTables``.
        """


def facts_of(
    table: pl.DataFrame | None,
    bucket: Sequence[str],
    wakes: pl.Expr | None = None,
    due: pl.Expr | None = None,
    holds: pl.Expr | None = None,
) -> dict[BucketName, Facts]:
    """The facts of each bucket that a table has rows of, by aggregates over these rows."""
    if table is None or not table.height:
        return {}
    none = pl.lit(None, pl.Int64)
    made = [
        (pl.lit(END_OF_TIME) if wakes is None else wakes).alias("wakes"),
        (none if due is None else due).alias("due"),
        (none if holds is None else holds).alias("holds"),
    ]
    rows = table.group_by(bucket).agg(made) if bucket else table.select(made)
    return {tuple(row[:-3]): Facts(*row[-3:]) for row in rows.iter_rows()}


def in_order(tables: list[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame | None:
    """All rows that a step emits, sorted; rows that are equal in these columns stay as they are."""
    first, *rest = columns
    # Tables as a rule come sorted already, each with one value of the first column.
    rows = concatenated(*sorted(tables, key=lambda table: table[first].max() or 0))
    if rows is None or (rows[first].is_sorted() and all(rows[name].is_sorted() for name in rest)):
        return rows
    return rows.sort(columns, maintain_order=True)


def row_count(table: pl.DataFrame) -> int:
    """How many rows a table is made of, of which some may have been combined."""
    return int(table[NEW].fill_null(1).sum()) if NEW in table.columns else table.height


def least(*moments: int | None) -> int | None:
    """The least of those that are known."""
    return min((moment for moment in moments if moment is not None), default=None)
