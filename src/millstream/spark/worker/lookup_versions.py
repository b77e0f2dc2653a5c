"""The versions of tables that a job reads again: chosen by the driver, for a batch at a time.

The driver keeps each version in the checkpoint, and notes which one a batch sees before the batch
runs. A batch that is retried, even after a restart, finds the note and sees the same. Which version
that is travels as the clock of the batch does: as a setting of the session, see ``batch_clock``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import TaskContext
from pyspark.sql import SparkSession

from millstream.engine.state.blobs import packed, unpacked
from millstream.lookups.files import FilesTable
from millstream.plan.lookup import Find, Lookup
from millstream.system.folders import Folder

KEPT_BATCHES = 100
"""How many batches are remembered: as many as Spark can be asked to run again."""
_NOTES = "lookups/batches"

_read: dict[tuple[str, str, str], Find] = {}
"""The newest version of each table that this process has read."""


@dataclass(frozen=True)
class VersionedTable:
    """A table whose versions are in the checkpoint of a job, as a task reads it."""

    table: FilesTable
    step: str
    run: str
    folder: str

    def of_this_task(self) -> Find:
        """The version that the batch of the task sees."""
        context = TaskContext.get()
        noted = context.getLocalProperty(_setting(self.run)) if context else None
        assert noted is not None, "Spark did not hand the versions of tables to its task"
        version: str = json.loads(noted)[self.step]
        place = self.folder, self.step
        if (*place, version) not in _read:
            blob = Folder.of("checkpoint", self.folder).read(_file(self.step, version))
            for old in [key for key in _read if key[:2] == place]:
                del _read[old]
            _read[(*place, version)] = self.table.table(unpacked(blob)).find
        return _read[(*place, version)]


class LookupVersions:
    """The versions that the batches of a job see, chosen by the driver."""

    def __init__(self, steps: Sequence[Lookup], run: str, folder: str) -> None:
        self._tables = {
            step.name: step.table.open() for step in steps if isinstance(step.table, FilesTable)
        }
        self._run = run
        self._folder = Folder.of("checkpoint", folder)

    def announce(self, session: SparkSession, batch: int, now: int) -> None:
        """Lets the tasks of a batch, which begins now, know which versions they see."""
        if not self._tables:
            return
        with self._folder.errors():
            session.conf.set(_setting(self._run), self._noted(batch, now))

    def _noted(self, batch: int, now: int) -> str:
        """The versions of a batch: as noted the first time that it ran."""
        self._folder.make(_NOTES)
        if str(batch) in self._folder.names(_NOTES):
            return self._folder.read(f"{_NOTES}/{batch}").decode()
        versions = {step: self._version(step, now) for step in self._tables}
        note = json.dumps(versions)
        self._folder.create_new(f"{_NOTES}/{batch}", note.encode())
        self._forget(batch)
        return note

    def _version(self, step: str, now: int) -> str:
        """The name of the newest version, which is in the checkpoint."""
        table = self._tables[step]
        table.renew(now)
        assert table.version is not None
        blob = packed(table.version)
        version = hashlib.sha256(blob).hexdigest()[:16]
        self._folder.make(f"lookups/{step}")
        self._folder.create_new(_file(step, version), blob)
        return version

    def _forget(self, batch: int) -> None:
        """Removes old notes, and the versions that none of the others names."""
        numbers = [int(name) for name in self._folder.names(_NOTES) if name.isdigit()]
        old = [number for number in numbers if number <= batch - KEPT_BATCHES]
        if not old:
            return
        for number in old:
            self._folder.remove(f"{_NOTES}/{number}")
        notes = [self._folder.read(f"{_NOTES}/{n}") for n in numbers if n not in old]
        used = {pair for note in notes for pair in json.loads(note).items()}
        for step in self._tables:
            for version in self._folder.names(f"lookups/{step}"):
                if (step, version) not in used:
                    self._folder.remove(_file(step, version))


def _setting(run: str) -> str:
    return f"spark.millstream.{run}.lookups"


def _file(step: str, version: str) -> str:
    return f"lookups/{step}/{version}"
