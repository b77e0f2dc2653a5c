"""What ``on_batch`` is given beside its tables: an output for tables, and timers of many keys."""

from __future__ import annotations

from typing import Any

import polars as pl

from millstream.engine.process.fitting import fitted
from millstream.engine.types import polars_type
from millstream.model.durations import Duration, not_negative
from millstream.model.errors import RunError
from millstream.model.instants import FIRST, LAST
from millstream.model.processors import ROW
from millstream.plan.operators.process import Processing
from millstream.reference.callbacks import GivenTimers
from millstream.reference.processor_clock import Clock


class Batch:
    """The rows or timers of one call: the slot and the event time of each, by its number.

    ``since`` is what delays of timers by event time count from, if it is not the event time.
    """

    def __init__(self, what: Processing, slots: pl.DataFrame, rows: pl.DataFrame, at: Clock):
        self.what = what
        self.at = at
        self._slot, self._time = rows["slot"], rows["time"]
        self._since = rows["since" if "since" in rows.columns else "time"].alias("since")
        self._late = 0 if what.order == "event_time" else what.lateness or 0
        self._end = None if what.window is None else slots["end"]

    def found(self, given: Any, who: str) -> pl.DataFrame:
        """The ``number``, ``slot``, ``time`` and ``since`` of each row of a given table."""
        if not isinstance(given, pl.DataFrame) or ROW not in given.columns:
            kind = "has no such column" if isinstance(given, pl.DataFrame) else "is no table"
            raise RunError(
                "MS201",
                f"{who} takes a Polars table with the column {ROW!r}, and what it is given {kind}",
                fix=f"keep {ROW!r} of the rows that it is for; it has their order and event time",
                step=self.what.step,
            )
        number = given[ROW].cast(pl.UInt32)
        if number.null_count():
            raise RunError(
                "MS201",
                f"{who} is given a table with nulls in the column {ROW!r}",
                fix=f"keep {ROW!r} of the rows that it is for; it has their order and event time",
                step=self.what.step,
            )
        known = (self._slot, self._time, self._since)
        return pl.DataFrame([number.alias("number"), *(each.gather(number) for each in known)])

    def expiries(self, slots: pl.Series) -> pl.Series:
        """The last event time that a timer of each slot may have."""
        if self._end is None:
            return pl.repeat(LAST, slots.len(), dtype=pl.Int64, eager=True)
        return (self._end.gather(slots) + self._late).clip(upper_bound=LAST)


class BatchOutput:
    """Takes tables of rows that ``on_batch`` emits to one output."""

    def __init__(self, batch: Batch, tag: str, others: dict[str, BatchOutput]) -> None:
        self._batch = batch
        self._tag = tag
        self._others = others
        self._tables: list[pl.DataFrame] = []

    def emit(self, rows: Any) -> None:
        """Emits rows, each with the event time of the row in its column ``_row``."""
        self._add(rows, 1)

    def retract(self, rows: Any) -> None:
        """Takes back rows that were emitted before."""
        what = self._batch.what
        if not what.retracts or self._tag != "rows":
            raise what.cannot_retract(self._tag)
        self._add(rows, -1)

    def to(self, tag: str) -> BatchOutput:
        """The side output of that name."""
        if tag == "rows" or tag not in self._others:
            raise self._batch.what.unknown_output(tag)
        return self._others[tag]

    @property
    def emitted(self) -> pl.DataFrame | None:
        """All rows, in the order of the rows that they were emitted for."""
        if not self._tables:
            return None
        table = pl.concat(self._tables) if len(self._tables) > 1 else self._tables[0]
        if not table["number"].is_sorted():
            table = table.sort("number", maintain_order=True)
        return table.drop("number")

    def _add(self, rows: Any, sign: int) -> None:
        what, who = self._batch.what, "emit()" if sign > 0 else "retract()"
        found = self._batch.found(rows, who)
        columns = [
            fitted(rows, field.name, polars_type(str(field.type)), f"what {who} is given", what)
            for field in what.outputs[self._tag]
        ]
        row = pl.DataFrame(columns).to_struct("row")
        if rows.height:
            made = found.drop("since").with_columns(row, sign=pl.lit(sign, pl.Int8))
            self._tables.append(made)


class BatchTimers:
    """The timers of all keys of the rows; ``on_batch`` gets ``given``."""

    def __init__(self, batch: Batch) -> None:
        self.calls: list[pl.DataFrame] = []
        timers = {name: BatchTimer(batch, self.calls, name) for name in batch.what.timers}
        self.given = GivenTimers(batch.what, batch, timers)

    def after(self, timers: pl.DataFrame) -> pl.DataFrame:
        """The timers that are set after all calls: of one timer, the last row decides."""
        if not self.calls:
            return timers
        one = ["slot", "name", "tag"]
        calls = pl.concat(self.calls).sort("number", maintain_order=True)
        calls = calls.unique(one, keep="last", maintain_order=True)
        kept = timers.join(calls, on=one, how="anti", maintain_order="left")
        set_now = calls.filter(pl.col("time").is_not_null()).select(timers.columns)
        return pl.concat([kept, set_now])


class BatchTimer:
    """A timer of all keys of the rows."""

    def __init__(self, batch: Batch, calls: list[pl.DataFrame], name: str) -> None:
        self._batch = batch
        self._calls = calls
        self._name = name
        self._by_clock = batch.what.timers[name] == "processing_time"

    def set(
        self,
        rows: Any,
        *,
        after: Duration | None = None,
        at: Any = None,
        tag: Any = "",
        hold: bool = True,
    ) -> None:
        """Sets the timer for the key of each row, or replaces it: ``after`` the row, or ``at``.

        ``at`` is a column or an expression, in microseconds or as timestamps; ``tag`` is a text or
        an expression.
        """
        found = self._batch.found(rows, f"timers.{self._name}.set()")
        since, latest = found["time"], self._batch.expiries(found["slot"])
        if (after is None) == (at is None):
            raise self._refused("is set neither after= a delay nor at= a time, or both")
        if after is not None:
            now = pl.repeat(self._batch.at.now, since.len(), dtype=pl.Int64, eager=True)
            time = (now if self._by_clock else found["since"]) + not_negative(after, what="after")
            if time.null_count():
                raise self._refused("is set after= a delay, but a row has no event time")
            if not self._by_clock:
                time = pl.select(pl.min_horizontal(time, latest)).to_series()
        else:
            time = rows.select(at=at)["at"]
            time = time.cast(pl.Datetime("us")) if time.dtype.is_temporal() else time
            time = time.cast(pl.Int64)
            if not self._by_clock and (time > latest).any():
                raise self._refused("is set for a time after its window has expired")
        if not time.is_between(FIRST, LAST).fill_null(False).all():
            raise self._refused("is set for no time, or one outside of the years 1 to 9999")
        emits = pl.select(pl.coalesce(since, time)).to_series() if self._by_clock else time
        self._add(rows, found, tag, time, emits, hold)

    def clear(self, rows: Any, tag: Any = "") -> None:
        """Unsets the timer for the key of each row, where it is set."""
        none = pl.lit(None, pl.Int64)
        found = self._batch.found(rows, f"timers.{self._name}.clear()")
        self._add(rows, found, tag, none, none, False)

    def _add(
        self, rows: pl.DataFrame, found: pl.DataFrame, tag: Any, time: Any, emits: Any, hold: bool
    ) -> None:
        tag = pl.lit(tag) if isinstance(tag, str) else tag
        tags = rows.select(pl.col(ROW), tag=tag)["tag"].cast(pl.String)
        self._calls.append(
            found.select(
                "number",
                "slot",
                name=pl.lit(self._name),
                tag=tags,
                time=time,
                output_time=emits,
                holds=pl.lit(hold),
            )
        )

    def _refused(self, why: str) -> RunError:
        return RunError(
            "MS201",
            f"the timer {self._name!r} of {self._batch.what.name} {why}",
            fix=f"write timers.{self._name}.set(rows, after='5m'), or at=pl.col(…)",
            step=self._batch.what.step,
        )
