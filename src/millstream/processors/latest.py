"""Passes the rows that are the newest of their key, in event time, when they arrive."""

from __future__ import annotations

from typing import Any

from millstream.model.processors import Processor


class Latest(Processor):
    """Drops rows that are older than one of their key that has come. Of equal ones, both pass."""

    class state:  # noqa: N801
        """The event time of the newest row, in microseconds."""

        _newest: int | None = None

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """Passes the row, if none that is newer has come."""
        if state._newest is None or row.micros >= state._newest:
            state._newest = row.micros
            out.emit(dict(row))

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """The same for all keys at once."""
        import polars as pl

        before = state["_newest"].gather(rows["_slot"])
        so_far = pl.max_horizontal(before, pl.col("_time").cum_max().over("_slot"))
        times = rows.select("_slot", "_time", _newest=so_far)
        out.emit(rows.filter(times["_time"] == times["_newest"]))
        return times.group_by("_slot").agg(pl.last("_newest"))
