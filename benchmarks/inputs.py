"""The input: parquet files, generated once and kept in .cache/bench, the same for all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.spec import FILES

VERSION = 1
"""Part of the folder's name: a new version generates new files."""
LONG_WINDOW_SECONDS = 100 * 24 * 3600
BEGIN_SECONDS = 204 * LONG_WINDOW_SECONDS
"""When the events begin: at the start of a long window, so that it does not end too early."""
BATCH_SECONDS = 25
"""The event time of a batch: each ends two or three windows of 10 s, and begins another."""
HOUR, MINUTE = 3600, 60
JITTER_SECONDS = 2
"""How much events are out of order: less than the watermark's delay, so that none is late."""


@dataclass(frozen=True)
class Batch:
    """The files of a micro-batch."""

    folder: Path
    rows: int

    @property
    def files(self) -> list[Path]:
        """Their paths."""
        return sorted(self.folder.glob("*.parquet"))


def windowed(cache: Path, keys: int, rows: int, batches: int) -> list[Batch]:
    """Batches of events of random keys, with advancing event time."""
    tables = (
        _events(_random(7, keys, n).integers(0, keys, rows), n * BATCH_SECONDS, BATCH_SECONDS, n)
        for n in range(batches)
    )
    return _kept(cache, f"windowed-{keys}-{rows}-{batches}", tables)


def loading(cache: Path, keys: int, rows: int, batches: int) -> list[Batch]:
    """Batches with each key once, or, if there are more rows than keys, repeatedly."""
    order = _random(11, keys).permutation(keys)
    tables = (
        _events(order[np.arange(n * rows, (n + 1) * rows) % keys], n, 1, n) for n in range(batches)
    )
    return _kept(cache, f"loading-{keys}-{rows}-{batches}", tables)


def touching(cache: Path, keys: int, touched: int, batches: int) -> list[Batch]:
    """Batches with some of the keys again, after those with all keys."""
    tables = (
        _events(_random(13, keys, n).choice(keys, touched, replace=False), 3600 + n, 1, n)
        for n in range(batches)
    )
    return _kept(cache, f"touching-{keys}-{touched}-{batches}", tables)


def sliding(cache: Path, keys: int, rows: int, batches: int) -> list[Batch]:
    """A batch that fills an hour with events of random keys, then batches of a minute each."""
    spans = [(0, HOUR), *((HOUR + n * MINUTE, MINUTE) for n in range(batches - 1))]
    tables = (
        _events(_random(19, keys, n).integers(0, keys, rows), begin, seconds, n)
        for n, (begin, seconds) in enumerate(spans)
    )
    return _kept(cache, f"sliding-{keys}-{rows}-{batches}", tables)


def closing(cache: Path) -> list[Batch]:
    """Two batches that end the long window: Spark uses the watermark of the batch before."""
    tables = (_events(np.array([-1, -2]), LONG_WINDOW_SECONDS + 60 + n, 1, n) for n in range(2))
    return _kept(cache, "closing", tables)


def _random(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _events(keys: np.ndarray, begin: int, seconds: int, seed: int) -> pl.DataFrame:
    """Events of these keys, nearly in the order of their times."""
    random = _random(17, seed, len(keys))
    steady = np.arange(len(keys)) * (seconds * 1_000_000) // len(keys)
    jitter = random.integers(0, JITTER_SECONDS * 1_000_000, len(keys))
    micros = (BEGIN_SECONDS + begin) * 1_000_000 + steady + jitter
    return pl.DataFrame(
        {
            "key": keys.astype(np.int64),
            "price": random.integers(1, 1000, len(keys)),
            "ts": pl.Series(micros).cast(pl.Datetime("us", "UTC")),
        }
    )


def _kept(cache: Path, name: str, tables: Iterator[pl.DataFrame]) -> list[Batch]:
    folder = cache / f"v{VERSION}-{name}"
    if not folder.exists():
        made = folder.with_suffix(".tmp")
        shutil.rmtree(made, ignore_errors=True)
        for number, table in enumerate(tables):
            _write(table, made / f"{number:04}-{table.height}")
        made.rename(folder)
    return [Batch(each, int(each.name.partition("-")[2])) for each in sorted(folder.iterdir())]


def _write(table: pl.DataFrame, folder: Path) -> None:
    folder.mkdir(parents=True)
    for part in range(FILES):
        path = folder / f"part-{part}.parquet"
        # Every second row, so that each file has all of the batch's event times.
        table.gather_every(FILES, part).write_parquet(
            path, compression="snappy", row_group_size=128 * 1024
        )


def put(batch: Batch, number: int, input: Path) -> None:
    """Makes the files of a batch visible to a contender, all at once, after the earlier ones."""
    waiting = input.parent / "next-batch"
    waiting.mkdir(parents=True)
    for path in batch.files:
        # A copy, not a link: Spark orders files by their times, which contenders must not share.
        copied = waiting / path.name
        shutil.copyfile(path, copied)
        os.utime(copied, (BEGIN_SECONDS + number, BEGIN_SECONDS + number))
    input.mkdir(exist_ok=True)
    waiting.rename(input / f"{number:06}")
