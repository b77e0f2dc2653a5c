"""The methods of DStreams over windows. Durations are in seconds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import RDD
from pyspark.resultiterable import ResultIterable

from millstream.dstream.arguments import check_window, milliseconds
from millstream.dstream.by_key import ByKey
from millstream.dstream.graph.windows import ReducedWindow, Window

if TYPE_CHECKING:
    from millstream.dstream.dstream import DStream

T = TypeVar("T")
Reduce = Callable[[Any, Any], Any]


class OverWindows(ByKey[T]):
    """A DStream as far as windows over it go.

    At each multiple of the slide after the start, the window has what arrived in the last
    ``windowDuration``. Both must be multiples of the slide of this DStream.
    """

    def window(self, windowDuration: float, slideDuration: float | None = None) -> DStream[T]:
        """All elements in the window."""
        length, slide = self._window(windowDuration, slideDuration)
        return self._of(Window(self._node, length, slide))

    def _window(self, length: float, slide: float | None) -> tuple[int, int]:
        own = self._node.slide
        durations = milliseconds(length), milliseconds(slide) if slide else own
        check_window(*durations, own)
        return durations

    def reduceByWindow(
        self,
        reduceFunc: Reduce,
        invReduceFunc: Reduce | None,
        windowDuration: float,
        slideDuration: float,
    ) -> DStream[T]:
        """What a function makes of all elements in the window, two at a time."""
        pairs = self.map(lambda item: (1, item))
        reduced = pairs.reduceByKeyAndWindow(
            reduceFunc, invReduceFunc, windowDuration, slideDuration, 1
        )
        return reduced.map(lambda pair: pair[1])

    def countByWindow(self, windowDuration: float, slideDuration: float) -> DStream[int]:
        """How many elements there are in the window."""
        ones = self.map(lambda _: 1)
        return ones.reduceByWindow(operator.add, operator.sub, windowDuration, slideDuration)

    def countByValueAndWindow(
        self, windowDuration: float, slideDuration: float, numPartitions: int | None = None
    ) -> DStream[tuple[T, int]]:
        """How often each element occurs in the window."""
        counted = self.map(lambda item: (item, 1)).reduceByKeyAndWindow(
            operator.add, operator.sub, windowDuration, slideDuration, numPartitions
        )
        return counted.filter(lambda pair: pair[1] > 0)

    def groupByKeyAndWindow(
        self, windowDuration: float, slideDuration: float, numPartitions: int | None = None
    ) -> DStream[Any]:
        """The values of each key in the window."""
        grouped = self.mapValues(lambda value: [value]).reduceByKeyAndWindow(
            _extended,
            lambda values, left: values[len(left) :],
            windowDuration,
            slideDuration,
            numPartitions,
        )
        return grouped.mapValues(ResultIterable)

    def reduceByKeyAndWindow(
        self,
        func: Reduce,
        invFunc: Reduce | None,
        windowDuration: float,
        slideDuration: float | None = None,
        numPartitions: int | None = None,
        filterFunc: Callable[[Any], Any] | None = None,
    ) -> DStream[Any]:
        """What a function makes of all values of each key in the window, two at a time.

        With an inverse function, windows of at least five slides are computed from the one before:
        what arrived is added, and what left is taken away. ``filterFunc`` then says which pairs
        are kept.
        """
        length, slide = self._window(windowDuration, slideDuration)
        count = self._partitions(numPartitions)
        reduced = self.reduceByKey(func, count)
        if invFunc is None:
            return reduced.window(windowDuration, slideDuration).reduceByKey(func, count)
        add = _addition(func, count, filterFunc)
        subtract = _subtraction(func, invFunc, count)
        return self._of(ReducedWindow(reduced._node, add, subtract, length, slide))


def _extended(values: list[Any], more: list[Any]) -> list[Any]:
    values.extend(more)
    return values


def _addition(func: Reduce, count: int, wanted: Callable[[Any], Any] | None) -> Callable[..., Any]:
    def add(_: Any, total: RDD[Any] | None, arrived: RDD[Any]) -> RDD[Any]:
        result = arrived.reduceByKey(func, count)
        if total is not None:
            result = total.union(result).reduceByKey(func, count)
        return result.filter(wanted) if wanted else result

    return add


def _subtraction(func: Reduce, inverse: Reduce, count: int) -> Callable[..., Any]:
    def subtract(_: Any, total: RDD[Any], left: RDD[Any]) -> RDD[Any]:
        joined = total.leftOuterJoin(left.reduceByKey(func, count), count)
        return joined.mapValues(
            lambda pair: pair[0] if pair[1] is None else inverse(pair[0], pair[1])
        )

    return subtract
