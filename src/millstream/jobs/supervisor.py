"""Runs a job in a process of its own, in the background, and starts it again when it has failed.

``python -m millstream.jobs.supervisor ID`` is the process that does this. It starts what the
registry has as the job's launch, with the log as its output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from millstream.jobs.logs import limit_size, log_file, write_line
from millstream.jobs.registry.entries import JobEntry, Place
from millstream.jobs.registry.registry import Registry, opened_registry
from millstream.model.errors import MillstreamError
from millstream.spark.driver.restarts import Restarts
from millstream.system.data_directory import DATA
from millstream.system.processes import machine, spawn

RESTARTS = 5
"""How often a job is started again within ten minutes."""
_LOOKS = 1.0


def detach(registry: Registry, job: JobEntry) -> Path:
    """Starts a supervisor for the job, which continues when this process ends; returns its log."""
    assert job.launch is not None
    log = log_file(registry.file, job.name, job.id)
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    process = spawn(
        [sys.executable, "-m", "millstream.jobs.supervisor", job.id],
        cwd=Path(job.launch["directory"]),
        output=log,
        environment={**os.environ, DATA: str(registry.file.parent.parent)},
        append=True,
    )
    registry.set_supervisor(job.id, Place(process, machine(), os.uname().nodename))
    return log


class Supervisor:
    """Runs one job until it ends well, is stopped, or has failed too often.

    A job that fails before it has finished a batch is not started again, unless it once did: it
    would most likely fail again.
    """

    def __init__(self, job: str, restarts: Restarts) -> None:
        self._job = job
        self._restarts = restarts
        self._asked = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._has_worked = False

    def run(self) -> None:
        """Returns when the job is no longer to run."""
        with opened_registry() as registry:
            job = registry.job(self._job)
            self._note(registry, Place.own())
            log = log_file(registry.file, job.name, job.id)
            try:
                while self._run_once(job, log) and not self._asked.is_set():
                    pause = self._pause(registry.job(self._job), log)
                    if pause is None or self._asked.wait(pause):
                        break
            finally:
                self._note(registry, None)

    def _note(self, registry: Registry, place: Place | None) -> None:
        """Without its note the job runs as well; that of a process that has ended is void."""
        with suppress(MillstreamError):
            registry.set_supervisor(self._job, place)

    def stop(self, *_: Any) -> None:
        """The handler of SIGTERM: passes it on to the job."""
        self._asked.set()
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGTERM)

    def _run_once(self, job: JobEntry, log: Path) -> bool:
        """Runs the job; whether it has failed."""
        assert job.launch is not None
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                job.launch["command"],
                cwd=job.launch["directory"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        while True:
            try:
                return self._child.wait(_LOOKS) != 0
            except subprocess.TimeoutExpired:
                limit_size(log)

    def _pause(self, job: JobEntry, log: Path) -> float | None:
        """How many seconds to wait before the job is started again; None if it is not to be."""
        run = job.run
        if run is None or run.stop or run.state not in ("failed", "lost"):
            return None  # it was stopped, or another process runs it by now
        self._has_worked |= bool(run.progress and run.progress["batches"])
        why = (run.reason or "").partition("\n")[0]
        if run.state == "failed" and not self._has_worked:
            write_line(log, f"the job is not started again: it failed at its start: {why}")
            return None
        pause = self._restarts.pause()
        if pause is None:
            write_line(log, f"the job is not started again: it has failed too often: {why}")
            return None
        count = f"restart {self._restarts.count} of {self._restarts.limit} in 10 minutes"
        write_line(log, f"the job is started again in {pause:g} s ({count}): {why}")
        return pause


def main(job: str) -> None:
    """Supervises a job in this process."""
    supervisor = Supervisor(job, Restarts(RESTARTS))
    signal.signal(signal.SIGTERM, supervisor.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        supervisor.run()
    except MillstreamError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1])
