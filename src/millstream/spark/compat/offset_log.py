"""Spark's offset log: what it notes of a batch in the checkpoint before the batch begins.

An entry is a file of lines: a version, the settings of the batch as JSON, and for each source the
offsets up to which it is read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types

from millstream.spark.compat.jvm import java_class
from millstream.spark.compat.moved import moved
from millstream.system.folders import Folder

OFFSETS = "spark/offsets"
"""Where the log is, in the folder of a job's checkpoint."""
COMMITS = "spark/commits"
"""Where Spark notes that a batch has ended."""
_SETTINGS = "org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata"
_CLOCK = "batchTimestampMs"


@dataclass(frozen=True)
class Entry:
    """What Spark has noted of one batch."""

    version: str
    settings: str
    offsets: tuple[str, ...]

    @property
    def clock(self) -> int:
        """The clock of the batch, in milliseconds."""
        return int(json.loads(self.settings)[_CLOCK])

    def __str__(self) -> str:
        return "\n".join((self.version, self.settings, *self.offsets))


def last_batch(place: Folder, log: str) -> int | None:
    """The newest batch in a log, if there is one."""
    return max((int(name) for name in place.names(log) if name.isdecimal()), default=None)


def entry_of(place: Folder, batch: int) -> Entry:
    """The entry of a batch in the checkpoint of a job."""
    version, settings, *offsets = place.read(f"{OFFSETS}/{batch}").decode().splitlines()
    return Entry(version, settings, tuple(offsets))


def is_entry(text: str) -> bool:
    """Whether a text is a whole entry of a log: a version, and JSON or a dash in each line.

    Offsets may be 0, or of no partition.
    """
    version, *lines = text.splitlines() or [""]
    for line in lines:
        if line != "-":
            json.loads(line)
    return version.startswith("v") and bool(lines)


def check(jvm: Any) -> None:
    try:
        java_class(jvm, _SETTINGS).getMethod(_CLOCK, None)
    except Py4JError:
        raise moved(f"{_CLOCK} of {_SETTINGS}") from None
