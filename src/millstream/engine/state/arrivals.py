"""What arrives at a shard: packed tables, each for one bucket or for many.

Before the shuffle a batch is cut into arrivals, which are bytes. In a shard, arrivals and parts of
buckets become tables again, with what is known of them as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.exchange.hashing import hashed
from millstream.engine.operator import ROWS, BucketName
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.tables import rows_of

LANES = 16
MANY_ROWS = 100_000
"""A part with as many rows is cut into lanes, each with some of the keys. So what is merged or
emitted at a time stays small, and so do the blobs, however many keys are live."""
_FEW_ARRIVALS = 8


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packed table for a port of an operator; of one ``bucket``, if it is known.

    Then its rows do not name the bucket; otherwise each does. If it is one of many, it has the keys
    of one ``lane`` only.
    """

    blob: bytes
    rows: int
    bucket: BucketName | None = None
    lane: int | None = None
    port: str = ROWS


@dataclass(slots=True)
class Opened:
    """The rows of an arrival or a part, all of one bucket; they name it, unless ``bucket`` does.

    ``arrived`` is the watermark at which they came, if they have waited since.
    """

    rows: pl.DataFrame
    bucket: BucketName | None = None
    arrived: int | None = None
    port: str = ROWS

    @property
    def height(self) -> int:
        return self.rows.height


def is_large(rows: int) -> bool:
    """Whether so many rows are too many to be together."""
    return rows >= MANY_ROWS


def cut(
    table: pl.DataFrame,
    keys: Sequence[str],
    bucket: BucketName | None = None,
    made: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows,
    port: str = ROWS,
) -> Iterator[Arrival]:
    """A table for a shard that will let it wait: in lanes, if it is a large one.

    What is ``made`` of all rows of a key, is made lane by lane, which takes less memory.
    """
    if not is_large(table.height):
        table = made(table)
        yield Arrival(packed(table), table.height, bucket, port=port)
        return
    parts = table.with_columns(lane=lanes(table, keys)).partition_by(
        "lane", include_key=False, as_dict=True, maintain_order=True
    )
    for (lane,), part in parts.items():
        rows = made(part)
        yield Arrival(packed(rows), rows.height, bucket, lane, port)


def lanes(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """The lane of each row, by other digits of the hash than those that say the shard."""
    return hashed(table, keys) // 2**32 % LANES


def opened(arrival: Arrival | Opened) -> Opened:
    """An arrival with its rows."""
    if isinstance(arrival, Opened):
        return arrival
    return Opened(unpacked(arrival.blob), arrival.bucket, port=arrival.port)


def joined(arrivals: Iterable[Opened], bucket: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of all arrivals, each with its bucket: in one table for each set of columns.

    A program may have been changed to combine rows or not, while batches of both kinds wait.
    """
    alike: dict[frozenset[str], list[Opened]] = {}
    for each in arrivals:
        alike.setdefault(frozenset(each.rows.columns) - {"arrived"}, []).append(each)
    return [_joined(some, bucket) for some in alike.values()]


def _joined(arrivals: list[Opened], bucket: Sequence[str]) -> pl.DataFrame:
    if len(arrivals) <= _FEW_ARRIVALS:  # they may be large, and one value takes no memory
        return rows_of(_named(each, bucket) for each in arrivals)
    rows = pl.concat([each.rows for each in arrivals], how="diagonal_relaxed")
    if arrivals[0].bucket is None:  # and so are all others, since their columns are the same
        return rows
    known = pl.DataFrame(
        [(*(each.bucket or ()), each.arrived, each.height) for each in arrivals],
        schema=dict.fromkeys([*bucket, "arrived", "height"], pl.Int64),
        orient="row",
    )
    known = known.select(pl.exclude("height").repeat_by("height").explode())
    if "arrived" in rows.columns:  # a part that was made of several says it of each row
        known = known.with_columns(pl.coalesce(rows["arrived"], "arrived"))
    return rows.with_columns(known.get_columns())


def _named(arrival: Opened, bucket: Sequence[str]) -> pl.DataFrame:
    if arrival.bucket is None:
        return arrival.rows
    known: dict[str, int | None] = dict(zip(bucket, arrival.bucket, strict=True))
    if arrival.arrived is not None and "arrived" not in arrival.rows.columns:
        known["arrived"] = arrival.arrived
    return arrival.rows.with_columns(pl.lit(v, pl.Int64).alias(name) for name, v in known.items())
