"""How fast the console answers where there is much to show, and what it costs a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import inputs
from benchmarks.bench import Bench
from benchmarks.results import Result, Target
from benchmarks.sizes import Sizes
from millstream.console.cluster import Cluster
from millstream.console.serve import opened_console
from millstream.console.settings import Settings
from millstream.jobs.registry.database import registry_file, transaction
from millstream.jobs.registry.metrics import batch_report
from millstream.jobs.registry.registry import Registry
from millstream.kafka import local
from millstream.kafka.admin.topics import add_partitions, create_topic
from millstream.kafka.client.connection import Connection
from millstream.reports.progress import BatchReport
from millstream.reports.tracker import Tracker

_TOPIC = "many"
_AT_ONCE = 4_000  # partitions: Kafka does not create 10,000 in one request
_SMALL = {"segment.index.bytes": "1024", "max.message.bytes": "2000000"}
_MESSAGE = 1_000_000  # bytes
_PATIENCE = 300.0  # seconds until all partitions have leaders
_ROUNDS = 5


@dataclass(frozen=True)
class ConsolePages:
    """The slowest page, over HTTP, of a registry with many jobs and a topic with many partitions.

    What is requested first does not count: the console connects to Kafka then.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return 2

    def run(self, bench: Bench) -> list[Result]:
        sizes, data = bench.sizes, bench.folder / "console"
        many_jobs(data, sizes.jobs)
        bench.display.step(f"{sizes.jobs:,} jobs")
        try:
            servers = local.up(port=0, data=data).servers
            many_partitions(Connection(servers), sizes.partitions)
            bench.display.step(f"{sizes.partitions:,} partitions")
            settings = Settings(port=0, data=data)
            with opened_console(settings, Cluster(servers)) as address:
                seconds = {what: _seconds(address + path) for what, path in _PAGES.items()}
        finally:
            local.down(data)
        typical = {what: median(each[1:]) for what, each in seconds.items()}
        slowest = max(typical, key=lambda what: typical[what])
        return [
            Result(
                self.name,
                f"pages: {sizes.jobs:,} jobs, {sizes.partitions:,} partitions, a message of 1 MB",
                {"millstream": f"{slowest}: {typical[slowest] * 1000:.0f} ms"},
                typical[slowest] * 1000,
                self.target,
                {"seconds": seconds},
            )
        ]


_PAGES = {
    "jobs": "/api/jobs",
    "a job": "/api/jobs/job-0",
    "topics": "/api/topics",
    "a topic": f"/api/topics/{_TOPIC}",
    "messages": f"/api/topics/{_TOPIC}/messages",
    "a message": f"/api/topics/{_TOPIC}/message?partition=0&offset=0",
    "volume": f"/api/topics/{_TOPIC}/volume",
    "groups": "/api/groups",
}


def many_jobs(data: Path, count: int) -> None:
    """Jobs of this process that run, with the batches of a minute, as recorders write them."""
    steps = [{"id": f"step-{n}", "name": f"step-{n}", "inputs": []} for n in range(10)]
    plan = json.dumps({"steps": steps, "physical": "stage 0\n" * 100})
    registry, now = Registry(registry_file(data)), time.time()
    with transaction(registry.database):
        for number in range(count):
            job = registry.register(f"job-{number}", "app.py", f"/checkpoints/{number}")
            run, tracker = registry.begin_run(job), Tracker()
            tracker.state("running")
            for batch in range(10):
                at = now - 60 + 6 * batch
                report = BatchReport(batch, at, 0.5, 1_000, watermark=int((at - 2) * 1_000_000))
                tracker.report(report)
                values = (run, batch, report.ended, json.dumps(batch_report(report)))
                registry.database.execute("INSERT INTO batch VALUES (?, ?, 0, ?, ?)", values)
            progress = json.dumps(tracker.progress().to_dict())
            registry.database.execute(
                "UPDATE run SET state = 'running', progress = ? WHERE id = ?", (progress, run)
            )
            registry.database.execute("UPDATE job SET plan = ? WHERE id = ?", (plan, job))
    registry.close()


def many_partitions(connection: Connection, count: int) -> None:
    """A topic with so many partitions, and a large message in the first."""
    create_topic(connection, _TOPIC, partitions=min(count, _AT_ONCE), settings=_SMALL)
    _wait_for_leaders(connection, min(count, _AT_ONCE))
    for total in range(2 * _AT_ONCE, count + _AT_ONCE, _AT_ONCE):
        add_partitions(connection, _TOPIC, min(count, total))
        _wait_for_leaders(connection, min(count, total))
    producer = connection.producer({"message.max.bytes": 2 * _MESSAGE})
    producer.produce(_TOPIC, b"x" * _MESSAGE, partition=0)
    producer.flush(60)


def _wait_for_leaders(connection: Connection, count: int) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        topic = connection.admin.list_topics(timeout=30).topics.get(_TOPIC)
        found = {} if topic is None else topic.partitions
        if len(found) == count and all(each.leader >= 0 for each in found.values()):
            return
        time.sleep(1)
    raise TimeoutError(f"the topic does not have {count:,} partitions after {_PATIENCE:.0f} s")


def _seconds(address: str) -> list[float]:
    seconds = []
    for _ in range(1 + _ROUNDS):
        began = time.perf_counter()
        with urllib.request.urlopen(address, timeout=60) as page:
            page.read()
        seconds.append(time.perf_counter() - began)
    return seconds


@dataclass(frozen=True)
class ConsoleCost:
    """The processor time of a console with two open pages, against the time of the batches.

    The job does not know of the console, and never waits for it: it loses no more than what the
    console takes from the processors. As in ``RegistryCost``, two jobs would only show chance.
    """

    name: str
    target: Target

    def steps(self, sizes: Sizes, engines: int) -> int:
        return sizes.long_warm_up + sizes.steady

    def run(self, bench: Bench) -> list[Result]:
        sizes = bench.sizes
        count = sizes.long_warm_up + sizes.steady
        batches = inputs.windowed(bench.cache, sizes.few_keys, sizes.rows, count)
        with bench.contender("millstream") as contender:
            for batch in batches[: sizes.long_warm_up]:
                bench.fed(contender, batch)
            with _watched() as console:
                before, began = _processor_seconds(console), time.monotonic()
                for batch in batches[sizes.long_warm_up :]:
                    bench.fed(contender, batch)
                spent = _processor_seconds(console) - before
                elapsed = (time.monotonic() - began) * (os.cpu_count() or 1)
            bench.checked(contender)
        return [
            Result(
                self.name,
                "an open console's part of the processors, two pages",
                {"millstream": f"{spent:.2f} of {elapsed:.1f} s"},
                100 * spent / elapsed,
                self.target,
                {"spent": spent, "processors": elapsed},
            )
        ]


@contextmanager
def _watched() -> Iterator[int]:
    """A console over the registry of contenders, with the list of jobs and a job open."""
    command = [sys.executable, "-m", "millstream", "console", "--port", "0", "--read-only"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as console:
        assert console.stdout is not None
        try:
            address = console.stdout.readline().partition("http://")[2].partition(";")[0]
            site = f"http://{address}"
            with urllib.request.urlopen(f"{site}/api/jobs") as listed:
                job = json.load(listed)["jobs"][0]["id"]
            for path in ("/api/jobs/events", f"/api/jobs/{job}/events"):
                threading.Thread(target=_follow, args=(site + path,), daemon=True).start()
            time.sleep(1)
            yield console.pid
        finally:
            console.terminate()


def _follow(address: str) -> None:
    with urllib.request.urlopen(address) as events:
        for _ in events:
            pass


def _processor_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    ticks = int(stat[11]) + int(stat[12])  # in the process and in the kernel for it
    return ticks / float(os.sysconf("SC_CLK_TCK"))
