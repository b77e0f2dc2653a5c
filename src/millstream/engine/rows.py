"""Rows in columns on their way through Python: users' columns, and what is known of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from millstream.engine.operator import INDEX
from millstream.engine.python_rows import python_columns
from millstream.model.errors import RunError
from millstream.model.instants import FIRST, LAST, START_OF_TIME
from millstream.model.time_units import UNITS, TimeUnit
from millstream.plan.records import record_text
from millstream.plan.types.schema import Schema
from millstream.reference.rows import Row, why_no_time

TIME = "__millstream_time"
"""The event time in microseconds, null before a step has set it."""
SIGN = "__millstream_sign"
"""1, or -1 for a retraction."""
PLACE = "__millstream_place"
"""Where a row came from: a source or operator, its split, and the offset there. Rows have it only
in a program with an operator that needs their order."""
SPLIT = "__millstream_split"
"""The split that a row is of, until a step has set its event time."""


PLACES = pl.Struct({"origin": pl.String, "split": pl.String, "offset": pl.Int64})
"""The type of that column."""


def hidden_in(rows: pl.DataFrame) -> list[str]:
    """The hidden columns that go along with the rows of a step."""
    return [TIME, SIGN, PLACE] if PLACE in rows.columns else [TIME, SIGN]


def with_time(
    rows: pl.DataFrame, time: pl.Expr | None = None, sign: pl.Expr | None = None
) -> pl.DataFrame:
    """The rows with the hidden columns."""
    return rows.with_columns(
        (pl.lit(None) if time is None else time).cast(pl.Int64).alias(TIME),
        (pl.lit(1) if sign is None else sign).cast(pl.Int8).alias(SIGN),
    )


def with_places(rows: pl.DataFrame, origin: str, split: str, first: int = 0) -> pl.DataFrame:
    """The rows with their places: numbered in a split of a source or operator."""
    place = pl.struct(
        pl.lit(origin).alias("origin"),
        pl.lit(split).alias("split"),
        pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("offset"),
    )
    return rows.with_columns(place.alias(PLACE))


def to_arrow(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """The users' columns, in the types that Spark expects."""
    table = rows.select(schema.names).to_arrow()
    return table if table.schema == schema else table.cast(schema)


def to_python(rows: pl.DataFrame) -> list[Row]:
    """The rows one by one, as users' functions take them."""
    times, signs = rows[TIME].to_list(), rows[SIGN].to_list()
    places = rows[PLACE].to_list() if PLACE in rows.columns else [None] * rows.height
    table = rows.drop(hidden_in(rows))
    names, columns = table.columns, python_columns(table)
    values = zip(*columns, strict=True) if columns else [()] * rows.height
    return [
        Row(dict(zip(names, each, strict=True)), time, "+" if sign > 0 else "-", place=place)
        for each, time, sign, place in zip(values, times, signs, places, strict=True)
    ]


def from_python(rows: Iterable[Row], schema: pa.Schema) -> pl.DataFrame:
    """The rows in columns again."""
    given = list(rows)
    table = from_arrow(pa.Table.from_pylist([row.values for row in given], schema))
    hidden = [
        pl.Series(TIME, [row.time for row in given], pl.Int64),
        pl.Series(SIGN, [1 if row.kind == "+" else -1 for row in given], pl.Int8),
    ]
    if given and given[0].place is not None:
        hidden.append(pl.Series(PLACE, [row.place for row in given], PLACES))
    return table.with_columns(hidden)


@contextmanager
def fitting(what: str, schema: Schema, step: str) -> Iterator[None]:
    """What Arrow does not accept, as an error of Millstream.

    Rows have been held to their schema before; but of some types only Spark knows what fits.
    """
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise RunError(
            "MS202",
            f"{what} does not fit the schema {schema}: {error}",
            fix="give such columns a type that Python has values of, and convert them in "
            "with_columns(…)",
            step=step,
        ) from error


def from_arrow(table: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Arrow's columns as Polars'."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def rejected_rows(step: str, reasons: list[str], records: list[str]) -> pl.DataFrame:
    """Rows of a rejected output."""
    table = pl.DataFrame(
        {"step": [step] * len(reasons), "reason": reasons, "record": records},
        schema={"step": pl.String, "reason": pl.String, "record": pl.String},
    )
    return with_time(table)


def timed(
    rows: pl.DataFrame,
    step: str,
    column: str,
    unit: TimeUnit = "s",
    where: Callable[[int], str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The rows with the event time that a column says, and those that have none, if there are.

    ``where`` returns where a row came from, by its place among these.
    """
    micros = micros_of(rows[column], unit)
    with_times = rows.with_columns(micros.alias(TIME))
    if not micros.null_count():
        return with_times, None
    good, bad = with_times.filter(pl.col(TIME).is_not_null()), rows.filter(micros.is_null())
    records = [row.values for row in to_python(bad)]
    reasons = [f"event time {column!r}: {why_no_time(record[column], unit)}" for record in records]
    if where is not None:
        places = micros.is_null().arg_true()
        reasons = [f"{why}, {where(n)}" for why, n in zip(reasons, places, strict=True)]
    return good, rejected_rows(step, reasons, [record_text(record) for record in records])


def micros_of(values: pl.Series, unit: TimeUnit = "s") -> pl.Series:
    """Instants in microseconds; null where there is none, or outside of the years 1 to 9999."""
    kind, factor, divisor = values.dtype, UNITS[unit].factor, UNITS[unit].divisor
    if kind.is_temporal():
        micros = values.cast(pl.Datetime("us")).to_physical()
    elif kind.is_integer():
        numbers = values.cast(pl.Int64)
        inside = numbers.is_between(-(2**63 // factor), (2**63 - 1) // factor).fill_null(False)
        micros = numbers.set(~inside, None) * factor // divisor
    else:
        exact = values.cast(pl.Float64) * factor / divisor
        inside = exact.is_between(float(FIRST), float(LAST)).fill_null(False)
        micros = exact.set(~inside, None).round().cast(pl.Int64)
    inside = micros.is_between(FIRST, LAST)
    return micros if inside.all(ignore_nulls=True) else micros.set(~inside.fill_null(False), None)


def instant_of(micros: pl.Expr) -> pl.Expr:
    """Microseconds as a column's timestamp; null at the ends of time."""
    inside = micros.is_between(FIRST, LAST)
    return pl.when(inside).then(micros).cast(pl.Datetime("us", "UTC"))


def pane_rows(panes: pl.DataFrame, keys: list[str], aggregates: list[str]) -> pl.DataFrame:
    """What a grouping emitted, as rows: keys, aggregates, ``window``, ``pane`` and ``kind``.

    Where nothing is taken back, users may have a column ``kind`` of their own.
    """
    back = pl.col("sign") < 0
    kind = pl.when(back).then(pl.lit("-")).otherwise(pl.lit("+"))
    info = [
        pl.when(back).then(f"old_{name}").otherwise(name).alias(name)
        if f"old_{name}" in panes.columns
        else pl.col(name)
        for name in ("timing", "index", "first", "last")
    ]
    return panes.select(
        *(pl.col(f"key {i}").alias(name) for i, name in enumerate(keys)),
        *(pl.col(f"value {i}").alias(name) for i, name in enumerate(aggregates)),
        _window(panes, "of_start", "of_end").alias("window"),
        pl.struct(info).alias("pane"),
        *([] if "kind" in (*keys, *aggregates) else [kind.alias("kind")]),
        pl.col("timestamp").alias(TIME),
        pl.col("sign").cast(pl.Int8).alias(SIGN),
    )


def emitted_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows that an operator emits as they arrived, from the column ``row``."""
    hidden = table.select(_time_of_row().alias(TIME), pl.col("sign").cast(pl.Int8).alias(SIGN))
    return table.select(pl.col("row").struct.unnest()).hstack(hidden)


def _time_of_row() -> pl.Expr:
    """The event time of a row as it was before the shuffle: null if it had none."""
    return pl.when(pl.col("time") > START_OF_TIME + 1).then("time")


def late_rows(late: pl.DataFrame) -> pl.DataFrame:
    """What came too late for a grouping: its input rows, with ``window`` and ``reason``."""
    in_window = pl.col("start").is_not_null()
    added = late.select(
        pl.when(in_window).then(_window(late, "start", "end")).alias("window"),
        pl.col("late").alias("reason"),
        _time_of_row().alias(TIME),
        pl.col("sign").cast(pl.Int8).alias(SIGN),
    )
    return late.select(pl.col("row").struct.unnest()).hstack(added)


def _window(table: pl.DataFrame, start: str, end: str) -> pl.Expr:
    """The window of each row, with its index if it has one."""
    bounds = instant_of(pl.col(start)).alias("start"), instant_of(pl.col(end)).alias("end")
    index = [pl.col(INDEX).alias("index")] if INDEX in table.columns else []
    return pl.struct(*bounds, *index)
