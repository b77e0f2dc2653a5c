"""DStreams whose RDDs a function makes of the RDDs that others have at the same time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pyspark import RDD

from millstream.dstream.graph.node import Function, Node, unusable


def clock_time(time: int) -> datetime:
    """A batch time as users' functions get it: local, without a zone, as in PySpark."""
    return datetime.fromtimestamp(time / 1000)


class Transformed(Node):
    """``transform``: no RDD where the parent has none."""

    def __init__(self, parent: Node, function: Function) -> None:
        super().__init__([parent], parent.slide)
        self.function = function

    def compute(self, time: int) -> RDD[Any] | None:
        rdd = self.parents[0].rdd_at(time)
        if rdd is None:
            return None
        result: RDD[Any] | None = self.function(clock_time(time), rdd)
        return result


class TransformedTwo(Node):
    """``transformWith``: an empty RDD stands in where a parent has none."""

    def __init__(self, left: Node, right: Node, function: Function) -> None:
        super().__init__([left, right], left.slide)
        self.function = function

    def compute(self, time: int) -> RDD[Any] | None:
        rdds = [parent.rdd_at(time) for parent in self.parents]
        given = [self.graph.context.emptyRDD() if rdd is None else rdd for rdd in rdds]
        result: RDD[Any] | None = self.function(clock_time(time), *given)
        return result


class TransformedAll(Node):
    """``StreamingContext.transform`` and ``union``: every parent must have an RDD."""

    def __init__(self, parents: list[Node], function: Function) -> None:
        if len({parent.slide for parent in parents}) > 1:
            raise unusable(
                "DStreams of different slides cannot be transformed together",
                "give them the same slide",
            )
        super().__init__(parents, parents[0].slide)
        self.function = function

    def compute(self, time: int) -> RDD[Any] | None:
        rdds = [parent.rdd_at(time) for parent in self.parents]
        if any(rdd is None for rdd in rdds):
            raise unusable(
                f"a DStream has no RDD at {clock_time(time)}, so the streams cannot be combined",
                "give queueStream a default, or use transformWith, which takes an empty RDD",
            )
        result: RDD[Any] = self.function(rdds)
        return result


class Output(Node):
    """``foreachRDD``: what runs a function on each RDD."""

    def __init__(self, parent: Node, function: Function) -> None:
        super().__init__([parent], parent.slide)
        self.function = function

    def compute(self, time: int) -> RDD[Any] | None:
        return self.parents[0].rdd_at(time)

    def run(self, time: int, rdd: RDD[Any]) -> None:
        self.function(time, rdd)
