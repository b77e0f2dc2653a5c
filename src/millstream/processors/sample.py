"""Passes one row of so many, for each key."""

from __future__ import annotations

from typing import Any

from millstream.model.arguments import checked_count
from millstream.model.processors import Processor


class Sample(Processor):
    """Passes the first row of a key, and then each ``every``-th."""

    class state:  # noqa: N801
        """How many rows have come since one passed."""

        _since: int = 0

    def __init__(self, every: int) -> None:
        self.every = checked_count(every, "every", example=10)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """Passes the row, if it is its turn."""
        if state._since == 0:
            out.emit(dict(row))
        state._since = (state._since + 1) % self.every

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """The same for all keys at once."""
        import polars as pl

        before = state["_since"].gather(rows["_slot"])
        numbers = rows.select("_slot", _since=before + pl.int_range(pl.len()).over("_slot"))
        out.emit(rows.filter(numbers["_since"] % self.every == 0))
        return numbers.group_by("_slot").agg((pl.last("_since") + 1) % self.every)
