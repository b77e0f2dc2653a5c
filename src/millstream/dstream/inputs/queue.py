"""``queueStream``: RDDs or lists, one for each batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark import RDD

from millstream.dstream.graph.node import unusable
from millstream.dstream.inputs.input import Input, Tell


class QueueInput(Input):
    """A queue of RDDs. What was taken is a range of it: after its end, the default."""

    def __init__(
        self,
        slide: int,
        rdds: Sequence[RDD[Any] | Sequence[Any]],
        one_at_a_time: bool,
        default: RDD[Any] | Sequence[Any] | None,
    ) -> None:
        super().__init__(slide)
        self._queue = list(rdds) or [[]] * (default is not None)  # as in PySpark
        self._one = one_at_a_time
        self._default = default
        self._next = 0

    def take(self, time: int) -> Any:
        begin, end = self._next, len(self._queue)
        if self._one:
            end = min(begin + 1, end)
        self._next = end
        return begin, end

    def read(self, taken: Any) -> RDD[Any]:
        chosen = [self._rdd(each) for each in self._queue[slice(*taken)]]
        if not chosen:
            if self._default is None:
                return self.graph.context.parallelize([], 1)
            return self._rdd(self._default)
        return chosen[0] if self._one else self.graph.union(chosen)

    def _rdd(self, each: Any) -> RDD[Any]:
        return each if isinstance(each, RDD) else self.graph.context.parallelize(each)

    def position(self) -> Any:
        return self._next

    def resume(self, position: Any) -> None:
        self._next = position

    def open(self, folder: str | None, tell: Tell) -> None:
        if self._queue is None:
            raise unusable(
                "the RDDs of a queueStream are not part of a checkpoint, so it cannot be resumed",
                "give queueStream lists instead of RDDs, or start with another checkpoint folder",
            )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if any(isinstance(each, RDD) for each in [*self._queue, self._default]):
            state |= {"_queue": None, "_default": None}
        return state
