"""What travels between the stages of a query: envelopes, which Spark carries and never opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa

from millstream.engine.state.blobs import packed, unpacked

ENVELOPE = (
    "shard int, node string, kind string, start bigint, end bigint, elements bigint, "
    "split string, value bigint, payload binary, port string"
)
"""The columns of an envelope, for Spark."""

ARROW = pa.schema(
    [
        ("shard", pa.int32()),
        ("node", pa.string()),
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("elements", pa.int64()),
        ("split", pa.string()),
        ("value", pa.int64()),
        ("payload", pa.binary()),
        ("port", pa.string()),
    ]
)
"""The same for Arrow."""

NAMES = tuple(ARROW.names)
CALL = "call "
"""What the ``split`` of a count begins with that has the microseconds of a callback, after it."""
_MOST_BYTES = 64_000_000
_MOST_ENVELOPES = 1000


@dataclass(slots=True)
class Envelope:
    """Something for ``node``, of one of these kinds.

    ``arrival``: rows for a ``port`` of an operator, of the bucket ``start``, ``end`` if that is
    known, and of the lane ``value``.
    ``mark``: the watermark ``value`` of the channel ``split`` of the origin ``node``.
    ``clock``: the clock of the operator ``node``, which a replay sets in place of the batch's.
    ``emit``: rows that an operator emitted; ``port`` is their tag.
    ``sink``: rows for a sink. ``receipt``: what a sink's writer reports to the driver.
    ``splits``: how far the slowest splits are that an operator's watermark is made of, as JSON.
    ``count``: ``value`` more of what ``split`` names, for the job's progress.
    ``sample``: a few rows for people to look at, as JSON; ``split`` is what they are.
    """

    shard: int
    node: str
    kind: str
    start: int | None = None
    end: int | None = None
    elements: int = 0
    split: str | None = None
    value: int | None = None
    payload: bytes | None = None
    port: str | None = None
    rows: pl.DataFrame | None = None
    """The payload as it is, for as long as the envelope does not travel."""

    def table(self) -> pl.DataFrame:
        """The rows that it contains."""
        if self.rows is not None:
            return self.rows
        assert self.payload is not None
        return unpacked(self.payload)

    def sealed(self) -> Envelope:
        """The same, ready to travel."""
        return self if self.rows is None else replace(self, payload=packed(self.rows), rows=None)


def batches_of(envelopes: Iterable[Envelope]) -> Iterator[pa.RecordBatch]:
    """The envelopes as record batches that are not too big for Spark."""
    some: list[Envelope] = []
    size = 0
    for envelope in envelopes:
        some.append(envelope)
        size += len(envelope.payload or b"")
        if size >= _MOST_BYTES or len(some) >= _MOST_ENVELOPES:
            yield _batch(some)
            some, size = [], 0
    if some:
        yield _batch(some)


def _batch(envelopes: list[Envelope]) -> pa.RecordBatch:
    columns = [pa.array([getattr(e, f.name) for e in envelopes], f.type) for f in ARROW]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW)


def envelopes_in(batch: pa.RecordBatch) -> Iterator[Envelope]:
    """The envelopes of a batch, whatever else it has."""
    columns = [batch.column(name).to_pylist() for name in NAMES]
    for values in zip(*columns, strict=True):
        if values[2] is not None:
            yield Envelope(*values)
