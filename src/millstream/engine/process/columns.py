"""What is kept of keys, in columns that are as long as there are keys with a turn in a step."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from millstream.engine.process.fitting import fitted
from millstream.engine.process.held import TIMERS, default_columns, field_names
from millstream.engine.process.per_key import Turn
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.processors import SLOT, TimeDomain, overrides
from millstream.plan.operators.process import Processing

_SET = {"slot": pl.UInt32, **TIMERS}


class HeldColumns:
    """State, times and timers of the keys that have a turn: row n of each is of slot n.

    The timers are a table with the column ``slot``. No value of a key is ever a Python object.
    """

    def __init__(self, what: Processing, names: Mapping[str, str], turn: Turn) -> None:
        self.what = what
        self.turn = turn
        self.slots = slots = turn.slots
        self._names = names
        self._first = default_columns(what)
        times = pl.DataFrame({"last": [START_OF_TIME], "seen": [0]})
        first = self._first.hstack(times)
        self.held = first[[0] * slots.height]
        if (keys := turn.keys) is not None:
            self.held = _replaced(self.held, keys["slot"], keys.select(first.columns))
        self.timers = pl.DataFrame(schema=_SET)
        if turn.timers is not None:
            self.timers = turn.timers.select(*_SET)

    @property
    def key_columns(self) -> pl.DataFrame:
        """The keys of all slots, by the names that users gave them."""
        return self.slots.select(pl.col(key).alias(name) for key, name in self._names.items())

    @property
    def state(self) -> pl.DataFrame:
        """The state as ``on_batch`` gets it, with its keys, and windows if there are any."""
        bounds = [] if self.what.window is None else ["start", "end"]
        return self.slots.select(
            pl.col("slot").alias(SLOT),
            *(pl.col(key).alias(name) for key, name in self._names.items()),
            *(pl.col(name).alias(f"_{name}") for name in bounds),
        ).hstack(self.held.select(pl.col(self._first.columns).name.map(_bare)))

    def take(self, state: object, callback: str = "on_batch") -> None:
        """The state that a callback returned: of these slots, in the columns that it has."""
        if state is None:
            return
        who = f"what {callback} of {self.what.name} returned"
        if not isinstance(state, pl.DataFrame) or SLOT not in state.columns:
            raise RunError(
                "MS201",
                f"{who} is no Polars table with the column {SLOT!r}",
                fix="return the state's table with its new columns, or None if nothing changed",
                step=self.what.step,
            )
        fields = [c for c in self._first.columns if _bare(c) in state.columns]
        new = pl.DataFrame(
            [
                fitted(state, _bare(name), self._first.schema[name], who, self.what).alias(name)
                for name in fields
            ]
        )
        slots = state[SLOT].cast(pl.UInt32)
        if slots.equals(self.slots["slot"]):
            self.held = self.held.with_columns(new.get_columns())
            return
        if slots.null_count() or slots.n_unique() < slots.len():
            raise RunError(
                "MS201",
                f"{who} has a slot twice, or rows without one",
                fix=f"return one row for each {SLOT!r}",
                step=self.what.step,
            )
        old = self.held.select(fields)
        self.held = self.held.with_columns(_replaced(old, slots, new).get_columns())

    def note(self, rows: pl.DataFrame) -> None:
        """Remembers when the last rows of keys came."""
        time = pl.when(pl.col("time").is_not_null()).then("time").otherwise(START_OF_TIME)
        last = rows.group_by("slot").agg(last=time.max(), seen=pl.lit(self.turn.at.now, pl.Int64))
        before = self.held["last"].gather(last["slot"])
        last = last.with_columns(last=pl.max_horizontal("last", before))
        new = _replaced(self.held.select("last", "seen"), last["slot"], last.drop("slot"))
        self.held = self.held.with_columns(new.get_columns())

    @property
    def keys(self) -> pl.DataFrame:
        """The table ``keys`` of all slots, with the column ``slot``."""
        what = self.what
        is_event = self._by_event
        wakes = [self._least(self.timers.filter(is_event), "time"), *self._expiries("event_time")]
        due = [self._least(self.timers.filter(~is_event), "time")]
        due += self._expiries("processing_time")
        holds = [self._least(self.timers.filter("holds"), "output_time")]
        if what.window is not None and overrides(what.processor, "on_expiry"):
            holds.append(self.slots["end"] - 1)
        return self.slots.hstack(self.held).with_columns(
            wakes=pl.min_horizontal(*wakes).fill_null(END_OF_TIME),
            due=pl.min_horizontal(*due),
            holds=pl.min_horizontal(*holds),
            fields=pl.lit(field_names(what)),
        )

    @property
    def stays(self) -> pl.Series:
        """Whether anything of a slot is kept: state that is not the defaults, or a timer."""
        if overrides(self.what.processor, "on_expiry") or overrides(self.what.processor, "on_end"):
            return pl.repeat(True, self.slots.height, eager=True)
        stays = pl.repeat(False, self.slots.height, eager=True)
        stays = stays.scatter(self.timers["slot"], True)
        for first in self._first.get_columns():
            stays |= self.held[first.name].ne_missing(first.new_from_index(0, self.slots.height))
        return stays

    def happens(self, keys: pl.DataFrame) -> pl.Series:
        """The slots to which something happens after their rows: a timer, an expiry, the end."""
        at = self.turn.at
        if at.watermark >= END_OF_TIME and self.what.window is None:
            return pl.repeat(True, keys.height, eager=True)
        is_due = (pl.col("wakes") <= at.watermark) | (pl.col("due") <= at.now).fill_null(False)
        return keys.select(is_due).to_series()

    def fire(self) -> pl.DataFrame:
        """The next timer of each key that fires now, which is then not set any more.

        Keys whose state ends now, or whose input does, have none: what happens to them is in order.
        """
        at = self.turn.at
        ends = [each <= at.watermark for each in self._expiries("event_time")]
        ends += [each <= at.now for each in self._expiries("processing_time")]
        by_event = self._by_event
        time = self.timers["time"]
        fires = (by_event & (time <= at.watermark)) | (~by_event & (time <= at.now))
        for each in ends:
            fires &= ~each.fill_null(False).gather(self.timers["slot"])
        if at.watermark >= END_OF_TIME:
            fires &= False
        # What is due by event time happens before what is due by the clock.
        fired = (
            self.timers.with_columns(by_clock=~by_event)
            .filter(fires)
            .sort("slot", "by_clock", "time", "name", "tag")
            .unique("slot", keep="first", maintain_order=True)
        )
        one = ["slot", "name", "tag"]
        self.timers = self.timers.join(fired, on=one, how="anti", maintain_order="left")
        return fired

    @property
    def _by_event(self) -> pl.Series:
        """Which of the timers are by event time."""
        by_event = [name for name, kind in self.what.timers.items() if kind == "event_time"]
        return self.timers["name"].is_in(by_event)

    def _expiries(self, domain: TimeDomain) -> list[pl.Series]:
        """When the state of each slot ends, in event time or by the clock, if it ever does."""
        what, life = self.what, self.what.time_to_live
        if what.window is not None:
            if domain == "processing_time":
                return []
            late = 0 if what.order == "event_time" else what.lateness or 0
            return [(self.slots["end"] + late).clip(upper_bound=END_OF_TIME)]
        if life is None or life.domain != domain:
            return []
        since = self.held["seen" if domain == "processing_time" else "last"]
        return [(since + life.length).set(since <= START_OF_TIME, None)]

    def _least(self, timers: pl.DataFrame, column: str) -> pl.Series:
        least = timers.group_by("slot").agg(pl.col(column).min())
        none = pl.repeat(None, self.slots.height, dtype=pl.Int64, eager=True)
        return _replaced(none.to_frame(column), least["slot"], least.select(column)).to_series()


def _replaced(table: pl.DataFrame, slots: pl.Series, new: pl.DataFrame) -> pl.DataFrame:
    """A table of all slots, with the rows of some of them replaced by new ones."""
    if not slots.len():
        return table
    size = table.height
    place = pl.int_range(size, dtype=pl.UInt32, eager=True)
    place = place.scatter(slots, pl.int_range(size, size + new.height, dtype=pl.UInt32, eager=True))
    return pl.concat([table, new.select(table.columns)])[place]


def _bare(name: str) -> str:
    return name.removeprefix("field ")
