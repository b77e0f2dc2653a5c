"""The methods of DStreams that work on the elements of each RDD."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyspark import RDD

from millstream.dstream.arguments import timed
from millstream.dstream.graph.node import Node, unusable
from millstream.dstream.graph.transforms import Transformed, TransformedTwo

if TYPE_CHECKING:
    from millstream.dstream.context import StreamingContext
    from millstream.dstream.dstream import DStream

T = TypeVar("T")


class Elements(Generic[T]):
    """A DStream as far as its elements go. ``_node`` is what the graph has of it."""

    def __init__(self, ssc: StreamingContext, node: Node) -> None:
        ssc._graph.check_open()
        self._ssc = ssc
        self._sc = ssc.sparkContext
        self._node = node
        self.is_cached = False
        self.is_checkpointed = False

    def _of(self, node: Node) -> DStream[Any]:
        from millstream.dstream.dstream import DStream  # which builds on this class

        return DStream(self._ssc, node)

    def _partitions(self, count: int | None) -> int:
        return self._sc.defaultParallelism if count is None else count

    @property
    def _slideDuration(self) -> float:
        return self._node.slide / 1000

    def context(self) -> StreamingContext:
        """The context that this DStream belongs to."""
        return self._ssc

    def transform(self, func: Callable[..., RDD[Any]]) -> DStream[Any]:
        """What a function makes of each RDD; it takes the RDD, or the time and the RDD."""
        return self._of(Transformed(self._node, timed(func, 1)))

    def transformWith(
        self, func: Callable[..., RDD[Any]], other: Elements[Any], keepSerializer: bool = False
    ) -> DStream[Any]:
        """What a function makes of the RDDs of two DStreams; the time may come before them.

        ``keepSerializer`` has no effect: RDDs know their own serializers.
        """
        return self._of(TransformedTwo(self._node, other._node, timed(func, 2)))

    def mapPartitionsWithIndex(
        self,
        f: Callable[[int, Iterator[T]], Iterable[Any]],
        preservesPartitioning: bool = False,
    ) -> DStream[Any]:
        """What a function makes of the number and the elements of each partition."""
        return self.transform(lambda rdd: rdd.mapPartitionsWithIndex(f, preservesPartitioning))

    def mapPartitions(
        self, f: Callable[[Iterator[T]], Iterable[Any]], preservesPartitioning: bool = False
    ) -> DStream[Any]:
        """What a function makes of the elements of each partition."""
        return self.mapPartitionsWithIndex(lambda _, items: f(items), preservesPartitioning)

    def map(self, f: Callable[[T], Any], preservesPartitioning: bool = False) -> DStream[Any]:
        """What a function makes of each element."""
        return self.mapPartitions(lambda items: map(f, items), preservesPartitioning)

    def flatMap(
        self, f: Callable[[T], Iterable[Any]], preservesPartitioning: bool = False
    ) -> DStream[Any]:
        """All elements of what a function makes of each element."""
        return self.mapPartitions(
            lambda items: chain.from_iterable(map(f, items)), preservesPartitioning
        )

    def filter(self, f: Callable[[T], Any]) -> DStream[T]:
        """The elements for which a function returns true."""
        return self.mapPartitions(lambda items: filter(f, items), True)

    def glom(self) -> DStream[list[T]]:
        """A list for each partition, with its elements."""
        return self.mapPartitions(lambda items: [list(items)])

    def count(self) -> DStream[int]:
        """How many elements each RDD has."""
        return self.mapPartitions(lambda items: [sum(1 for _ in items)]).reduce(operator.add)

    def reduce(self, func: Callable[[T, T], T]) -> DStream[T]:
        """What a function makes of all elements of each RDD, two at a time."""
        pairs = self.map(lambda item: (None, item))
        return pairs.reduceByKey(func, 1).map(lambda pair: pair[1])

    def countByValue(self) -> DStream[tuple[T, int]]:
        """How often each element occurs in each RDD."""
        return self.map(lambda item: (item, 1)).reduceByKey(operator.add)

    def repartition(self, numPartitions: int) -> DStream[T]:
        """The same elements in another number of partitions."""
        return self.transform(lambda rdd: rdd.repartition(numPartitions))

    def union(self, other: Elements[Any]) -> DStream[Any]:
        """The elements of this DStream and of another one with the same slide."""
        if self._node.slide != other._node.slide:
            raise unusable(
                "the two DStreams should have the same slide duration", "give them the same slide"
            )
        return self.transformWith(lambda left, right: left.union(right), other)
