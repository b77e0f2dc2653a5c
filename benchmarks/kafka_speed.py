"""From Kafka to Kafka, on the benchmark's own broker: rows a second, and latency."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

import numpy as np

from benchmarks import inputs
from benchmarks.answers import WrongAnswerError
from benchmarks.bench import Bench
from benchmarks.contender import seconds_of
from benchmarks.inputs import LONG_WINDOW_SECONDS
from benchmarks.kafka_topics import Sent, records, sent_at_rate
from benchmarks.memory import Peak, processor_seconds
from benchmarks.results import Result, Target, phases, rates
from benchmarks.sizes import Sizes
from benchmarks.spec import Engine
from millstream.kafka import local

ENGINES: tuple[Engine, ...] = ("millstream", "hdfs")
_LONGEST = 5


@contextmanager
def broker(bench: Bench) -> Iterator[str]:
    """The address of a broker, which is removed with its data at the end."""
    data = bench.folder / "kafka"
    bench.display.say("Kafka: starting a broker")
    try:
        yield local.up(port=0, data=data).servers
    finally:
        local.down(data)
        shutil.rmtree(data, ignore_errors=True)


@dataclass(frozen=True)
class KafkaThroughput:
    """Rows a second against Spark's source and sink, which writes only at least once."""

    name: str
    target: Target
    many_keys: bool

    def steps(self, sizes: Sizes, engines: int) -> int:
        return len(ENGINES) * sizes.batches

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        keys = sizes.many_keys if self.many_keys else sizes.few_keys
        batches = inputs.windowed(bench.cache, keys, sizes.records, sizes.batches)
        with (
            broker(bench) as servers,
            bench.contenders(*ENGINES, label=f"-{keys}", servers=servers) as contenders,
        ):
            seconds = bench.in_turns(contenders, batches, sizes.warm_up)
            rows = {engine: bench.checked(each) for engine, each in contenders.items()}
            spent = {engine: phases(each, sizes.warm_up) for engine, each in contenders.items()}
        typical = {engine: median(all[sizes.warm_up :]) for engine, all in seconds.items()}
        return [
            Result(
                self.name,
                f"Kafka to Kafka, {keys:,} keys, final panes",
                rates(sizes.records, typical),
                typical["hdfs"] / typical["millstream"],
                self.target,
                {"seconds": seconds, "rows written": rows, "phases": spent},
            )
        ]


@dataclass(frozen=True)
class ColdStart:
    """All of a backlog in a new process: rows a second, processor time and memory.

    Time counts from the beginning of the first batch to the last result; processor time and memory
    count from the start of the process.
    """

    name: str
    target: Target
    many_keys: bool
    costs: Target | None = None
    """The target for processor time and memory, if these are shown."""

    def steps(self, sizes: Sizes, engines: int) -> int:
        return len(ENGINES) * sizes.rounds

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        keys = sizes.many_keys if self.many_keys else sizes.few_keys
        backlog = inputs.windowed(bench.cache, keys, sizes.records, sizes.batches)[: sizes.steady]
        found: dict[Engine, list[tuple[float, float, float]]] = {engine: [] for engine in ENGINES}
        with broker(bench) as servers:
            for number in range(sizes.rounds):
                for engine in ENGINES[:: -1 if number % 2 else 1]:
                    found[engine].append(self._one(bench, engine, servers, backlog, number))
        rows = sum(batch.rows for batch in backlog)
        each = {e: [median(some) for some in zip(*all, strict=True)] for e, all in found.items()}
        seconds, processor, memory = ({e: v[i] for e, v in each.items()} for i in range(3))
        title = f"Kafka to Kafka, cold, {keys:,} keys"
        results = [
            Result(
                self.name,
                f"{title}, {rows:,} records",
                rates(rows, seconds),
                seconds["hdfs"] / seconds["millstream"],
                self.target,
                {"seconds, processor seconds, gigabytes": found},
            )
        ]
        if self.costs is not None:
            for what, unit, values in (
                ("processor time", "s", processor),
                ("memory", "GB", memory),
            ):
                results.append(
                    Result(
                        self.name,
                        f"{title}, {what}",
                        {e: f"{value:.1f} {unit}" for e, value in values.items()},
                        values["millstream"] / values["hdfs"],
                        self.costs,
                        {},
                    )
                )
        return results

    def _one(
        self, bench: Bench, engine: Engine, servers: str, backlog: list[inputs.Batch], number: int
    ) -> tuple[float, float, float]:
        """Seconds, processor seconds, and gigabytes."""
        label = f"-cold-{len(backlog)}-{backlog[0].rows}-{number}-{self.many_keys}"
        # Spark's own closes windows in the batch after the one that ends them: one without data.
        idles = engine != "millstream"
        with (
            bench.contender(engine, label, servers=servers, idles=idles) as each,
            Peak(each.session) as peak,
        ):
            bench.display.say(f"{each.title}: {len(backlog)} batches at once")
            seconds = each.start_on(backlog)
            peak.close()
            spent = processor_seconds(each.session)
            bench.display.step(f"{each.title}: {len(backlog)} batches at once", seconds)
            bench.checked(each)
        return seconds, spent, peak.total / 1e9


@dataclass(frozen=True)
class ExactlyOnce:
    """What transactions cost: rows a second, against the same program without them."""

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 2 * sizes.batches

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        batches = inputs.windowed(bench.cache, sizes.many_keys, sizes.records, sizes.batches)
        seconds: dict[str, list[float]] = {"exactly_once": [], "at_least_once": []}
        with (
            broker(bench) as servers,
            bench.contender("millstream", "-once", servers=servers) as once,
            bench.contender(
                "millstream", "-least", servers=servers, delivery="at_least_once"
            ) as least,
        ):
            both = {"exactly_once": once, "at_least_once": least}
            for number, batch in enumerate(batches):
                order = list(both) if number % 2 else list(both)[::-1]
                for name in order:
                    seconds[name].append(bench.fed(both[name], batch))
            for each in both.values():
                bench.checked(each)
        typical = {name: median(all[sizes.warm_up :]) for name, all in seconds.items()}
        return [
            Result(
                self.name,
                f"exactly once against at least once, {sizes.many_keys:,} keys",
                {
                    "millstream": f"{typical['exactly_once']:.2f} s : "
                    f"{typical['at_least_once']:.2f} s"
                },
                typical["at_least_once"] / typical["exactly_once"],
                self.target,
                {"seconds": seconds},
            )
        ]


@dataclass(frozen=True)
class Latency:
    """From when the broker has a record until it has the first pane that counts it.

    Panes contain how many records of their key they count, and records of a key stay in order: so
    each record is found in its pane.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return len(ENGINES) * (1 + sizes.rate_turns)

    def run(self, bench: Bench) -> list[Result]:
        found, longest = self._measured(bench)
        shares = {"half of the records": 50, "99 of 100 records": 99}
        return [
            Result(
                self.name,
                f"Kafka to Kafka, {share} within, at {bench.sizes.rate:,} records/s",
                {e: f"{np.percentile(all, percent) / 1000:.2f} s" for e, all in found.items()},
                float(
                    np.percentile(found["millstream"], percent)
                    / np.percentile(found["hdfs"], percent)
                ),
                self.target,
                {
                    "milliseconds": {
                        e: np.percentile(a, [1, 50, 99]).tolist() for e, a in found.items()
                    },
                    "longest batches": longest,
                },
            )
            for share, percent in shares.items()
        ]

    def _measured(
        self, bench: Bench
    ) -> tuple[dict[Engine, list[int]], dict[Engine, list[dict[str, Any]]]]:
        """Latencies, and what Spark reported of the batches that probably caused the longest."""
        sizes, program = bench.sizes, {"updates": True, "window_seconds": LONG_WINDOW_SECONDS}
        (first,) = inputs.windowed(bench.cache, sizes.few_keys, sizes.touched, 1)
        sent = {engine: Sent() for engine in ENGINES}
        with (
            broker(bench) as servers,
            bench.contenders(
                *ENGINES, label="-latency", servers=servers, live=True, **program
            ) as contenders,
        ):
            for each in contenders.values():
                with each.awake():
                    bench.fed(each, first)  # its records are not measured
            for turn in range(sizes.rate_turns):
                for engine in ENGINES[:: -1 if turn % 2 else 1]:
                    each = contenders[engine]
                    bench.display.say(f"{each.title}: {sizes.rate_seconds} s of records")
                    with each.awake():
                        each.drained(sent_at_rate(each.spec, sizes, sent[engine]))
                    bench.display.step(f"{each.title}: {sizes.rate_seconds} s of records")
            found = {}
            for engine, each in contenders.items():
                with each.awake():
                    each.stop()
                _, topic = each.spec.topics
                found[engine] = latencies(sent[engine], records(servers, topic), sizes)
            longest = {
                engine: _longest(each.progress, sent[engine].turns[sizes.rate_warm_up][0])
                for engine, each in contenders.items()
            }
        return found, longest


def _longest(progress: list[dict[str, Any]], since: int) -> list[dict[str, Any]]:
    """The longest batches since an instant in milliseconds."""
    counted = [
        each
        for each in progress
        if datetime.fromisoformat(each["timestamp"]).timestamp() * 1000 >= since
    ]
    counted.sort(key=seconds_of, reverse=True)
    names = ("batchId", "timestamp", "numInputRows", "durationMs")
    return [{name: each[name] for name in names} for each in counted[:_LONGEST]]


def latencies(sent: Sent, panes: Iterable[tuple[int, dict[str, Any]]], sizes: Sizes) -> list[int]:
    """How long each record took that counts, in milliseconds."""
    panes_of: dict[int, list[tuple[int, int]]] = {key: [] for key in sent.taken}
    for at, pane in panes:
        if pane["key"] in panes_of:
            panes_of[pane["key"]].append((at, pane["n"]))
    margin = sizes.rate_margin * 1000
    count = [(a + margin, z - margin) for a, z in sent.turns[sizes.rate_warm_up :]]
    found = []
    for key, times in sent.taken.items():
        covered = 0
        for at, n in sorted(panes_of[key]):
            found += [
                at - time
                for time in times[covered:n]
                if any(began <= time <= ended for began, ended in count)
            ]
            covered = max(covered, n)
        if covered != len(times):
            raise WrongAnswerError(f"key {key}: {covered:,} records counted of {len(times):,}")
    return found
