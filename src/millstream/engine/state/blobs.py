"""What a grouping remembers, as bytes: tables in Arrow's IPC format, behind a version.

The format is described in ``docs/state-format.md``.
"""

from __future__ import annotations

import io

import polars as pl

VERSION = 6
READABLE = (4, 5, VERSION)
"""The versions that can be read: 4 has no stretches, and 5 no pages."""


def packed(table: pl.DataFrame) -> bytes:
    """A table as bytes.

    >>> unpacked(packed(pl.DataFrame({"n": [1, 2]})))["n"].to_list()
    [1, 2]
    """
    buffer = io.BytesIO()
    table.write_ipc_stream(buffer, compression="lz4")
    return bytes([VERSION]) + buffer.getvalue()


def unpacked(blob: bytes) -> pl.DataFrame:
    """The table that ``packed`` made bytes of."""
    if not blob or blob[0] not in READABLE:
        raise ValueError(f"a table of format {blob[:1].hex()}, where {VERSION:02x} is known")
    return pl.read_ipc_stream(io.BytesIO(blob[1:]))
