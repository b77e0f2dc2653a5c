"""One DStream of the graph: which RDD it has at each batch time, and how long it keeps them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark import RDD, StorageLevel

from millstream.model.errors import PlanError

if TYPE_CHECKING:
    from millstream.dstream.graph.graph import Graph

Function = Callable[..., Any]

_LEAST_CHECKPOINT = 10_000
"""Milliseconds: how far apart checkpoints of state are, if nobody sets that."""


class Node(ABC):
    """Times and durations are in milliseconds, as in Spark.

    ``rdds`` has the RDD of each time that was computed and is still remembered, or None for a time
    without one. A node is computed at most once for each time: what an input took for that time
    stays the same. Only the thread that runs a batch, or one that holds ``graph.lock``, computes.
    """

    needs_checkpoint = False
    """Whether each RDD is built on the one before, so that its history has to be cut off."""

    graph: Graph

    def __init__(self, parents: list[Node], slide: int) -> None:
        self.parents = parents
        self.slide = slide
        self.number = -1
        """Its place in the graph, by which a checkpoint knows it."""
        self.level: StorageLevel | None = None
        self.checkpoint_interval: int | None = None
        self.remember = 0
        self.rdds: dict[int, RDD[Any] | None] = {}

    @abstractmethod
    def compute(self, time: int) -> RDD[Any] | None:
        """The RDD of a time, or None if there is none."""

    def rdd_at(self, time: int) -> RDD[Any] | None:
        """The RDD of a time; computed if it is not there yet."""
        if time not in self.rdds:
            if not self.is_valid(time):
                return None
            self.rdds[time] = self._kept(time, self.compute(time))
        return self.rdds[time]

    def is_valid(self, time: int) -> bool:
        """Whether there is a batch of this DStream at that time."""
        return time > self.graph.zero and (time - self.graph.zero) % self.slide == 0

    def between(self, first: int, last: int) -> list[RDD[Any]]:
        """The RDDs from the first time to the last, both included."""
        zero = self.graph.zero
        first, last = (t - (t - zero) % self.slide for t in (first, last))
        found = [self.rdd_at(t) for t in range(first, last + 1, self.slide) if t >= zero]
        return [rdd for rdd in found if rdd is not None]

    def before(self, time: int) -> RDD[Any] | None:
        """The RDD one slide earlier.

        After a restart many may be missing: they are computed from the oldest on, not one inside
        the other.
        """
        previous = time - self.slide
        missing = previous
        while missing > self.graph.zero and missing not in self.rdds:
            missing -= self.slide
        for each in range(missing + self.slide, previous, self.slide):
            self.rdd_at(each)
        return self.rdd_at(previous)

    def prepare(self) -> None:
        """Sets how often RDDs are checkpointed, and how long they are remembered at least."""
        if self.needs_checkpoint and self.checkpoint_interval is None:
            self.checkpoint_interval = self.default_interval()
        if self.checkpoint_interval is not None:
            self._check_interval(self.checkpoint_interval)
            self.level = self.level or StorageLevel.MEMORY_ONLY
            self.remember = max(self.remember, 2 * self.checkpoint_interval)
        self.remember = max(self.remember, self.slide)

    def default_interval(self) -> int:
        """How often RDDs are checkpointed, if nobody sets that."""
        return self.slide * -(-_LEAST_CHECKPOINT // self.slide)

    def parents_remember(self) -> int:
        """How long its parents have to remember their RDDs."""
        return self.remember

    def is_checkpoint(self, time: int) -> bool:
        """Whether the RDD of that time is to be checkpointed."""
        interval = self.checkpoint_interval
        return interval is not None and (time - self.graph.zero) % interval == 0

    def forget(self, now: int) -> None:
        """Drops RDDs that are older than what is remembered."""
        old = [time for time in self.rdds if time <= now - self.remember]
        dropped = [rdd for time in old if (rdd := self.rdds.pop(time)) is not None]
        if self.level is not None:
            kept = {id(rdd) for rdd in self.rdds.values()}
            for rdd in dropped:
                if id(rdd) not in kept:
                    rdd.unpersist()

    def _kept(self, time: int, rdd: RDD[Any] | None) -> RDD[Any] | None:
        if rdd is None or rdd in self.rdds.values():
            return rdd
        if self.level is not None and not rdd.is_cached:
            rdd.persist(self.level)
        if self.is_checkpoint(time):
            rdd.checkpoint()
        return rdd

    def _check_interval(self, interval: int) -> None:
        if not self.graph.checkpointed:
            raise unusable(
                "the checkpoint directory has not been set, and there is state to keep",
                "call ssc.checkpoint(directory) before ssc.start()",
            )
        if interval < self.slide or interval % self.slide:
            raise unusable(
                f"a checkpoint interval of {interval} ms is not a multiple of the slide,"
                f" {self.slide} ms",
                f"checkpoint every {self.slide / 1000} s, or a multiple of that",
            )

    def __getstate__(self) -> dict[str, Any]:
        """What a checkpoint has of it: not the RDDs, which belong to one SparkContext."""
        state = dict(self.__dict__)
        state.pop("graph", None)
        return {**state, "rdds": {}}


def unusable(what: str, fix: str) -> PlanError:
    """The error for a DStream program that cannot run as it is written."""
    return PlanError("MS129", what, fix=fix)


def walk(outputs: list[Node]) -> Iterator[Node]:
    """The nodes that some outputs depend on, each once, parents after their children."""
    order: list[Node] = []
    seen: set[int] = set()

    def visit(node: Node) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for parent in node.parents:
                visit(parent)
            order.append(node)

    for output in outputs:
        visit(output)
    return reversed(order)
