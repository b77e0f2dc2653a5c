"""The answers: what each contender must have written, computed from its input with Polars."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from benchmarks.inputs import Batch
from benchmarks.kafka_topics import received
from benchmarks.spec import COUNTED, DELAY_SECONDS, TITLES, Spec

_ROW = ["start", "key", "n", "s"]


class WrongAnswerError(Exception):
    """A contender wrote a wrong answer."""


def check(spec: Spec, fed: list[Batch]) -> int:
    """Compares the output of a contender with the truth; returns the number of rows."""
    if spec.program != "windows":
        return _check_state(spec, fed)
    found = received(spec) if spec.servers else written(Path(spec.output))
    expected = truth(spec, fed)
    if fingerprints(found).equals(fingerprints(expected)):
        return found.height
    raise WrongAnswerError(
        f"{TITLES[spec.engine]} wrote {found.height:,} rows where {expected.height:,} are right.\n"
        f"Windows that differ (written, right):\n{_windows_that_differ(found, expected)}\n"
        f"Rows that are missing:\n{_some_of(expected, without=found)}\n"
        f"Rows that are too many:\n{_some_of(found, without=expected)}"
    )


def _check_state(spec: Spec, fed: list[Batch]) -> int:
    """The same for the programs with state: their answers are a few sums."""
    files = sorted(Path(spec.output).glob("part-*.parquet"))
    columns = ["key", "n"]
    found = pl.concat([pl.read_parquet(file).select(columns) for file in files])
    counts = _scan(fed).group_by("key").agg(n=pl.len().cast(pl.Int64))
    match spec.program:
        case "process" | "process_columns":  # each row's number among those of its key
            expected = counts.select("key", n=pl.int_ranges(1, pl.col("n") + 1)).explode("n")
        case "deduplicate":
            expected = counts.select("key", n=pl.lit(1))
        case "interval_join":
            expected = _pairs(_scan(fed), spec.join_seconds)
        case "window_join":
            expected = _window_pairs(spec, fed)
        case "temporal_join":
            expected = _versions(_scan(fed))
        case _:
            full = counts.select("key", full=pl.col("n") // COUNTED)
            expected = full.select("key", n=pl.lit(COUNTED).repeat_by("full")).explode("n")
            expected = expected.drop_nulls()
    right = _sums(expected.collect())
    if _sums(found) != right:
        raise WrongAnswerError(
            f"{TITLES[spec.engine]} wrote rows, keys and numbers that add up to {_sums(found)}, "
            f"where {right} is right"
        )
    return found.height


def _window_pairs(spec: Spec, fed: list[Batch]) -> pl.LazyFrame:
    """The pairs of rows in one window. Millstream emits them when the window has ended."""
    rows = _scan(fed).select("key", _start(spec), n="price")
    if spec.engine == "millstream":
        newest = _scan(fed).select(pl.col("ts").dt.epoch("us").max()).collect().item()
        ended = newest - (DELAY_SECONDS + spec.window_seconds) * 1_000_000
        rows = rows.filter(pl.col("start") * 1_000_000 <= ended)
    return rows.select("key", "start").join(rows, on=["key", "start"]).select("key", "n")


def _versions(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Each row that the watermark has passed, with the newest row of its key: itself."""
    time = pl.col("ts").dt.epoch("us")
    passed = time < time.max() - DELAY_SECONDS * 1_000_000
    return rows.sort("ts").filter(passed).select("key", n="price")


def _pairs(rows: pl.LazyFrame, seconds: int) -> pl.LazyFrame:
    """The pairs of an interval join of the rows with themselves."""
    length = seconds * 1_000_000
    times = rows.select("key", "price", time=pl.col("ts").dt.epoch("us"))
    cell = pl.col("time") // length
    left = times.select("key", "time", cell=pl.concat_list(cell, cell + 1)).explode("cell")
    right = times.select("key", n="price", other="time", cell=pl.col("time") // length)
    apart = pl.col("other") - pl.col("time")
    return (
        left.join(right, on=["key", "cell"]).filter(apart.is_between(0, length)).select("key", "n")
    )


def _sums(rows: pl.DataFrame) -> tuple[int, ...]:
    key, n = pl.col("key"), pl.col("n").cast(pl.Int64)
    return rows.select(pl.len(), key.sum(), n.sum().alias("n"), (key * n).sum().alias("both")).row(
        0
    )


def written(output: Path) -> pl.DataFrame:
    """What is in the files of a sink."""
    files = sorted(output.glob("part-*.parquet"))
    if not files:
        return pl.DataFrame(schema=dict.fromkeys(_ROW, pl.Int64))
    start = pl.col("window").struct.field("start").dt.epoch("s").alias("start")
    # Each separately: an empty file of Spark has no types of a window.
    return pl.concat([pl.read_parquet(file).select(start, "key", "n", "s") for file in files])


def truth(spec: Spec, batches: list[Batch]) -> pl.DataFrame:
    """The rows that must have been written after these batches."""
    return _updates(spec, batches) if spec.updates else _finals(spec, batches)


def _finals(spec: Spec, batches: list[Batch]) -> pl.DataFrame:
    """The result of each window that the watermark has passed.

    Millstream closes windows in the batch that moves the watermark, Spark in the one after it,
    which may be one without data.
    """
    seen = batches if spec.engine == "millstream" or spec.idles else batches[:-1]
    if not seen:
        return pl.DataFrame(schema=dict.fromkeys(_ROW, pl.Int64))
    newest = _scan(seen).select(pl.col("ts").dt.epoch("us").max()).collect().item()
    ended = newest - DELAY_SECONDS * 1_000_000 - spec.window_seconds * 1_000_000
    if spec.slide_seconds:
        return _sliding(spec, batches).filter(pl.col("start") * 1_000_000 <= ended)
    return (
        _scan(batches)
        .group_by(_start(spec), "key")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("price").sum().alias("s"))
        .filter(pl.col("start") * 1_000_000 <= ended)
        .collect()
    )


def _sliding(spec: Spec, batches: list[Batch]) -> pl.DataFrame:
    """The result of each window: what all events before its end add up to, less those before it."""
    slide, size = spec.slide_seconds, spec.window_seconds
    second = pl.col("ts").dt.epoch("us") // 1_000_000
    sums = (
        _scan(batches)
        .group_by((second // slide * slide).alias("start"), "key")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("price").sum().alias("s"))
        .collect()
    )
    seconds: list[int] = sums["start"].sort().to_list()
    starts = range(seconds[0] - size, seconds[-1] + size + slide, slide)
    grid = pl.DataFrame({"start": starts}).join(sums.select("key").unique(), how="cross")
    before = (
        grid.join(sums, on=["start", "key"], how="left")
        .sort("key", "start")
        .with_columns(pl.col("n", "s").fill_null(0).cum_sum().over("key"))
        .with_columns(start=pl.col("start") + slide)
    )
    ends = before.with_columns(start=pl.col("start") - size)
    both = ends.join(before, on=["start", "key"], suffix=" before")
    return both.select(
        "start", "key", *(pl.col(name) - pl.col(f"{name} before") for name in ("n", "s"))
    ).filter(pl.col("n") > 0)


def _updates(spec: Spec, batches: list[Batch]) -> pl.DataFrame:
    """For each batch and each key and window that it touched, the result so far."""
    parts = [
        _scan([batch])
        .group_by(_start(spec), "key")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("price").sum().alias("s"))
        .with_columns(batch=pl.lit(number))
        for number, batch in enumerate(batches)
    ]
    so_far = [pl.col(name).cum_sum().over("start", "key", order_by="batch") for name in ("n", "s")]
    return pl.concat(parts).collect().with_columns(so_far).drop("batch")


def _scan(batches: list[Batch]) -> pl.LazyFrame:
    return pl.scan_parquet([file for batch in batches for file in batch.files])


def _start(spec: Spec) -> pl.Expr:
    seconds = pl.col("ts").dt.epoch("us") // 1_000_000
    return (seconds - seconds % spec.window_seconds).alias("start")


def fingerprints(rows: pl.DataFrame) -> pl.DataFrame:
    """For each window a few sums, which differ if its rows do."""
    return (
        rows.group_by("start")
        .agg(
            pl.len().alias("rows"),
            pl.col("n").sum(),
            pl.col("s").sum(),
            (pl.col("key") * pl.col("n")).sum().alias("keyed n"),
            (pl.col("key") * pl.col("s")).sum().alias("keyed s"),
        )
        .sort("start")
    )


def _windows_that_differ(found: pl.DataFrame, expected: pl.DataFrame) -> str:
    both = fingerprints(found).join(
        fingerprints(expected), on="start", how="full", coalesce=True, suffix=" right"
    )
    same = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(f"{name} right"))
        for name in ("rows", "n", "s", "keyed n", "keyed s")
    )
    shown = both.filter(~same).sort("start").select("start", "^(rows|n|s)( right)?$")
    return str(shown.head(10))


def _some_of(rows: pl.DataFrame, without: pl.DataFrame) -> str:
    missing = rows.join(without, on=_ROW, how="anti").sort(_ROW)
    return f"{missing.select(_ROW).head(5)}\n({missing.height:,} in all)"
