"""What all inputs share: they record what each batch took, so that a retried one takes the same."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from pyspark import RDD

from millstream.dstream.graph.node import Node
from millstream.dstream.listener import ReceiverEvent

Info = tuple[int, dict[str, Any]]
"""A number of records, and more by the names that Spark has for it."""
Tell = Callable[[str, ReceiverEvent], None]
"""Calls a method of all listeners."""


class Input(Node):
    """A DStream that data comes in by.

    What a time has is taken once. ``taken`` describes it (file names, offsets, block numbers), and
    the checkpoint has it before anything of the batch is written, so ``read`` finds it again. The
    ``position`` is where the next take begins. Both must be picklable.
    """

    def __init__(self, slide: int) -> None:
        super().__init__([], slide)
        self.taken: dict[int, Any] = {}

    @abstractmethod
    def take(self, time: int) -> Any:
        """What the batch of that time has."""

    @abstractmethod
    def read(self, taken: Any) -> RDD[Any]:
        """The RDD of what was taken."""

    def position(self) -> Any:
        """Where the next take begins."""

    def resume(self, position: Any) -> None:
        """Continues where another run of the program was, with what that run took."""

    def open(self, folder: str | None, tell: Tell) -> None:
        """Starts to receive, if this is an input that receives; a folder outlives the process.

        ``tell`` has listeners know of the receiver.
        """

    def close(self) -> None:
        """Ends what ``open`` started."""

    def allocate(self, time: int) -> None:
        """Called at the beginning of every batch, whether any output needs this input or not."""

    def compute(self, time: int) -> RDD[Any]:
        if time not in self.taken:
            self.taken[time] = self.take(time)
        return self.read(self.taken[time])

    def info(self, time: int) -> Info | None:
        """What listeners get to know of a batch; None if it took nothing, or nothing is known."""
        return self.described(self.taken[time]) if time in self.taken else None

    def described(self, taken: Any) -> Info | None:
        """How many records were taken, and what else is to be known of them."""

    def kept(self) -> int:
        """How many milliseconds of ``taken`` are needed."""
        return self.remember

    def forget(self, now: int) -> None:
        super().forget(now)
        for time in [time for time in self.taken if time <= now - self.kept()]:
            del self.taken[time]
