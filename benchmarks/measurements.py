"""The measurements: each runs contenders, and returns lines of the table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Protocol

from benchmarks import inputs
from benchmarks.bench import Bench, Seconds
from benchmarks.console_pages import ConsoleCost, ConsolePages
from benchmarks.contender import seconds_of
from benchmarks.join_state import JoinState
from benchmarks.kafka_speed import ColdStart, ExactlyOnce, KafkaThroughput, Latency
from benchmarks.large_batch import LargeBatch
from benchmarks.live_keys import LiveKeys
from benchmarks.registry_cost import RegistryCost
from benchmarks.results import Result, Target, phases, rates
from benchmarks.sizes import Sizes
from benchmarks.sliding import Slides
from benchmarks.spec import COUNTED, INTERVAL_SECONDS, Engine
from benchmarks.state_speed import StateSpeed


class Measurement(Protocol):
    """Something to measure."""

    @property
    def name(self) -> str:
        """Its name for ``--only``."""

    def steps(self, sizes: Sizes, engines: int) -> int:
        """How many steps of the progress bar it takes."""

    def run(self, bench: Bench) -> list[Result]:
        """Measures it."""


@dataclass(frozen=True)
class Throughput:
    """Rows per second: of final results, or of updates in each batch."""

    name: str
    target: Target
    many_keys: bool
    updates: bool = False
    without: tuple[Engine, ...] = ()
    """Stores of Spark that are left out to save time: another measurement shows them far behind."""

    def steps(self, sizes: Sizes, engines: int) -> int:
        some = engines - (len(self.without) if engines > 2 else 0)
        return some * (self._warm_up(sizes) + sizes.steady)

    def _warm_up(self, sizes: Sizes) -> int:
        return sizes.warm_up if self.many_keys else sizes.long_warm_up

    def run(self, bench: Bench) -> list[Result]:
        sizes, warm_up = bench.sizes, self._warm_up(bench.sizes)
        keys = sizes.many_keys if self.many_keys else sizes.few_keys
        batches = inputs.windowed(bench.cache, keys, sizes.rows, warm_up + sizes.steady)
        asked = len(bench.engines) == 2  # for one of Spark's stores, whichever it is
        engines = [e for e in bench.engines if asked or e not in self.without]
        with bench.contenders(*engines, updates=self.updates) as contenders:
            seconds = bench.in_turns(contenders, batches, warm_up)
            rows = {engine: bench.checked(each) for engine, each in contenders.items()}
            spent = {engine: phases(each, warm_up) for engine, each in contenders.items()}
        typical = {e: median(all[warm_up:]) for e, all in seconds.items()}
        what = "an update in every batch" if self.updates else "final panes"
        return [
            Result(
                self.name,
                f"{keys:,} keys, {what}",
                rates(sizes.rows, typical),
                _faster_native(typical) / typical["millstream"],
                self.target,
                {"seconds": seconds, "rows written": rows, "phases": spent},
            )
        ]


@dataclass(frozen=True)
class FirstBatch:
    """From the first line of a program to the end of its first batch, in a started Spark."""

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 2 * sizes.rounds

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        batches = inputs.windowed(bench.cache, sizes.few_keys, sizes.rows, sizes.batches)
        engines = bench.engines[:2]  # Spark starts with both stores alike
        seconds: Seconds = {engine: [] for engine in engines}
        for _ in range(sizes.rounds):
            with bench.contenders(*engines) as contenders:
                for engine, took in bench.in_turns(contenders, batches[:1], 0).items():
                    seconds[engine] += took
                for each in contenders.values():
                    bench.checked(each)
        typical = {engine: median(all) for engine, all in seconds.items()}
        return [
            Result(
                self.name,
                f"first batch, {sizes.few_keys:,} keys",
                {engine: f"{s:.2f} s" for engine, s in typical.items()},
                typical["millstream"] / _faster_native(typical),
                self.target,
                {"seconds": seconds},
            )
        ]


@dataclass(frozen=True)
class NoData:
    """A batch without new rows.

    Millstream runs them by the clock. Spark's aggregation runs one after a batch with data, to
    close windows, and else none: its figure is only to compare.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 2 * (sizes.warm_up + 1) + 1

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        batches = inputs.windowed(bench.cache, sizes.few_keys, sizes.rows, sizes.batches)
        batches = batches[: sizes.warm_up + 1]
        seconds: Seconds = {}
        for engine in bench.engines[:2]:
            with bench.contender(engine, idles=True) as each:
                bench.in_turns({engine: each}, batches, sizes.warm_up)
                if engine == "millstream":
                    bench.display.say(f"{each.title}: batches without data")
                    each.idle(sizes.idles)
                    bench.display.step(f"{each.title}: {sizes.idles} batches without data")
                empty = [p for p in each.progress if not p["numInputRows"]]
                seconds[engine] = [seconds_of(p) for p in empty[-sizes.steady :]]
                bench.checked(each)
        typical = {engine: median(all) for engine, all in seconds.items()}
        return [
            Result(
                self.name,
                "batch without data, one stage",
                {engine: f"{s:.2f} s" for engine, s in typical.items()},
                typical["millstream"],
                self.target,
                {"seconds": seconds},
            )
        ]


def _faster_native(typical: dict[Engine, float]) -> float:
    return min(seconds for engine, seconds in typical.items() if engine != "millstream")


MEASUREMENTS: tuple[Measurement, ...] = (
    Throughput("keys-1k", Target(1.0, at_least=True), many_keys=False),
    Throughput("keys-1m", Target(2.0, at_least=True), many_keys=True),
    Throughput(
        "updates-1m", Target(2.0, at_least=True), many_keys=True, updates=True, without=("rocksdb",)
    ),
    FirstBatch("first-batch", Target(1.5)),
    NoData("no-data", Target(0.35, unit="s")),
    LiveKeys("live-keys", touched=Target(2.0), memory=Target(1.0)),
    LargeBatch("large-batch", Target(2.0, unit="GB")),
    RegistryCost("registry", Target(1.0, unit="%")),
    ConsoleCost("console-cost", Target(3.0, unit="%")),
    ConsolePages("console", Target(500.0, unit="ms")),
    Slides("sliding", Target(3.0)),
    StateSpeed(
        "process",
        "a counter of rows, row by row",
        "process",
        ("rocksdb", "process"),
        Target(10.0, at_least=True),
    ),
    StateSpeed(
        "process-columns",
        "the same for many keys at once, against row by row",
        "process_columns",
        ("millstream", "process"),
        Target(10.0, at_least=True),
    ),
    StateSpeed(
        "deduplicate",
        "ids within an hour",
        "deduplicate",
        ("rocksdb", "deduplicate"),
        Target(1.5, at_least=True),
        many_keys=True,
    ),
    StateSpeed(
        "count-windows",
        f"windows of {COUNTED} rows, against windows of time",
        "count_windows",
        ("millstream", "windows"),
        Target(0.5, at_least=True),
    ),
    StateSpeed(
        "interval-join",
        f"rows of two streams at most {INTERVAL_SECONDS} s apart, as many rows on each side",
        "interval_join",
        ("rocksdb", "interval_join"),
        Target(1.5, at_least=True),
    ),
    StateSpeed(
        "window-join",
        "rows of two streams in windows of 10 s, as many rows on each side",
        "window_join",
        ("rocksdb", "window_join"),
        Target(1.5, at_least=True),
    ),
    StateSpeed(
        "temporal-join",
        "each row with the version of a table, against an interval join",
        "temporal_join",
        ("millstream", "interval_join"),
        Target(1.0, at_least=True),
        many_keys=True,
    ),
    JoinState("join-state", touched=Target(2.0), memory=Target(1.3)),
    KafkaThroughput("kafka-1k", Target(4.0, at_least=True), many_keys=False),
    KafkaThroughput("kafka-1m", Target(2.5, at_least=True), many_keys=True),
    ColdStart("kafka-cold-1k", Target(2.2, at_least=True), many_keys=False, costs=Target(1.0)),
    ColdStart("kafka-cold-1m", Target(1.8, at_least=True), many_keys=True),
    ExactlyOnce("kafka-once", Target(0.8, at_least=True)),
    Latency("kafka-latency", Target(1.3)),
)
