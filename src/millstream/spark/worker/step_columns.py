"""Where the rows of one step are in a frame that holds the rows of several steps side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from millstream.engine.rows import PLACE, SIGN, TIME


@dataclass(frozen=True)
class StepColumns:
    """The columns of a wide frame that hold the rows of one step.

    ``columns`` maps the step's own names to names in the frame. The others name a column each,
    or None if the frame has none for the step: ``flag`` is true where there is a row; without one,
    there is a row wherever ``time``, the event time in microseconds, is not null; and without that,
    everywhere. ``sign`` is -1 for a retraction and 1 for any other row. ``place`` is where the row
    came from, if an operator needs the order of rows.
    """

    columns: Mapping[str, str]
    flag: str | None = None
    time: str | None = None
    sign: str | None = None
    place: str | None = None

    def names(self) -> Iterable[str]:
        """All columns of the frame that the step needs."""
        yield from self.columns.values()
        yield from (name for name in self._hidden if name is not None)

    @property
    def _hidden(self) -> tuple[str | None, ...]:
        return self.flag, self.time, self.sign, self.place

    def rows(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The rows of the step."""
        if self.flag is not None:
            if batch[self.flag].sum() < batch.height:  # it is null where envelopes are
                batch = batch.filter(self.flag)
        elif self.time is not None and batch[self.time].null_count():
            batch = batch.filter(pl.col(self.time).is_not_null())
        columns = [pl.col(column).alias(name) for name, column in self.columns.items()]
        n = batch.height  # a literal alone would be one row if the step has no columns
        none, plus = pl.repeat(None, n, dtype=pl.Int64), pl.repeat(1, n, dtype=pl.Int8)
        time = none if self.time is None else pl.col(self.time)
        sign = plus if self.sign is None else pl.col(self.sign)
        place = PLACE if self.place is None and PLACE in batch.columns else self.place
        places = [] if place is None else [pl.col(place).alias(PLACE)]
        return batch.select(*columns, time.alias(TIME), sign.alias(SIGN), *places)
