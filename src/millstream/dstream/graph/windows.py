"""DStreams over windows: at time t, what its parent had after t - length, up to t."""

from __future__ import annotations

from typing import Any

from pyspark import RDD, StorageLevel

from millstream.dstream.graph.node import Function, Node
from millstream.dstream.graph.transforms import clock_time

_SLIDES_FOR_INVERSE = 5
"""As in PySpark: over fewer slides, reducing all is faster than reducing and taking away."""


class Window(Node):
    """``window``: the union of the RDDs in the window, which may be empty."""

    def __init__(self, parent: Node, length: int, slide: int) -> None:
        super().__init__([parent], slide)
        self.length = length
        parent.level = parent.level or StorageLevel.MEMORY_ONLY

    def parents_remember(self) -> int:
        return self.remember + self.length

    def compute(self, time: int) -> RDD[Any] | None:
        parent = self.parents[0]
        rdds = parent.between(time - self.length + parent.slide, time)
        return self.graph.union(rdds)


class ReducedWindow(Node):
    """``reduceByKeyAndWindow`` with an inverse function.

    ``add`` takes the time, the RDD so far (or None) and another; ``subtract`` the time, an RDD, and
    one that has left the window.
    """

    needs_checkpoint = True

    def __init__(
        self, parent: Node, add: Function, subtract: Function, length: int, slide: int
    ) -> None:
        super().__init__([parent], slide)
        self.add = add
        self.subtract = subtract
        self.length = length
        self.level = StorageLevel.MEMORY_ONLY
        parent.level = parent.level or StorageLevel.MEMORY_ONLY

    def parents_remember(self) -> int:
        return self.remember + self.length

    def compute(self, time: int) -> RDD[Any] | None:
        parent = self.parents[0]
        begin, step = time - self.length, parent.slide
        result = self.before(time)
        if result is None or self.length < _SLIDES_FOR_INVERSE * self.slide:
            result, arrived = None, parent.between(begin + step, time)
        else:
            left = parent.between(begin - self.slide + step, begin)
            if left:
                result = self.subtract(clock_time(time), result, self.graph.union(left))
            arrived = parent.between(time - self.slide + step, time)
        if arrived:
            result = self.add(clock_time(time), result, self.graph.union(arrived))
        return result
