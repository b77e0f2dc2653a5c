"""A contender, as the parent sees it: a process with its own JVM, which runs commands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any

from benchmarks.inputs import Batch, put
from benchmarks.kafka_topics import made, send
from benchmarks.memory import processes
from benchmarks.spec import JOINS, TITLES, Spec
from millstream.kafka.local.jars import jars

MOST_SECONDS = 600
"""How long an answer may take."""


class ContenderError(Exception):
    """A contender that failed, with the end of what it printed."""


class Contender:
    """Runs a spec in a folder that is removed with the contender.

    The child has its own session. Spark puts its Python workers into another process group, but all
    processes stay in the session: so they can be found.
    """

    def __init__(self, spec: Spec, driver_memory: str) -> None:
        self.spec = spec
        self.title = TITLES[spec.engine]
        self.fed: list[Batch] = []
        self.progress: list[dict[str, Any]] = []
        self._registry: list[float] = []
        folder = Path(spec.folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if spec.servers:
            made(spec)
        self._log = folder.with_suffix(".log")
        submit = f"--driver-memory {driver_memory}{_connector(spec)} pyspark-shell"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.child", spec.to_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env={**os.environ, "PYSPARK_SUBMIT_ARGS": submit},
            )
        self.versions: dict[str, str] = {}

    @property
    def session(self) -> int:
        """Identifies its processes."""
        return self._process.pid

    @property
    def registry_seconds(self) -> tuple[float, float]:
        """The processor time that the registry has taken, after the first batch and the last."""
        return self._registry[0], self._registry[-1]

    def ready(self) -> None:
        """Waits until its Spark has started."""
        self.versions = self._answer()

    def start(self, batch: Batch) -> float:
        """Starts the program; returns the seconds until the end of its first batch."""
        self._put(batch)
        return float(self._progress("start")["seconds"])

    def start_on(self, backlog: list[Batch]) -> float:
        """Starts the program over batches that are there before.

        Returns the seconds from the beginning of its first batch until all is written.
        """
        for batch in backlog:
            self._put(batch)
        ended = self._progress("start")["batches"]
        began = [datetime.fromisoformat(each["timestamp"]).timestamp() for each in ended]
        return began[-1] + seconds_of(ended[-1]) - began[0]

    def batch(self, batch: Batch) -> float:
        """Gives it a batch; returns the seconds that it took."""
        self._put(batch)
        ended = self._progress("batch")["batches"]
        # Spark may see some partitions of a topic before the others.
        return sum(seconds_of(each) for each in ended if each["numInputRows"])

    def drained(self, rows: int) -> None:
        """Waits until it has processed rows that it was sent one by one."""
        self.fed.append(Batch(Path(), rows))
        self._progress("batch")

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Its turn, after which it is stopped until the next: it would look for rows all the time.

        Whether it runs or not, ``end`` ends it.
        """
        self._signal(signal.SIGCONT)
        yield
        self._signal(signal.SIGSTOP)

    def idle(self, count: int) -> None:
        """Lets it run so many batches without data."""
        self._progress(f"idle {count}")

    def stop(self) -> None:
        """Ends the program; its output is complete. It is an error if rows were lost."""
        ended = self._ask("stop")
        # Spark counts a file as one row if Millstream reads it.
        read = ended.get("read", sum(each["numInputRows"] for each in self.progress))
        sides = 2 if self.spec.program in JOINS else 1  # a join reads all rows on each side
        fed = sides * sum(batch.rows for batch in self.fed)
        dropped = sum(
            operator["numRowsDroppedByWatermark"]
            for each in self.progress
            for operator in each["stateOperators"]
        )
        if (read, ended["late"], ended["rejected"], dropped) != (fed, 0, 0, 0):
            raise ContenderError(
                f"{self.title} read {read:,} of {fed:,} rows, found {ended['late']:,} late and "
                f"rejected {ended['rejected']:,}; Spark dropped {dropped:,}"
            )

    def end(self) -> None:
        """Ends all of its processes, whatever they do."""
        self._signal(signal.SIGKILL)
        self._process.kill()
        self._process.communicate()
        shutil.rmtree(self.spec.folder, ignore_errors=True)

    def __enter__(self) -> Contender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def _signal(self, number: signal.Signals) -> None:
        for process in processes(self.session):
            with suppress(ProcessLookupError):
                os.kill(int(process.name), number)

    def _put(self, batch: Batch) -> None:
        if self.spec.servers:
            send(batch, len(self.fed), self.spec)
        else:
            put(batch, len(self.fed), Path(self.spec.input))
        self.fed.append(batch)

    def _progress(self, asked: str) -> dict[str, Any]:
        ended = self._ask(asked)
        self.progress += ended["batches"]
        self._registry.append(ended.get("registry", 0.0))
        return ended

    def _ask(self, asked: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended: the missing answer is reported
            self._process.stdin.write(f"{asked}\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        in_time, _, _ = select([stdout], [], [], MOST_SECONDS)
        line = stdout.readline() if in_time else ""
        if line:
            ended: dict[str, Any] = json.loads(line)
            return ended
        if in_time:
            what = f"ended with code {self._process.wait()}"  # of a signal: less than zero
        else:
            what = f"gave no answer for {MOST_SECONDS} s"
        raise ContenderError(f"{self.title} {what}; its last output:\n{self._last_output()}")

    def _last_output(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])


def _connector(spec: Spec) -> str:
    """What Spark's own source and sink need to reach Kafka."""
    if not spec.servers or spec.engine == "millstream":
        return ""
    return f" --jars {','.join(map(str, jars('connector')))}"


def seconds_of(progress: dict[str, Any]) -> float:
    """How long a micro-batch took, as Spark measured it, from its trigger to its end."""
    return float(progress["durationMs"]["triggerExecution"]) / 1000
