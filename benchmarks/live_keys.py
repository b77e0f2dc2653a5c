"""The cost of many live keys: time for a batch that touches few, and memory."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.contender import Contender
from benchmarks.inputs import LONG_WINDOW_SECONDS, Batch
from benchmarks.memory import Peak
from benchmarks.results import Result, Target
from benchmarks.sizes import Sizes
from benchmarks.spec import Engine


@dataclass(frozen=True)
class Found:
    """What was measured of Millstream."""

    many: list[float]
    fewer: list[float]
    loading: list[float]
    peak: Peak

    def to_json(self) -> dict[str, Any]:
        """The values, for a file."""
        return {
            "seconds with many live keys": self.many,
            "seconds with fewer live keys": self.fewer,
            "seconds of loading": self.loading,
        }


@dataclass(frozen=True)
class LiveKeys:
    """All keys are in one long window, which does not end before all is measured.

    Memory is compared with RocksDB: Spark's other store holds all keys in the JVM's heap.
    """

    name: str
    touched: Target
    memory: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        batches = sizes.loads + sizes.warm_up + sizes.touches
        closes = 2
        return 2 * (batches + closes) + sizes.loads

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        found = self._measured(bench)
        many, fewer = median(found.many), median(found.fewer)
        peaks: dict[Engine, Peak] = {
            "millstream": found.peak,
            "rocksdb": self._peak_of_spark(bench),
        }
        return [
            Result(
                self.name,
                f"{sizes.touched:,} touched keys, of {sizes.live_keys:,} live against of "
                f"{sizes.fewer_live_keys:,}",
                {"millstream": f"{many:.2f} s : {fewer:.2f} s"},
                many / fewer,
                self.touched,
                found.to_json(),
            ),
            Result(
                f"{self.name}, memory",
                f"peak memory at {sizes.live_keys:,} live keys",
                {e: f"{p.total / 1e9:.2f} GB\n{_parts(p)}" for e, p in peaks.items()},
                peaks["millstream"].total / peaks["rocksdb"].total,
                self.memory,
                {"bytes at the peak": {e: [p.java, p.python] for e, p in peaks.items()}},
            ),
        ]

    def _measured(self, bench: Bench) -> Found:
        sizes = bench.sizes
        with (
            bench.contender("millstream", "-many", window_seconds=LONG_WINDOW_SECONDS) as many,
            Peak(many.session) as peak,
        ):
            loading = [bench.fed(many, batch) for batch in self._load(bench, sizes.live_keys)]
            with bench.contender(
                "millstream", "-fewer", window_seconds=LONG_WINDOW_SECONDS
            ) as fewer:
                for batch in self._load(bench, sizes.fewer_live_keys):
                    bench.fed(fewer, batch)
                touches = self._touches(bench, many, fewer)
                peak.close()
                self._end(bench, fewer)
            self._end(bench, many)
        return Found(*touches, loading, peak)

    def _peak_of_spark(self, bench: Bench) -> Peak:
        """While the keys are read. Spark needs minutes to emit them; answers were checked."""
        with (
            bench.contender("rocksdb", "-many", window_seconds=LONG_WINDOW_SECONDS) as many,
            Peak(many.session) as peak,
        ):
            for batch in self._load(bench, bench.sizes.live_keys):
                bench.fed(many, batch)
            peak.close()
        return peak

    def _load(self, bench: Bench, keys: int) -> list[Batch]:
        """As many batches and rows for fewer keys, so that both are equally warm."""
        return inputs.loading(bench.cache, keys, bench.sizes.rows, bench.sizes.loads)

    def _touches(
        self, bench: Bench, many: Contender, fewer: Contender
    ) -> tuple[list[float], list[float]]:
        sizes = bench.sizes
        count = sizes.warm_up + sizes.touches
        of_many = inputs.touching(bench.cache, sizes.live_keys, sizes.touched, count)
        of_fewer = inputs.touching(bench.cache, sizes.fewer_live_keys, sizes.touched, count)
        seconds = [
            (bench.fed(many, one), bench.fed(fewer, other))
            for one, other in zip(of_many, of_fewer, strict=True)
        ]
        steady = seconds[sizes.warm_up :]
        return [one for one, _ in steady], [other for _, other in steady]

    def _end(self, bench: Bench, contender: Contender) -> None:
        for batch in inputs.closing(bench.cache):
            bench.fed(contender, batch)
        bench.checked(contender)


def _parts(peak: Peak) -> str:
    return f"JVM {peak.java / 1e9:.2f}, Python {peak.python / 1e9:.2f}"
