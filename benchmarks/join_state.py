"""The cost of many rows in the state of a join: time for a batch that touches few, and memory."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.contender import Contender
from benchmarks.memory import Peak
from benchmarks.results import Result, Target
from benchmarks.sizes import Sizes
from benchmarks.spec import Engine

HOURS = 2
"""How long rows are kept: longer than all of the input."""
LOADS = 5
"""Batches with the rows that are kept."""


@dataclass(frozen=True)
class JoinState:
    """An interval join that keeps one row of each key, and then gets rows of some keys.

    What Spark needs for the same is shown beside it.
    """

    name: str
    touched: Target
    memory: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 4 * (LOADS + sizes.warm_up + sizes.steady)

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        engines: tuple[Engine, Engine] = ("millstream", "rocksdb")
        many: dict[Engine, float] = {}
        fewer: dict[Engine, float] = {}
        peaks: dict[Engine, Peak] = {}
        seconds: dict[str, list[float]] = {}
        for engine in engines:
            program = {"program": "interval_join", "join_seconds": HOURS * 3600}
            with (
                bench.contender(engine, "-many", **program) as one,
                Peak(one.session) as peak,
            ):
                seconds[f"{engine}, many"] = self._touches(bench, one, sizes.join_rows)
                peak.close()
                bench.checked(one)
            with bench.contender(engine, "-fewer", **program) as other:
                seconds[f"{engine}, fewer"] = self._touches(bench, other, sizes.fewer_join_rows)
                bench.checked(other)
            many[engine] = median(seconds[f"{engine}, many"])
            fewer[engine] = median(seconds[f"{engine}, fewer"])
            peaks[engine] = peak
        return [
            Result(
                self.name,
                f"{sizes.touched:,} touched keys, {sizes.join_rows:,} rows in the state of a join "
                f"against {sizes.fewer_join_rows:,}",
                {e: f"{many[e]:.2f} s : {fewer[e]:.2f} s" for e in engines},
                many["millstream"] / fewer["millstream"],
                self.touched,
                {"seconds": seconds},
            ),
            Result(
                f"{self.name}, memory",
                f"peak memory at {sizes.join_rows:,} rows in the state of a join",
                {e: f"{peaks[e].total / 1e9:.2f} GB" for e in engines},
                peaks["millstream"].total / peaks["rocksdb"].total,
                self.memory,
                {"bytes at the peak": {e: [p.java, p.python] for e, p in peaks.items()}},
            ),
        ]

    def _touches(self, bench: Bench, contender: Contender, keys: int) -> list[float]:
        """Loads a row of each key; returns how long batches with some of the keys take."""
        sizes = bench.sizes
        for batch in inputs.loading(bench.cache, keys, keys // LOADS, LOADS):
            bench.fed(contender, batch)
        count = sizes.warm_up + sizes.steady
        batches = inputs.touching(bench.cache, keys, min(sizes.touched, keys), count)
        return [bench.fed(contender, batch) for batch in batches][sizes.warm_up :]
