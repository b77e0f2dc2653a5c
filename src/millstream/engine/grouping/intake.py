"""Takes a batch of elements into the table of panes: lateness, windows, merging, accumulating."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.tables import State
from millstream.engine.operator import INDEX, LATE, Outputs
from millstream.engine.row_order import in_row_order
from millstream.engine.tables import concatenated, looked_up


@dataclass(frozen=True)
class Intake:
    """The first half of a step. It marks the panes that got elements: ``joined`` counts them."""

    grouping: Compiled

    def take(self, state: State, batch: pl.DataFrame, outputs: Outputs) -> State:
        """The state with the batch's elements in it; late ones go to the output."""
        ordered = self.grouping.ordered
        if ordered is None:
            return self._taken(state, self._in_windows(state, batch), outputs)
        windows, sequences = ordered.place(in_row_order(batch), state.sequences, self.grouping.keys)
        time = pl.when(pl.col(INDEX).is_not_null()).then("time")
        windows = windows.with_columns(start=time, end=time + 1)
        return self._ended(self._taken(replace(state, sequences=sequences), windows, outputs))

    def _in_windows(self, state: State, batch: pl.DataFrame) -> pl.DataFrame:
        if "start" in batch.columns:
            return batch
        return self.grouping.windows.assigned(batch, state.now)

    def _ended(self, state: State) -> State:
        """The state with what rows have ended marked."""
        if state.panes is None or state.sequences is None:
            return state
        keys = self.grouping.keys
        upto = state.sequences.select(*keys, "upto")
        panes = state.panes.join(
            upto, on=keys, how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(ended=pl.col(INDEX) < pl.col("upto"))
        return replace(state, panes=panes.drop("upto"))

    def _taken(self, state: State, windows: pl.DataFrame, outputs: Outputs) -> State:
        # A closed window takes no part any more: nothing joins it, nothing merges with it.
        closed, live = None, state.panes
        if live is not None and live["closed"].any():
            closed, live = live.filter("closed"), live.filter(~pl.col("closed"))
        windows = windows.with_columns(arrived=self._arrived(state, windows))
        late = windows.select(self._reason(state, windows, closed)).to_series()
        accepted = windows
        if late.null_count() < late.len():
            outputs[LATE].append(windows.with_columns(late=late).filter(late.is_not_null()))
            accepted = windows.filter(late.is_null())
        if not accepted.height:
            return state
        table = concatenated(live, self._partial_panes(state, accepted))
        assert table is not None
        elements = self._with_kept(state.elements, accepted)
        if not self.grouping.windowing.where.merging:
            panes = concatenated(closed, self._joined(state, table))
            return replace(state, panes=panes, elements=elements)
        table = self.grouping.windows.merge(table, self.grouping.keys)
        homes = table.select(*self.grouping.owner, "union_start", "union_end").unique()
        return replace(
            state,
            panes=concatenated(closed, self._merged(state, table)),
            elements=self._moved(elements, homes),
            emitted=self._moved(state.emitted, homes),
        )

    def _arrived(self, state: State, windows: pl.DataFrame) -> pl.Expr:
        """The watermark at which each row came: that of now, unless it was kept till now."""
        now = pl.lit(state.watermark, pl.Int64)
        return pl.col("arrived").fill_null(now) if "arrived" in windows.columns else now

    def _reason(self, state: State, windows: pl.DataFrame, closed: pl.DataFrame | None) -> pl.Expr:
        """Why a window cannot take an element; null if it can."""
        return (
            pl.when(pl.col("start").is_null())
            .then(pl.lit("no window"))
            .when(self.grouping.too_late(state))
            .then(pl.lit("expired"))
            .when(self._joins_closed(windows, closed))
            .then(pl.lit("closed"))
        )

    def _joins_closed(self, windows: pl.DataFrame, closed: pl.DataFrame | None) -> pl.Expr:
        """Whether a window is, or would become part of, one whose trigger has finished."""
        if closed is None:
            return pl.lit(False)
        keys = list(self.grouping.keys)
        names = self.grouping.windows.identity
        bounds = closed.select(*keys, *(pl.col(name).alias(f"other_{name}") for name in names))
        rows = windows.select(self.grouping.owner).with_row_index("row")
        if keys:
            met = looked_up(rows, bounds, keys, "inner")
        else:
            met = rows.join(bounds, how="cross")
        joining = met.filter(self.grouping.windows.joins())["row"].unique()
        return pl.int_range(pl.len(), dtype=pl.UInt32).is_in(joining.implode())

    def _partial_panes(self, state: State, accepted: pl.DataFrame) -> pl.DataFrame:
        """The accepted elements, folded into fresh panes for each key and window."""
        fresh = (pl.lit(c.fresh, c.dtype).alias(c.name) for c in self.grouping.trigger_columns)
        return (
            self._folded(accepted)
            .with_columns(
                pl.lit(0, pl.Int64).alias("index"),
                pl.lit(False).alias("closed"),
                pl.lit(False).alias("old"),
                pl.col("new").alias("joined"),
                *fresh,
                *self.grouping.opened(state),
            )
            .collect()
        )

    def _folded(self, accepted: pl.DataFrame) -> pl.LazyFrame:
        """The elements as panes; those that were combined before the shuffle are ones already.

        A program may have been changed to combine or not, while batches of both kinds wait.
        """
        if "new" not in accepted.columns:
            return self._from_elements(accepted).lazy()
        stamp = pl.lit(None, pl.Int64).alias("stamp")  # their window's end does it
        if not accepted["new"].null_count():
            return accepted.lazy().with_columns(stamp)
        combined = accepted.filter(pl.col("new").is_not_null())
        rest = accepted.filter(pl.col("new").is_null())
        both = concatenated(combined.with_columns(stamp), self._from_elements(rest))
        assert both is not None
        return both.lazy()

    def _from_elements(self, accepted: pl.DataFrame) -> pl.DataFrame:
        # Elements behind the watermark do not move the timestamp.
        ahead = pl.col("time").filter(pl.col("time") >= pl.col("arrived"))
        return self.grouping.folded(
            accepted,
            pl.col("arrived").min(),
            self.grouping.stamped(ahead).alias("stamp"),
            *self.grouping.windows.bounds(),
        )

    def _joined(self, state: State, table: pl.DataFrame) -> pl.DataFrame:
        """One pane for each window: the old one if there was one, which comes first, and the new.

        Windows that cannot merge are known by what they are: nothing has to be looked for.
        """
        grouping = self.grouping
        return grouping.grouped(
            table,
            [
                pl.col("new", "joined").sum(),
                pl.col("arrived").min(),
                grouping.stamped(pl.col("stamp")),
                pl.col("index", "closed", "old").first(),
                *grouping.windows.bounds(),
                *(pl.col(e.meta.output_name()).first() for e in grouping.opened(state)),
                *(pl.col(c.name).first() for c in grouping.trigger_columns),
                *(e for a in grouping.accumulators for e in a.merged()),
            ],
            after=self._elements_counted(state),
        )

    def _merged(self, state: State, table: pl.DataFrame) -> pl.DataFrame:
        """One pane for each union: the old ones that it was made of, and what is new."""
        grouping, old = self.grouping, pl.col("old")
        start, end = pl.col("start"), pl.col("end")
        same = old & (start == pl.col("union_start")) & (end == pl.col("union_end"))
        union = [*grouping.keys, "union_start", "union_end"]
        panes = table.group_by(union, maintain_order=True).agg(
            pl.col("new", "joined").sum(),
            pl.col("arrived").min(),
            grouping.stamped(pl.col("stamp")),
            pl.col("index").filter(same).sum(),  # new bounds, new history
            pl.lit(False).alias("closed"),
            old.any(),
            same.any().alias("same"),
            *(c.merged(pl.col(c.name).filter(old)) for c in grouping.trigger_columns),
            *(e for a in grouping.accumulators for e in a.merged()),
        )
        panes = panes.rename({"union_start": "start", "union_end": "end"})
        panes = self._with_trigger_state(state, panes)
        return panes.drop("same").with_columns(self._elements_counted(state))

    def _with_trigger_state(self, state: State, panes: pl.DataFrame) -> pl.DataFrame:
        grouping, moment, env = self.grouping, self.grouping.moment(state), self.grouping.env
        grew = pl.col("old") & ~pl.col("same")
        merged = grouping.trigger.after_merge(env, moment)
        env = {n: pl.when(grew).then(merged[n]).otherwise(env[n]) for n in env}
        return panes.with_columns(
            pl.when("old").then(env[c.name]).otherwise(pl.lit(c.fresh, c.dtype)).alias(c.name)
            for c in grouping.trigger_columns
        )

    def _elements_counted(self, state: State) -> list[pl.Expr]:
        """The trigger of each pane counts the elements that have joined it."""
        grouping, joined = self.grouping, pl.col("joined")
        counted = grouping.trigger.on_elements(grouping.env, joined, grouping.moment(state))
        return [*(each.alias(name) for name, each in counted.items()), pl.lit(True).alias("old")]

    def _with_kept(
        self, elements: pl.DataFrame | None, accepted: pl.DataFrame
    ) -> pl.DataFrame | None:
        results = self.grouping.results
        if not results.keeps_elements:
            return None
        mine = accepted.select(*self.grouping.owner, "time", "sign", *results.element_columns)
        return concatenated(elements, mine)

    def _moved(self, table: pl.DataFrame | None, homes: pl.DataFrame) -> pl.DataFrame | None:
        """The table with each window replaced by the union that it became part of."""
        if table is None:
            return None
        moved = table.join(
            homes, on=self.grouping.owner, how="left", nulls_equal=True, maintain_order="left"
        )
        return moved.with_columns(
            start=pl.coalesce("union_start", "start"), end=pl.coalesce("union_end", "end")
        ).drop("union_start", "union_end")
