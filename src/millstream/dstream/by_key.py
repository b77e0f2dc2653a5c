"""The methods of DStreams of pairs, of a key and a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import RDD
from pyspark.core.rdd import portable_hash

from millstream.dstream.elements import Elements
from millstream.dstream.graph.states import UpdatedState
from millstream.dstream.initial_state import InitialState
from millstream.dstream.mapped_state import mapped_state
from millstream.dstream.state_spec import StateSpec

if TYPE_CHECKING:
    from millstream.dstream.dstream import DStream, MapWithStateDStream

T = TypeVar("T")


class ByKey(Elements[T]):
    """A DStream as far as the keys of its pairs go.

    Where no number of partitions is given, it is the default parallelism of the SparkContext.
    """

    def mapValues(self, f: Callable[[Any], Any]) -> DStream[Any]:
        """What a function makes of each value, with its key."""
        return self.map(_of_value(f), True)

    def flatMapValues(self, f: Callable[[Any], Iterable[Any]]) -> DStream[Any]:
        """All elements of what a function makes of each value, each with the key."""
        return self.flatMap(_of_each(f), True)

    def combineByKey(
        self,
        createCombiner: Callable[[Any], Any],
        mergeValue: Callable[[Any, Any], Any],
        mergeCombiners: Callable[[Any, Any], Any],
        numPartitions: int | None = None,
    ) -> DStream[Any]:
        """``RDD.combineByKey`` of each RDD."""
        count = self._partitions(numPartitions)
        return self.transform(
            lambda rdd: rdd.combineByKey(createCombiner, mergeValue, mergeCombiners, count)
        )

    def reduceByKey(
        self, func: Callable[[Any, Any], Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """What a function makes of all values of each key, two at a time."""
        return self.combineByKey(lambda value: value, func, func, numPartitions)

    def groupByKey(self, numPartitions: int | None = None) -> DStream[Any]:
        """The values of each key."""
        count = self._partitions(numPartitions)
        return self.transform(lambda rdd: rdd.groupByKey(count))

    def partitionBy(
        self, numPartitions: int, partitionFunc: Callable[[Any], int] = portable_hash
    ) -> DStream[T]:
        """The same pairs, in partitions by key."""
        return self.transform(lambda rdd: rdd.partitionBy(numPartitions, partitionFunc))

    def cogroup(self, other: Elements[Any], numPartitions: int | None = None) -> DStream[Any]:
        """For each key, its values in this DStream and those in the other one."""
        count = self._partitions(numPartitions)
        return self.transformWith(lambda left, right: left.cogroup(right, count), other)

    def join(self, other: Elements[Any], numPartitions: int | None = None) -> DStream[Any]:
        """For each key that both have, each pair of values."""
        count = self._partitions(numPartitions)
        return self.transformWith(lambda left, right: left.join(right, count), other)

    def leftOuterJoin(self, other: Elements[Any], numPartitions: int | None = None) -> DStream[Any]:
        """As ``join``, with None for the values of a key that the other one does not have."""
        count = self._partitions(numPartitions)
        return self.transformWith(lambda left, right: left.leftOuterJoin(right, count), other)

    def rightOuterJoin(
        self, other: Elements[Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """As ``join``, with None for the values of a key that only the other one has."""
        count = self._partitions(numPartitions)
        return self.transformWith(lambda left, right: left.rightOuterJoin(right, count), other)

    def fullOuterJoin(self, other: Elements[Any], numPartitions: int | None = None) -> DStream[Any]:
        """As ``join``, with None where only one of them has the key."""
        count = self._partitions(numPartitions)
        return self.transformWith(lambda left, right: left.fullOuterJoin(right, count), other)

    def updateStateByKey(
        self,
        updateFunc: Callable[[list[Any], Any], Any],
        numPartitions: int | None = None,
        initialRDD: RDD[Any] | Iterable[Any] | None = None,
    ) -> DStream[Any]:
        """The state of each key: what a function makes of its new values and its state so far.

        The function is called for every key in every batch. A key for which it returns None is
        removed.
        """
        initial = InitialState(initialRDD) if initialRDD else None
        update = state_update(updateFunc, self._partitions(numPartitions))
        return self._of(UpdatedState(self._node, update, initial))

    def mapWithState(self, spec: StateSpec) -> MapWithStateDStream[Any]:
        """What the function of a ``StateSpec`` returns for each pair and the state of its key."""
        from millstream.dstream.dstream import MapWithStateDStream  # which builds on this class

        count = self._partitions(spec.partitions)
        return MapWithStateDStream(self._ssc, mapped_state(self._node, spec, count))


def _of_value(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda pair: (pair[0], f(pair[1]))


def _of_each(f: Callable[[Any], Iterable[Any]]) -> Callable[[Any], Iterable[Any]]:
    return lambda pair: ((pair[0], item) for item in f(pair[1]))


def state_update(function: Callable[[list[Any], Any], Any], partitions: int) -> Callable[..., Any]:
    """What makes the next RDD of states, of the one so far and what arrived."""

    def update(_: Any, states: RDD[Any] | None, arrived: RDD[Any]) -> RDD[Any]:
        if states is None:
            grouped = arrived.groupByKey(partitions)
            given = grouped.mapValues(lambda values: (list(values), None))
        else:
            both = states.cogroup(arrived.partitionBy(partitions), partitions)
            given = both.mapValues(lambda pair: (list(pair[1]), next(iter(pair[0]), None)))
        updated = given.mapValues(lambda pair: function(*pair))
        return updated.filter(lambda pair: pair[1] is not None)

    return update
