"""Ctrl-C while records are read or written: handled where it does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from millstream.system.interrupts import on_interrupt

EXIT_CODE = 130
"""The exit code of shells: 128 plus the number of the signal."""


class Interrupts:
    """Counts Ctrl-C. It raises only while waiting for a line.

    Inside the Kafka client an exception would be lost, or become another one.
    """

    def __init__(self) -> None:
        self.count = 0
        self._awaits_line = False

    def __call__(self, *_: object) -> None:
        """The handler of the signal."""
        self.count += 1
        if self._awaits_line:
            raise KeyboardInterrupt

    def lines(self, file: BinaryIO) -> Iterator[bytes]:
        """The lines of a file as they arrive, until its end or Ctrl-C."""
        while line := self._line(file):
            yield line

    def _line(self, file: BinaryIO) -> bytes:
        try:
            self._awaits_line = True
            return b"" if self.count else file.readline()
        except KeyboardInterrupt:
            return b""
        finally:
            self._awaits_line = False


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Counts Ctrl-C within the block."""
    counted = Interrupts()
    with on_interrupt(counted):
        yield counted
