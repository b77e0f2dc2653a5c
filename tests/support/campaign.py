"""Faults on three brokers: a job is killed and resumed, brokers die and stall, zombies wake up.

A producer writes numbered records all the while. In the end, each of them must have been counted
exactly once. The seed decides which faults come in which order, and how long they take to come;
what the job is doing at that moment depends on the machine.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import numbered
from families import Family
from millstream.kafka import local
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.local.broker import Broker
from numbering import PARTITIONS, Found, Numbers, checked

STALL = 30.0  # seconds for which a broker says nothing
_A_WHILE = 300.0  # seconds: what is waited for takes a few where nothing else runs
_STARTING = 12.0  # seconds in which a job is still starting
_A_BATCH = 2.0  # seconds that a batch may take


class Interrupted(Exception):  # noqa: N818 - it is no error
    """Raised in waiting threads when the campaign is over."""


class Campaign:
    """A cluster of three brokers, a producer, and a job that lives as often as it takes.

    Leaving the ``with`` block ends all that was started.
    """

    def __init__(self, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self.done: Counter[str] = Counter()
        self._folder = folder
        self._random = random.Random(seed)
        self._say = say
        self._over = threading.Event()
        self._started = ExitStack()
        self._numbers_of_lives = itertools.count(1)
        self._alive: list[Family] = []
        with self._started:
            self._started.callback(local.down, folder)
            self._servers = local.up(brokers=3, port=0, data=folder).servers
            self._connection = Connection(self._servers)
            for topic in numbered.TOPICS:
                create_topic(self._connection, topic, partitions=PARTITIONS)
            self.numbers = Numbers(self._servers, seed)
            self._started.callback(self.numbers.stop)
            self._started.callback(self._over.set)
            self._started.callback(lambda: [self._end(life) for life in list(self._alive)])
            self._life = self._begun()
            self._started = self._started.pop_all()

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *error: object) -> None:
        self._started.close()

    # What happens to the job.

    def run(self, kills: int, zombies: int, leaders: int, stalls: int) -> Found:
        """Does all of that, the job's faults beside those of the brokers; what there is then."""
        faults = [self.kill] * kills + [self.zombie] * zombies
        self._random.shuffle(faults)
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(self._trouble, leaders, stalls, self._random.random())
            try:
                for fault in faults:
                    fault()
                    _raise_what_failed(beside)
                beside.result(_A_WHILE)
            finally:
                self._over.set()
        return self.check()

    def kill(self) -> None:
        """Kills the job's driver, its JVM and its Python workers at once, and resumes it."""
        if self._random.random() < 0.25:
            time.sleep(self._random.uniform(0, _STARTING))
        else:
            self._until_it_works()
            time.sleep(self._random.uniform(0, _A_BATCH))
        begun, committed = self._batches()
        self._end(self._life)
        self._note("job killed" + (" in a batch" if begun > committed else " between batches"))
        self._life = self._begun()

    def zombie(self) -> None:
        """Lets the job stand still, starts its successor, and wakes it up again."""
        self._until_it_works()
        time.sleep(self._random.uniform(0, _A_BATCH))
        old = self._life
        old.send(signal.SIGSTOP)
        self._say("job stopped; its successor begins")
        self._life = self._begun("over")
        self._until_it_works(batches=2)
        old.send(signal.SIGCONT)
        code = old.ended(within=_A_WHILE)
        assert code == 1, f"a zombie ended with {code}:\n{old.printed()}"
        assert "MS351" in old.printed()
        self._end(old)
        self._note("zombie ended with an error")

    def check(self) -> Found:
        """Waits until all is processed, and compares what was written with what must be."""
        ends = self.numbers.end()
        self._say(f"{self.numbers.total:,} numbers acknowledged")
        self._wait(lambda: self._position() == ends)
        return checked(self._servers, self.numbers)

    def _begun(self, *over: str) -> Family:
        """A life of the job, which takes over from one that still has the checkpoint if it must."""
        number = next(self._numbers_of_lives)
        family = Family(
            Path(numbered.__file__),
            self._servers,
            self._folder / "checkpoint",
            *over,
            log=self._folder / f"life-{number}.log",
            scratch=self._folder / "scratch",
        )
        self._alive.append(family)
        return family

    def _end(self, life: Family) -> None:
        """Kills a life, at once and whole."""
        life.kill()
        self._alive.remove(life)

    def _until_it_works(self, batches: int = 1) -> None:
        """Waits until the job has committed so many more batches."""
        _, before = self._batches()
        self._wait(lambda: self._batches()[1] >= before + batches)

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _A_WHILE
        while not condition():
            code = self._life.process.poll()
            if code is not None and (why := _ended_by_others(code, self._life.printed())):
                self._note(f"job failed: {why}")
                self._end(self._life)
                self._life = self._begun()
                continue
            assert code is None, f"the job ended with {code}:\n{self._life.printed()}"
            assert time.monotonic() < deadline, f"it never came to this:\n{self._life.printed()}"
            time.sleep(0.1)

    @property
    def _checkpoint(self) -> Path:
        return self._folder / "checkpoint" / numbered.JOB / "spark"

    def _batches(self) -> tuple[int, int]:
        """The newest batch that was begun, and the newest that was committed."""
        logs = [(self._checkpoint / log).glob("[0-9]*") for log in ("offsets", "commits")]
        begun, committed = (max((int(file.name) for file in log), default=-1) for log in logs)
        return begun, committed

    def _position(self) -> dict[str, int]:
        """Where in the partitions the newest batch that was committed ends."""
        _, committed = self._batches()
        noted = (self._checkpoint / "offsets" / str(committed)).read_text().splitlines()[-1]
        offsets: dict[str, int] = json.loads(noted)[numbered.NUMBERS]
        return offsets

    # What happens to brokers.

    def _trouble(self, leaders: int, stalls: int, seed: float) -> None:
        """Faults of brokers, one after the other: two at once would stop everything."""
        chosen = random.Random(seed)
        faults = [self.kill_leader] * leaders + [self.stall] * stalls
        chosen.shuffle(faults)
        for fault in faults:
            _, before = self._batches()
            while self._batches()[1] == before:  # faults are to meet a job at work
                self._pause(0.1)
            self._pause(chosen.uniform(0, 10))
            fault(chosen)

    def kill_leader(self, chosen: random.Random) -> None:
        """Kills the leader of a partition, and starts it again."""
        broker = self._leader(chosen)
        assert broker.process is not None
        broker.process.send(signal.SIGKILL)
        self._note("leader killed")
        self._pause(chosen.uniform(0, 10))
        local.start_broker(broker.id, self._folder)
        self._until_in_sync()

    def stall(self, chosen: random.Random) -> None:
        """Lets the leader of a partition stand still, for longer than the others believe in it."""
        broker = self._leader(chosen)
        assert broker.process is not None
        broker.process.send(signal.SIGSTOP)
        self._note("broker stopped for 30 s")
        try:
            self._pause(STALL)
        finally:
            broker.process.send(signal.SIGCONT)
        self._until_in_sync()

    def _leader(self, chosen: random.Random) -> Broker:
        """The leader of any partition of the job's topics."""
        topic, partition = chosen.choice(numbered.TOPICS), chosen.randrange(PARTITIONS)
        described = self._connection.admin.list_topics(topic, timeout=30).topics[topic]
        return local.existing(self._folder).broker(described.partitions[partition].leader)

    def _until_in_sync(self) -> None:
        """Waits until each partition has all its replicas again."""
        while True:
            topics = self._connection.admin.list_topics(timeout=30).topics.values()
            if all(len(p.isrs) == len(p.replicas) for t in topics for p in t.partitions.values()):
                return
            self._pause(0.5)

    def _pause(self, seconds: float) -> None:
        if self._over.wait(seconds):
            raise Interrupted

    def _note(self, what: str) -> None:
        self.done[what] += 1
        begun, _ = self._batches()
        self._say(f"{what} ({self.numbers.total:,} numbers, batch {begun})")


def _raise_what_failed(beside: Future[None]) -> None:
    if beside.done():
        beside.result()


def _ended_by_others(code: int, printed: str) -> str | None:
    """Why a job ended that did nothing wrong: it is one kill more, after which all must be right.

    Spark gives a Python process ten seconds to answer, which a busy machine may not have. And
    librdkafka may abort its process when a request for a coordinator meets a broker that ends: see
    its issue 4605.
    """
    if code == 1 and "Python worker failed to connect back" in printed:
        return "a Python worker took too long to start"
    if code == -signal.SIGABRT and "rd_kafka_enq_once_del_source_return" in printed:
        return "librdkafka aborted it"
    return None


def main(
    kills: Annotated[int, typer.Option(help="How often the job is killed.")] = 20,
    zombies: Annotated[int, typer.Option(help="How often a job is stopped and replaced.")] = 2,
    leaders: Annotated[int, typer.Option(help="How often a leader is killed.")] = 6,
    stalls: Annotated[int, typer.Option(help="How often a broker is stopped for 30 s.")] = 3,
    seed: Annotated[int, typer.Option(help="What decides which fault comes when.")] = 1,
) -> None:
    """Kills jobs and brokers while numbers are counted, and checks that each was counted once."""
    console = Console()
    began = time.monotonic()

    def say(what: str) -> None:
        console.print(f"{time.monotonic() - began:5.0f} s  {what}", highlight=False)

    folder = Path(tempfile.mkdtemp(prefix="millstream-faults-"))
    say(f"seed {seed}, in {folder}")
    with Campaign(folder, seed, say) as campaign:
        found = campaign.run(kills, zombies, leaders, stalls)
        done = campaign.done
    shutil.rmtree(folder)  # it stays where something went wrong
    say("exactly once: each number is there once, in order, and each pane")
    for what, how_often in sorted(done.items()):
        console.print(f"{how_often:9,}  {what}", highlight=False)
    for what, number in vars(found).items():
        console.print(f"{number:9,}  {what}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
