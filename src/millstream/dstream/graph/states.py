"""DStreams of state: each RDD is made of the one before and of what arrived."""

from __future__ import annotations

from typing import Any

from pyspark import RDD, StorageLevel

from millstream.dstream.graph.node import Function, Node
from millstream.dstream.graph.transforms import clock_time
from millstream.dstream.initial_state import InitialState

_BATCHES_BETWEEN_SCANS = 10
"""How many batches apart ``mapWithState`` looks for keys that timed out, if nobody sets that."""


class UpdatedState(Node):
    """``updateStateByKey``: keys and their state.

    ``update`` takes the time, the state so far (or None) and the RDD of what arrived. Without an
    RDD, the state stays as it is.
    """

    needs_checkpoint = True

    def __init__(self, parent: Node, update: Function, initial: InitialState | None) -> None:
        super().__init__([parent], parent.slide)
        self.update = update
        self.initial = initial
        self.level = StorageLevel.MEMORY_ONLY

    def compute(self, time: int) -> RDD[Any] | None:
        state = self.before(time)
        arrived = self.parents[0].rdd_at(time)
        if arrived is None:
            return state
        if state is None and self.initial is not None:
            state = self.initial.rdd(self.graph.context)
        result: RDD[Any] = self.update(clock_time(time), state, arrived)
        return result


class MappedState(Node):
    """What ``mapWithState`` keeps: in each partition one record, its states and what it emitted.

    ``step`` takes the time in milliseconds, whether to look for keys that timed out, the RDD of
    those records and the RDD of what arrived, both in the same partitions.
    """

    needs_checkpoint = True

    def __init__(
        self, parent: Node, step: Function, partitions: int, initial: InitialState | None
    ) -> None:
        super().__init__([parent], parent.slide)
        self.step = step
        self.partitions = partitions
        self.initial = initial
        self.level = StorageLevel.MEMORY_ONLY

    def default_interval(self) -> int:
        return self.slide * _BATCHES_BETWEEN_SCANS

    def compute(self, time: int) -> RDD[Any] | None:
        records = self.before(time)
        if records is None:
            initial = self.initial or InitialState([])
            states = initial.rdd(self.graph.context).partitionBy(self.partitions)
            records = states.mapPartitions(
                lambda pairs: [({key: (state, time) for key, state in pairs}, [])]
            )
        arrived = self.parents[0].rdd_at(time)
        given = self.graph.context.emptyRDD() if arrived is None else arrived
        scan = self.is_checkpoint(time)
        result: RDD[Any] = self.step(time, scan, records, given.partitionBy(self.partitions))
        return result
