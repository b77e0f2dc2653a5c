"""``textFileStream`` and ``binaryRecordsStream``: files that are moved into a folder."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark import RDD, SparkContext

from millstream.dstream.hadoop import Files
from millstream.dstream.inputs.input import Info, Input

_REMEMBERED = 60_000
"""Milliseconds: a file that was last changed longer ago is not new, as in Spark."""


class Format(Protocol):
    """How a file becomes an RDD."""

    def rdd(self, context: SparkContext, file: str) -> RDD[Any]: ...


@dataclass(frozen=True)
class TextLines:
    """Files of lines in UTF-8."""

    def rdd(self, context: SparkContext, file: str) -> RDD[Any]:
        return context.textFile(file, 1)


@dataclass(frozen=True)
class BinaryRecords:
    """Files of records of one length, in bytes."""

    length: int

    def rdd(self, context: SparkContext, file: str) -> RDD[Any]:
        return context.binaryRecords(file, self.length)


class FileInput(Input):
    """What was taken is a list of files.

    A file belongs to the first batch that finds it, if it was last changed at the time of that
    batch or in the minute before, and not before the program was written.
    """

    def __init__(self, slide: int, folder: str, form: Format) -> None:
        super().__init__(slide)
        self._folder = folder
        self._form = form
        self._since = int(clock.time() * 1000)

    def kept(self) -> int:
        return max(self.remember, self._window())

    def _window(self) -> int:
        return self.slide * -(-_REMEMBERED // self.slide)

    def take(self, time: int) -> Any:
        oldest = max(self._since, time - self._window())
        known = {file for files in self.taken.values() for file in files}
        return [
            file
            for file, changed in Files(self.graph.context).found(self._folder)
            if oldest < changed <= time
            and file not in known
            and not file.rpartition("/")[2].startswith(".")
        ]

    def described(self, taken: Any) -> Info:
        return 0, {"files": taken, "Description": "\n".join(taken)}

    def read(self, taken: Any) -> RDD[Any]:
        rdds = [self._form.rdd(self.graph.context, file) for file in taken]
        return self.graph.union(rdds)
