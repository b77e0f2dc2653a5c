"""Drops rows whose key has come before, within a span of event time."""

from __future__ import annotations

from typing import Any

from millstream.model.durations import Duration, positive
from millstream.model.processors import Processor, TimeToLive


class Deduplicate(Processor):
    """Passes the first row of a key, and then those that are ``within`` away from the last passed.

    The state of a key expires so long after its last row: no row that is not late can then be one
    of its duplicates.
    """

    class state:  # noqa: N801
        """The event time of the row that passed last, in microseconds."""

        _passed: int | None = None

    def __init__(self, within: Duration) -> None:
        self.within = positive(within, what="within")
        self.ttl = TimeToLive(self.within)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """Passes the row, if it is no duplicate."""
        if state._passed is None or abs(row.micros - state._passed) >= self.within:
            state._passed = row.micros
            out.emit(dict(row))

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """The same for all keys at once: in each round, the next row of each key that passes."""
        import polars as pl

        passed, taken = state["_passed"].clone(), []
        rest = rows.select("_row", "_slot", "_time")
        while rest.height:
            apart = (rest["_time"] - passed.gather(rest["_slot"])).abs() >= self.within
            following = rest.filter(apart.fill_null(True)).unique(
                "_slot", keep="first", maintain_order=True
            )
            taken.append(following["_row"])
            passed = passed.scatter(following["_slot"], following["_time"])
            at = pl.repeat(None, state.height, dtype=pl.UInt32, eager=True)
            at = at.scatter(following["_slot"], following["_row"])
            rest = rest.filter(rest["_row"] > at.gather(rest["_slot"]))
        out.emit(rows[pl.concat(taken).sort()])
        return state.select("_slot", passed.alias("_passed"))
