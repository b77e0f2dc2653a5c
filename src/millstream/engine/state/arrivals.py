"""What comes to a shard, and what it reads of its state: tables of rows, in several shapes.

Before the shuffle a batch is cut into arrivals, which are bytes. In a shard, what arrives and what
has waited are pieces, whose rows are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.exchange.hashing import hashed
from millstream.engine.grouping.tables import Output, concatenated
from millstream.engine.state.blobs import packed, unpacked

LANES = 16
MANY_ROWS = 100_000
"""A part with as many rows is cut into lanes, each with some of the keys. So what is merged or let
out at a time stays small, and so do the blobs, however many keys are live."""
_FEW_PIECES = 8


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packed table of a prepared batch; of one window, if ``window`` says of which.

    If it is one of many, it has the keys of one ``lane`` only. Where windows are the same for all
    keys, a table of many of them says of each row in which it is, if it is in any.
    """

    blob: bytes
    rows: int
    window: tuple[int, int] | None = None
    lane: int | None = None


@dataclass(slots=True)
class Piece:
    """Rows of a bucket; if they are all of one ``window``, they do not say so themselves.

    ``arrived`` is the watermark at which they came, if they have waited since.
    """

    rows: pl.DataFrame
    window: tuple[int, int] | None = None
    arrived: int | None = None


def is_large(rows: int) -> bool:
    """Whether so many rows are too many to be together."""
    return rows >= MANY_ROWS


def cut(
    table: pl.DataFrame,
    keys: Sequence[str],
    window: tuple[int, int] | None = None,
    made: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows,
) -> Iterator[Arrival]:
    """A table on its way to a shard that will let it wait: in lanes, if it is a large one.

    What is ``made`` of all rows of a key, is made lane by lane, which takes less room.
    """
    if not is_large(table.height):
        table = made(table)
        yield Arrival(packed(table), table.height, window)
        return
    parts = table.with_columns(lane=lanes(table, keys)).partition_by(
        "lane", include_key=False, as_dict=True, maintain_order=True
    )
    for (lane,), part in parts.items():
        rows = made(part)
        yield Arrival(packed(rows), rows.height, window, lane)


def lanes(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """The lane of each row, by other digits of the hash than those that say the shard."""
    return hashed(table, keys) // 2**32 % LANES


def opened(arrival: Arrival | Piece) -> Piece:
    """What arrived, with its rows."""
    if isinstance(arrival, Piece):
        return arrival
    return Piece(unpacked(arrival.blob), arrival.window)


def joined(pieces: list[Piece]) -> list[pl.DataFrame]:
    """The rows of all pieces, with their windows: in one table, or those that are combined apart.

    A program may have been changed to combine or not, while batches of both kinds wait.
    """
    combined = [piece for piece in pieces if "new" in piece.rows.columns]
    rest = [piece for piece in pieces if "new" not in piece.rows.columns]
    return [_told(alike) for alike in (combined, rest) if alike]


def _told(pieces: list[Piece]) -> pl.DataFrame:
    """The rows of pieces, with what is known of each piece as columns."""
    if len(pieces) <= _FEW_PIECES:  # they may be large, and one value takes no room
        return rows_of(map(_alone, pieces))
    rows = pl.concat([piece.rows for piece in pieces], how="diagonal_relaxed")
    if all(piece.window is None for piece in pieces):
        return rows
    known = pl.DataFrame(
        [(*(p.window or (None, None)), p.arrived, p.rows.height) for p in pieces],
        schema=dict.fromkeys(["start", "end", "arrived", "height"], pl.Int64),
        orient="row",
    )
    known = known.select(pl.exclude("height").repeat_by("height").explode())
    if "arrived" in rows.columns:  # a part that was made of several tells it of each row
        known = known.with_columns(pl.coalesce(rows["arrived"], "arrived"))
    return rows.with_columns(known.get_columns())


def rows_of(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of some tables; there is at least one."""
    rows = concatenated(*tables)
    assert rows is not None
    return rows


def _alone(piece: Piece) -> pl.DataFrame:
    if piece.window is None:
        return piece.rows
    told = dict(zip(("start", "end"), piece.window, strict=True))
    if piece.arrived is not None and "arrived" not in piece.rows.columns:
        told["arrived"] = piece.arrived
    return piece.rows.with_columns(pl.lit(v, pl.Int64).alias(name) for name, v in told.items())


def let_out_late(rows: pl.DataFrame, expired: int, output: Output) -> pl.DataFrame:
    """Rows of many windows, without those for which there is none any more."""
    start, end = pl.col("start"), pl.col("end")
    reason = pl.when(start.is_null()).then(pl.lit("no window"))
    rows = rows.with_columns(late=reason.when(end <= expired).then(pl.lit("expired")))
    if rows["late"].null_count() < rows.height:
        output.late.append(rows.filter(pl.col("late").is_not_null()))
        rows = rows.filter(pl.col("late").is_null())
    return rows.drop("late")
