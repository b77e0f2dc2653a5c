"""Redistributes the state of an operator's shards over another number of shards.

Each shard is cut into pieces, which are what one new shard gets of one of its tables or parts. A
new shard is assembled from the pieces of all old ones. A key is in one shard only, before and
after, so pieces are put together and never merged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from millstream.engine.exchange.hashing import hashed
from millstream.engine.operator import BUCKETS, BY_KEY, BucketName, least
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket, Clocks, Document, Part, Shared
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import OperatorState, ShardState, part_name, table_name
from millstream.engine.tables import rows_of
from millstream.engine.watermarks import Channel, Channels

_KEY = re.compile(r"key (\d+)")
_LARGE = "large "
_PAGE = re.compile(r"([^/]+)\.(\d+)\.(\d+)")
_SHARD, _BUCKET = "to shard", "to bucket"  # names that no column of the state has


class Piece(msgspec.Struct):
    """What a new shard gets of a table, or of a part if it has ``arrived``; in what bucket.

    ``table`` is the name of the table, or of the port of the part. The facts of its old bucket are
    those of all its rows, and so never later than what happens to some of them. It may also be a
    ``page`` as a whole: the id of its value in the ``source``, and its number.
    """

    step: str
    source: tuple[int, BucketName]
    """The old shard and bucket."""
    bucket: BucketName
    shared: bool
    table: str
    lane: int | None
    arrived: int | None
    wakes: int
    due: int | None
    holds: int | None
    rows: int
    blob: bytes
    page: tuple[int, int] | None = None


class DifferentClocksError(Exception):
    """The shards of an operator have not come equally far; the message names the operator."""


def key_columns(table: pl.DataFrame) -> list[str]:
    """The columns of a table that are its keys, in their order.

    >>> key_columns(pl.DataFrame({"key 1": [2], "new": [1], "key 0": ["red"]}))
    ['key 0', 'key 1']
    """
    found = {int(match[1]): name for name in table.columns if (match := _KEY.fullmatch(name))}
    return [found[number] for number in sorted(found)]


def common_clocks(documents: Sequence[Document]) -> Document:
    """The document of every new shard, without buckets, from those of the old shards of a stage.

    Watermarks move in all shards alike. The clock need not have: a deadline that is looked at twice
    is not met twice, so the earliest counts.
    """
    document = Document(repaired=min((each.repaired for each in documents), default=-1))
    for step in sorted({step for each in documents for step in each.operators}):
        clocks = [each.operators[step] for each in documents if step in each.operators]
        reached = {(each.watermark, each.shared.made) for each in clocks}
        if len(clocks) < len(documents) or len(reached) > 1:
            raise DifferentClocksError(step)
        document.operators[step] = Clocks(
            watermark=clocks[0].watermark,
            output_watermark=min(each.output_watermark for each in clocks),
            now=min(each.now for each in clocks),
            channels=_common_channels([each.channels for each in clocks]),
            shared=Shared(made=clocks[0].shared.made),
        )
    return document


def with_new_shards(document: Document, operators: Iterable[str], shards: int) -> Document:
    """The document where the channels from an operator are those of its new shards.

    Each has keys of all old shards, and so is only as far as the last of them.
    """
    known = set(operators)
    for clocks in document.operators.values():
        for origin, splits in clocks.channels.splits.items():
            if origin in known and splits:
                watermark = min(each.watermark for each in splits.values())
                reported = max(each.reported for each in splits.values())
                each_shard = (str(number) for number in range(shards))
                clocks.channels.splits[origin] = {
                    number: Channel(watermark, reported) for number in each_shard
                }
    return document


def cut_shard(
    document: Document, blobs: InMemoryStore, number: int, before: int, shards: int
) -> Iterator[tuple[int, Piece]]:
    """The pieces of one shard, ``number`` of ``before``, with the new shard that gets each."""
    for step, clocks in document.operators.items():
        state = OperatorState(blobs, step, clocks)
        keys: list[str] | None = None
        stretches = ((True, bucket) for bucket in clocks.shared.stretches)
        for shared, bucket in (*((False, bucket) for bucket in clocks.buckets), *stretches):
            pages = _pages(blobs, f"{step}/{table_name(bucket.name, '')}")
            for name, piece in _contents(step, bucket, shared, (number, bucket.name)):
                table = unpacked(state.read(name))
                keys = key_columns(table) if keys is None else keys
                numbers = hashed(table, keys)
                if key_columns(table) != keys or not (numbers % before == number).all():
                    raise ValueError(f"the table {step}/{name} has keys of another shard")
                for to, rows, made in _cut(table, numbers, piece, shards):
                    yield to, made
                    for id in _ids(rows):
                        for field, page, blob in pages[id]:
                            yield to, replace(made, table=field, rows=0, blob=blob, page=(id, page))


def assemble(pieces: Iterable[Piece], state: ShardState) -> None:
    """Puts the pieces of a new shard into its state, which has its clocks and nothing else."""
    buckets: dict[tuple[str, bool, BucketName], list[Piece]] = defaultdict(list)
    for piece in pieces:
        buckets[piece.step, piece.shared, piece.bucket].append(piece)
    for (step, shared, name), some in sorted(buckets.items(), key=lambda each: _order(each[0])):
        mine = state.of(step)
        bucket = _assembled(name, some, mine)
        (mine.clocks.shared.stretches if shared else mine.clocks.buckets).append(bucket)


def _common_channels(channels: Sequence[Channels]) -> Channels:
    """Every shard gets the watermarks of all channels: what one has missed, another has."""
    common = Channels(
        watermark=max(each.watermark for each in channels),
        began=min((each.began for each in channels if each.began is not None), default=None),
    )
    for each in channels:
        for origin, splits in each.splits.items():
            known = common.splits.setdefault(origin, {})
            for split, channel in splits.items():
                newest = known.setdefault(split, Channel(channel.watermark, channel.reported))
                newest.watermark = max(newest.watermark, channel.watermark)
                newest.reported = max(newest.reported, channel.reported)
    return common


def _contents(
    step: str, bucket: Bucket, shared: bool, source: tuple[int, BucketName]
) -> Iterator[tuple[str, Piece]]:
    """The tables and parts of a bucket by name, each as a piece that has no rows yet."""
    facts = bucket.facts._asdict()
    about: dict[str, Any] = {"step": step, "source": source, "shared": shared, **facts}
    about |= {"bucket": bucket.name, "rows": 0, "blob": b""}
    for table in bucket.tables:
        yield table_name(bucket.name, table), Piece(table=table, lane=None, arrived=None, **about)
    for lane in bucket.lanes:
        for number, part in enumerate(lane.parts):
            name = part_name(bucket.name, lane.port, lane.number, number)
            yield name, Piece(table=lane.port, lane=lane.number, arrived=part.arrived, **about)


def _cut(
    table: pl.DataFrame, numbers: pl.Series, piece: Piece, shards: int
) -> Iterator[tuple[int, pl.DataFrame, Piece]]:
    (column,) = BY_KEY
    by_key = not piece.shared and len(piece.bucket) == 1
    bucket = numbers // shards % BUCKETS if by_key else pl.repeat(0, table.height, eager=True)
    places = table.with_columns((numbers % shards).alias(_SHARD), bucket.alias(_BUCKET))
    parts = places.partition_by(
        _SHARD, _BUCKET, include_key=False, as_dict=True, maintain_order=True
    )
    for (shard, name), rows in parts.items():
        if by_key and column in rows.columns:
            rows = rows.with_columns(pl.lit(name, rows[column].dtype).alias(column))
        moved = (int(name),) if by_key else piece.bucket
        blob = packed(rows)
        yield int(shard), rows, replace(piece, bucket=moved, rows=rows.height, blob=blob)


def _pages(blobs: InMemoryStore, prefix: str) -> dict[int, list[tuple[str, int, bytes]]]:
    """The pages of a bucket by the id of their value: the field, the number and the page."""
    found: dict[int, list[tuple[str, int, bytes]]] = defaultdict(list)
    for name, blob in blobs.items():
        if name.startswith(prefix) and (match := _PAGE.fullmatch(name, len(prefix))):
            found[int(match[2])].append((match[1], int(match[3]), blob))
    return found


def _places(table: pl.DataFrame) -> list[str]:
    """The columns that have where the pages of values are."""
    return [name for name in table.columns if name.startswith(_LARGE) and table[name].count()]


def _ids(table: pl.DataFrame) -> list[int]:
    """The ids of the values in pages."""
    found = (table[name].struct.field("id").drop_nulls().to_list() for name in _places(table))
    return [id for ids in found for id in ids]


def _renumbered(table: pl.DataFrame, ids: Mapping[int, int]) -> pl.DataFrame:
    """The table with other ids for values in pages."""

    def renumbered(name: str) -> pl.Series:
        places = table[name].to_list()
        made = [None if each is None else {**each, "id": ids[each["id"]]} for each in places]
        return pl.Series(name, made, table[name].dtype)

    return table.with_columns(map(renumbered, _places(table)))


def _assembled(name: BucketName, pieces: list[Piece], state: OperatorState) -> Bucket:
    bucket = Bucket(name)
    tables: dict[str, list[Piece]] = defaultdict(list)
    # An id is of one value in its old bucket; a new bucket may have values of several.
    ids: dict[tuple[int, BucketName], dict[int, int]] = defaultdict(dict)
    free = count()
    for piece in pieces:
        bucket.wakes = min(bucket.wakes, piece.wakes)
        bucket.due = least(bucket.due, piece.due)
        bucket.holds = least(bucket.holds, piece.holds)
        if piece.page is not None:
            mine, (id, number) = ids[piece.source], piece.page
            mine.setdefault(id, next(free))
            state.write(table_name(name, f"{piece.table}.{mine[id]}.{number}"), piece.blob)
            bucket.paged += len(piece.blob)
        elif piece.arrived is None:
            tables[piece.table].append(piece)
    for table, some in sorted(tables.items()):
        blob = packed(rows_of(_renumbered(unpacked(p.blob), ids[p.source]) for p in some))
        state.write(table_name(name, table), blob)
        bucket.tables.append(table)
        bucket.rows += sum(each.rows for each in some)
        bucket.size += len(blob)
    parts = [piece for piece in pieces if piece.arrived is not None]
    for piece in sorted(parts, key=lambda each: each.arrived or 0):
        lane = bucket.lane(piece.table, piece.lane)
        state.write(part_name(name, lane.port, lane.number, len(lane.parts)), piece.blob)
        lane.parts.append(Part(piece.arrived or 0, piece.rows, len(piece.blob)))
    return bucket


def _order(bucket: tuple[str, bool, BucketName]) -> tuple[object, ...]:
    step, shared, name = bucket
    return step, shared, tuple(-1 if value is None else value for value in name)
