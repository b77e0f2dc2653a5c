"""DStreams: their outputs, how their RDDs are kept, and all that they inherit."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from pyspark import RDD, StorageLevel

from millstream.dstream.arguments import milliseconds, timed
from millstream.dstream.graph.states import MappedState
from millstream.dstream.graph.transforms import Output, Transformed, clock_time
from millstream.dstream.over_windows import OverWindows
from millstream.dstream.text_files import save

T = TypeVar("T")


class DStream(OverWindows[T]):
    """A sequence of RDDs, one for each batch: ``pyspark.streaming.DStream`` on another engine.

    Made by the methods of a ``StreamingContext``, and by those of other DStreams.
    """

    def foreachRDD(self, func: Callable[..., Any]) -> None:
        """Calls a function with each RDD, or with the time and each RDD."""
        call = timed(func, 1)
        self._output(lambda time, rdd: call(clock_time(time), rdd))

    def _output(self, run: Callable[[int, RDD[Any]], Any]) -> None:
        self._ssc._graph.add_output(Output(self._node, run))

    def pprint(self, num: int = 10) -> None:
        """Prints the first elements of each RDD."""

        def show(time: datetime, rdd: RDD[Any]) -> None:
            taken = rdd.take(num + 1)
            line = "-" * 43
            more = ["..."] if len(taken) > num else []
            print(line, f"Time: {time}", line, *taken[:num], *more, "", sep="\n")

        self.foreachRDD(show)

    def saveAsTextFiles(self, prefix: str, suffix: str | None = None) -> None:
        """Writes each RDD to a folder of text files, ``prefix-<time>``, or with ``.suffix``.

        A folder that is complete is not written again, so each batch is there once.
        """
        ending = "" if suffix is None else f".{suffix}"
        self._output(lambda time, rdd: save(rdd, f"{prefix}-{time}{ending}"))

    def cache(self) -> DStream[T]:
        """Keeps the RDDs in memory while they are remembered."""
        return self.persist(StorageLevel.MEMORY_ONLY)

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> DStream[T]:
        """Keeps the RDDs while they are remembered, in memory or as the level says."""
        self._ssc._graph.check_open()
        self._node.level = storageLevel
        self.is_cached = True
        return self

    def checkpoint(self, interval: float) -> DStream[T]:
        """Writes the RDDs to the checkpoint folder, every so many seconds."""
        self._ssc._graph.check_open()
        self._node.checkpoint_interval = milliseconds(interval)
        self.is_checkpointed = True
        return self

    def slice(self, begin: datetime | float, end: datetime | float) -> list[RDD[T]]:
        """The RDDs from one time to another, both included, as far as they are remembered."""
        return self._ssc._graph.slice(self._node, _time(begin), _time(end))


class MapWithStateDStream(DStream[T]):
    """What ``mapWithState`` emits."""

    def __init__(self, ssc: Any, states: MappedState) -> None:
        self._states = states
        super().__init__(
            ssc, Transformed(states, lambda _, rdd: rdd.flatMap(lambda record: record[1]))
        )

    def stateSnapshots(self) -> DStream[Any]:
        """The state of every key after each batch."""
        pairs = Transformed(
            self._states,
            lambda _, rdd: rdd.flatMap(
                lambda record: [(key, state) for key, (state, _) in record[0].items()]
            ),
        )
        return self._of(pairs)

    def checkpoint(self, interval: float) -> DStream[T]:
        """Writes the states to the checkpoint folder, every so many seconds."""
        self._ssc._graph.check_open()
        self._states.checkpoint_interval = milliseconds(interval)
        self.is_checkpointed = True
        return self


def _time(given: datetime | float) -> int:
    if isinstance(given, datetime):
        given = clock.mktime(given.timetuple())
    return milliseconds(given)
