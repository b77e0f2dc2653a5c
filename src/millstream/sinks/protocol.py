"""What every kind of sink provides: checks, a writer in each task of a batch, then one commit.

Each task of a micro-batch has one slice of its rows. A writer takes them, and its receipt contains
what the driver has to commit. Nothing that a writer does is visible before the commit, so an
attempt may fail at any point and be repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from millstream.plan.targets import Target
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.slices import Slice

T = TypeVar("T", bound=Target)


class Writer(Protocol):
    """Takes the rows of one sink in one slice. The last call is ``close`` or ``abort``."""

    def write(self, rows: pa.Table) -> None:
        """Takes some rows."""

    def close(self) -> bytes:
        """Ends the slice and returns the receipt; empty if there is nothing to commit."""

    def abort(self) -> None:
        """Leaves nothing behind, after an exception."""


class Committer(Protocol):
    """Makes the rows of a batch visible, on the driver, once all its slices are written."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Commits what these receipts contain, instead of what an earlier attempt at the batch did.

        A retried batch has the same rows, but maybe in other slices.
        """


class SinkKind(ABC, Generic[T]):
    """The sink ``name`` of a program, as its kind of target defines it.

    The driver calls the checks before a job runs, and the committer after each batch. Tasks call
    ``expect`` and the writer, with the target that ``opened`` has returned on the driver.
    """

    shown: ClassVar[bool] = False
    """Whether its rows are for the program that runs the job, wherever Spark's driver is."""

    def __init__(self, name: str, target: T) -> None:
        self.name = name
        self.target = target

    def check_results(self, anew: bool) -> None:
        """An error if earlier runs have left results, and this run writes all rows ``anew``."""

    def check_beside(self, others: Iterable[SinkKind[Any]]) -> None:
        """An error if other sinks of the same job are in conflict with this one."""

    def check_access(self, slices: int) -> None:
        """An error if the target does not exist or may not be written by so many slices."""

    def check_run(self, run: str) -> None:
        """The same for what only this run of the job uses."""

    def opened(self) -> Target:
        """The target as tasks use it."""
        return self.target

    def expect(self, slice: Slice) -> None:
        """Prepares for rows of a slice that are still being computed."""

    @abstractmethod
    def writer(self, slice: Slice) -> Writer:
        """What takes the rows in one task."""

    @abstractmethod
    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> Committer:
        """What commits the batches: one for the life of a job, on its driver.

        The caller checks the ``fence`` before each commit. A result table is kept in the
        ``checkpoint``, if there is one.
        """
