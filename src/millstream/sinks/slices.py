"""How the rows of a sink are written: a writer in each task of a batch, then one commit.

Each task of a micro-batch has one slice of its rows. A writer takes them, and its receipt tells the
driver what to commit. Nothing that a writer does is seen before the commit, so an attempt may die
at any point and be made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Slice:
    """One attempt to write a part of a batch.

    ``run`` is the id of the job's life: it stays the same when the job is resumed, and its first
    eight characters tell it from others. ``number`` says which part of the batch; where parts have
    names, it is that of the ``name``. Two attempts at one slice may run at once; ``attempt`` tells
    them apart. ``owner`` is the process that owns the checkpoint, if there is one: another each
    time that the job is resumed.
    """

    run: str
    batch: int
    number: int
    attempt: int
    name: str = ""
    owner: str = ""


def number_of(name: str) -> int:
    """A number for a name, the same at any time, and another for any other name.

    >>> number_of("scores-3")
    157556195174953
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])


class Writer(Protocol):
    """Takes the rows of one sink in one slice. Either ``close`` or ``abort`` comes last."""

    def write(self, rows: pa.Table) -> None:
        """Takes some rows."""

    def close(self) -> bytes:
        """Ends the slice and gives the receipt for the driver; empty where nothing is to commit."""

    def abort(self) -> None:
        """Leaves nothing behind, after an exception."""


class Committer(Protocol):
    """Makes the rows of a batch seen, on the driver, once all its slices are written."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Commits what these receipts tell, in place of what an earlier try at the batch did.

        A batch that is done again has the same rows, but maybe in other slices.
        """
