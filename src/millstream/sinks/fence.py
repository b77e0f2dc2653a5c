"""The check that a job still owns its checkpoint, wherever its batches are committed.

Below the checkpoint of a job, ``owner/`` has a record for each owner, numbered in their order. The
one with the highest number is the owner; a number is never used twice. A record is never changed:
the next owner writes a new one (see ``ownership.py``).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from millstream.model.errors import RunError
from millstream.system.folders import Folder

RECORD = ".json"


@dataclass(frozen=True)
class Record:
    """The record of an owner; ``about`` is empty if the file cannot be read."""

    number: int
    about: dict[str, Any]

    @property
    def token(self) -> str:
        """A token that no other owner has."""
        return str(self.about.get("token", ""))

    def __str__(self) -> str:
        """The owner as text.

        >>> about = {"user": "ann", "host": "mill-1", "pid": 4242, "program": "scores.py"}
        >>> print(Record(3, about | {"since": "2026-11-17 19:00:00 UTC"}))
        ann@mill-1, process 4242 (scores.py), since 2026-11-17 19:00:00 UTC
        """
        if not self.about:
            return "an owner whose record cannot be read"
        about = self.about.get
        who = f"{about('user')}@{about('host')}, process {about('pid')} ({about('program')})"
        return f"{who}, since {about('since')}"


def newest_record(place: Folder) -> Record | None:
    """The record of who owns the checkpoint, or owned it last."""
    numbers = [int(n[: -len(RECORD)]) for n in place.names() if _is_record(n)]
    if not numbers:
        return None
    number = max(numbers)
    about: Any = None
    with suppress(ValueError, FileNotFoundError):  # ValueError: it is being written, or damaged
        about = json.loads(place.read(record_name(number)))
    return Record(number, about if isinstance(about, dict) else {})


def record_name(number: int) -> str:
    """The name of a record."""
    return f"{number:010}{RECORD}"


@dataclass(frozen=True)
class Fence:
    """A check that an owner passes as long as there is no newer owner.

    It is sent to a server of Spark Connect, which commits batches there. Without a ``folder`` the
    job has no checkpoint that another process could own, and always passes.
    """

    job: str = ""
    folder: str = ""
    number: int = 0
    token: str = ""

    @property
    def owner(self) -> str:
        """A name for what this owner writes: unique, and in the order of owners."""
        return f"{self.number:010}-{self.token}" if self.token else ""

    def check(self) -> None:
        """MS351: another process owns the checkpoint by now."""
        if not self.folder:
            return
        place = Folder.of(self.job, self.folder, "checkpoint")
        with place.errors():
            found = newest_record(place)
        if found is None or (found.number, found.token) != (self.number, self.token):
            raise self._overtaken(found)

    def _overtaken(self, by: Record | None) -> RunError:
        what = "its record in the checkpoint was removed" if by is None else f"now it is {by}"
        return RunError(
            "MS351",
            f"job {self.job!r} no longer owns its checkpoint: {what}. This process commits nothing "
            "more",
            fix="nothing is lost: the new owner continues after the last committed batch. Let the "
            "job run in one process only",
        )


NO_FENCE = Fence()
"""For a job without a checkpoint: it cannot be overtaken."""


def _is_record(name: str) -> bool:
    return name.endswith(RECORD) and name[: -len(RECORD)].isdecimal()
