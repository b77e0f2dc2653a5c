"""Records a job in the registry, from its own process, in a thread that the job never waits for."""

from __future__ import annotations

import atexit
import json
import logging
import os
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from millstream.jobs.registry.database import registry_file, transaction
from millstream.jobs.registry.metrics import batch_report, thin
from millstream.jobs.registry.registry import Registry, code_in
from millstream.jobs.registry.samples import forget_samples, write_samples
from millstream.model.errors import MillstreamError
from millstream.reports.masking import masked
from millstream.reports.outcome import error_text
from millstream.reports.progress import BatchReport
from millstream.reports.tracker import Tracker

_log = logging.getLogger("millstream.job")

_LOOKS = 1.0  # seconds between two looks for a request to stop
_BEATS = 5.0  # between two signs of life
_RETRIES = 5.0  # until a registry that could not be written is tried again
_THINS = 60.0  # between two clean-ups
_PATIENCE = 2.0  # for another process that writes
_MOST_WAITING = 1_000  # batches that are kept while the registry cannot be written

Errors = (sqlite3.Error, OSError, MillstreamError)


class Recorder:
    """Records one run of a job, from its start to its end.

    Its thread is the only one that uses the registry. If the registry is locked, full or gone, the
    job continues; a warning says so once, and what the registry missed is written later if it can
    be.
    """

    def __init__(self, name: str, folder: str, plan: dict[str, Any], tracker: Tracker) -> None:
        self._name = name
        self._folder = folder
        self._plan = plan
        self._tracker = tracker
        self._file = registry_file()
        self._program = _program()
        self._run = token_hex(8)
        self._failure: str | None = None
        self._stop: Callable[[], None] | None = None
        self._waiting: deque[BatchReport] = deque(maxlen=_MOST_WAITING)
        self._registry: Registry | None = None
        self._job = ""
        self._inode = 0
        self._warned = False
        self._described = False
        self._times = {"beat": 0.0, "thin": 0.0, "retry": 0.0}
        self._news = threading.Event()
        tracker.subscribe(self._changed)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.name = f"millstream-registry-{name}"
        self._thread.start()
        atexit.register(self.close)

    def describe(self, parallelism: dict[str, int]) -> None:
        """Adds in how many tasks steps run, which is known once Spark has started."""
        steps = [
            {**each, "parallelism": parallelism.get(each["id"])} for each in self._plan["steps"]
        ]
        self._plan = {**self._plan, "steps": steps}
        self._described = False
        self._news.set()

    def on_stop(self, stop: Callable[[], None]) -> None:
        """What to call when somebody asks the job to stop."""
        self._stop = stop

    def fail(self, error: BaseException) -> None:
        """Records that the job could not be started, or that Ctrl-C was pressed before it was."""
        if isinstance(error, KeyboardInterrupt):
            self._tracker.state("stopped")
        else:
            self._failure = error_text(error)
        self.close()

    def close(self) -> None:
        """Waits, but not for long, until the end of the job is in the registry."""
        if self._is_over():
            self._news.set()
            self._thread.join(_PATIENCE)
            atexit.unregister(self.close)

    def _is_over(self) -> bool:
        return self._failure is not None or self._tracker.progress().over

    def _changed(self, report: BatchReport | None) -> None:
        if report is not None:
            self._waiting.append(report)
        self._news.set()

    # The thread.

    def _work(self) -> None:
        while True:
            over = self._is_over()
            done = time.monotonic() >= self._times["retry"] and self._try()
            if over and (done or self._warned):
                break
            self._news.wait(_LOOKS)
            self._news.clear()
        self._disconnect()

    def _try(self) -> bool:
        try:
            self._write()
        except Errors as error:
            self._times["retry"] = time.monotonic() + _RETRIES
            self._disconnect()
            if not self._warned:
                self._warned = True
                _log.warning(
                    "job %r is not recorded in the registry %s: %s. It continues without it; "
                    "what it missed is recorded later, if that is possible",
                    self._name, self._file, error,
                )  # fmt: skip
            return False
        return True

    def _write(self) -> None:
        now = time.monotonic()
        if self._registry is None or _inode(self._file) != self._inode:
            self._connect()
        assert self._registry is not None
        database = self._registry.database
        reports = list(self._waiting)
        if reports or self._is_over() or not self._described or self._is_due("beat", _BEATS, now):
            with transaction(database):
                self._write_run(database)
                for each in reports:
                    database.execute(
                        "INSERT OR REPLACE INTO batch VALUES (?, ?, 0, ?, ?)",
                        (self._run, each.batch, each.ended, json.dumps(batch_report(each))),
                    )
                    write_samples(database, self._run, each)
        for _ in reports:
            self._waiting.popleft()
        if self._is_due("thin", _THINS, now):
            thin(database, time.time())
            forget_samples(database, time.time())
        self._look_for_stop(database)

    def _connect(self) -> None:
        self._disconnect()
        inode = _inode(self._file)  # of none yet, or of one that is removed meanwhile: see _write
        registry = Registry(self._file, _PATIENCE)
        try:
            with transaction(registry.database):
                self._job = registry.register(self._name, self._program, self._folder)
                registry.begin_run(self._job, self._run)
        except BaseException:
            registry.close()
            raise
        self._registry, self._inode, self._described = registry, inode, False

    def _disconnect(self) -> None:
        if self._registry is not None:
            with suppress(sqlite3.Error):
                self._registry.close()
        self._registry = None

    def _write_run(self, database: sqlite3.Connection) -> None:
        progress = self._tracker.progress()
        report = progress.to_dict()
        state = "failed" if self._failure is not None else progress.state
        reason = self._failure or progress.error
        if reason is not None:  # errors quote settings and arguments
            reason = masked(reason)
            report["error"] = report["error"] and reason
        code = None if reason is None else code_in(reason)
        now = time.time()
        ended = now if self._is_over() else None
        database.execute(
            "UPDATE run SET state = ?, reason = ?, code = ?, beat = ?, ended = ?, progress = ? "
            "WHERE id = ?",
            (state, reason, code, now, ended, json.dumps(report), self._run),
        )
        if not self._described:
            self._described = True  # before the plan is read: it may be described meanwhile
            plan = json.dumps(self._plan)
            database.execute("UPDATE job SET plan = ? WHERE id = ?", (plan, self._job))

    def _look_for_stop(self, database: sqlite3.Connection) -> None:
        asked = database.execute("SELECT stop FROM run WHERE id = ?", (self._run,)).fetchone()
        if asked and asked[0] and self._stop is not None:
            stop, self._stop = self._stop, None
            stop()

    def _is_due(self, what: str, every: float, now: float) -> bool:
        if now - self._times[what] < every:
            return False
        self._times[what] = now
        return True


def _inode(file: Path) -> int:
    """Identifies the file: one that was removed and made again is another one."""
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return 0


def _program() -> str:
    """The program that this process runs."""
    path = sys.argv[0] if sys.argv else ""
    return os.path.abspath(path) if os.path.isfile(path) else "python"
