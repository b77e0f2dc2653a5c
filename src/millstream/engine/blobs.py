"""What a grouping remembers, as bytes: tables in Arrow's IPC format, behind a version.

The format is described in ``docs/state-format.md``.
"""

from __future__ import annotations

import io
import json

import polars as pl

from millstream.engine.tables import State

VERSION = 1
_TABLES = ("panes", "elements", "emitted")
_CLOCKS = ("watermark", "output_watermark", "now")


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
    if blob[:1] != bytes([VERSION]):
        raise ValueError(f"a table of format {blob[:1].hex()}, where {VERSION:02x} is known")
    return pl.read_ipc_stream(io.BytesIO(blob[1:]))


def clocks_of(state: State) -> str:
    """The clocks of a state as text."""
    clocks = {name: getattr(state, name) for name in _CLOCKS}
    return json.dumps({"version": VERSION, **clocks})


def tables_of(state: State) -> dict[str, pl.DataFrame]:
    """The tables of a state that hold something."""
    tables = {name: getattr(state, name) for name in _TABLES}
    return {name: table for name, table in tables.items() if table is not None and table.height}


def state_of(clocks: str | None, blobs: dict[str, bytes]) -> State:
    """The state that was written as clocks and tables; a fresh one if nothing was."""
    if clocks is None:
        return State()
    told = json.loads(clocks)
    if told["version"] != VERSION:
        raise ValueError(f"a state of format {told['version']}, where {VERSION} is known")
    tables = {name: unpacked(blob) for name, blob in blobs.items()}
    return State(
        panes=tables.get("panes"),
        elements=tables.get("elements"),
        emitted=tables.get("emitted"),
        watermark=told["watermark"],
        output_watermark=told["output_watermark"],
        now=told["now"],
    )
