"""The memory of a batch over bounded input that has more rows and keys than fit at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks import inputs
from benchmarks.answers import WrongAnswerError
from benchmarks.bench import Bench
from benchmarks.contender import ContenderError
from benchmarks.memory import Peak
from benchmarks.results import Result, Target
from benchmarks.sizes import Sizes
from benchmarks.spec import SCHEMA


@dataclass(frozen=True)
class LargeBatch:
    """Count and sum for each key, as one batch from files to files.

    Only Millstream runs, in a process of its own. Its target is the memory of all its Python
    processes: the JVM has the heap that it is given.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 1

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        batches = inputs.windowed(bench.cache, sizes.live_keys, sizes.rows, sizes.large_batches)
        rows = sum(each.rows for each in batches)
        source, output = batches[0].folder.parent, bench.folder / "large-batch"
        bench.display.say("Millstream: one large batch")
        seconds, peak = _measured(bench, source, output)
        _check(source, output)
        bench.display.step(f"Millstream: one batch of {rows:,} rows", seconds)
        python = peak.most_python / 1e9
        return [
            Result(
                self.name,
                f"one batch of {rows:,} rows and {sizes.live_keys:,} keys, memory of Python",
                {"millstream": f"{python:.2f} GB\n{rows / seconds / 1e6:.2f} M rows/s"},
                python,
                self.target,
                {"seconds": seconds, "bytes at the peak": [peak.java, peak.python]},
            )
        ]


def _measured(bench: Bench, source: Path, output: Path) -> tuple[float, Peak]:
    submit = f"--driver-memory {bench.driver_memory} pyspark-shell"
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.large_batch", str(source), str(output)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": submit},
    )
    with Peak(process.pid) as peak:
        _, printed = process.communicate()
    if process.returncode:
        raise ContenderError(f"the batch ended with code {process.returncode}:\n{printed}")
    return time.monotonic() - began, peak


def _check(source: Path, output: Path) -> None:
    """Each key is there once, and nothing is missing in counts and sums."""
    given = pl.scan_parquet(f"{source}/*/*.parquet")
    written = pl.scan_parquet(f"{output}/*.parquet")
    keys, counts, sums = pl.col("key"), pl.col("n"), pl.col("s")
    expected = given.select(keys.n_unique(), n=pl.len(), s=pl.col("price").sum())
    found = written.select(keys.n_unique(), n=counts.sum(), s=sums.sum(), rows=pl.len())
    truth = expected.collect(engine="streaming").row(0)
    answer = found.collect(engine="streaming").row(0)
    if answer != (*truth, truth[0]):
        raise WrongAnswerError(f"keys, rows and sum are {answer[:3]}, not {truth}")


def main(source: str, output: str) -> None:
    import millstream as ms

    rows = ms.read_files(f"{source}/*", schema=SCHEMA, event_time="ts", bounded=True)
    grouped = rows.key_by("key").window(ms.fixed(inputs.LONG_WINDOW_SECONDS))
    results = grouped.aggregate(n=ms.count(), s=ms.sum("price")).select("key", "n", "s")
    results.write_files(output, options={"compression": "snappy"}).run("large-batch")


if __name__ == "__main__":
    main(*sys.argv[1:])
