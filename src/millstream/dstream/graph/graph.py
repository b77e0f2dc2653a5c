"""The graph of the DStreams of a program, and what it does at each batch time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pyspark import RDD, SparkContext

from millstream.dstream.graph.node import Node, unusable, walk
from millstream.dstream.graph.transforms import Output
from millstream.dstream.inputs.input import Input

Job = Callable[[], None]


class Graph:
    """All DStreams of a program. It is pickled into the checkpoint, without its SparkContext.

    ``lock`` is held while RDDs are computed: by the thread of the batches, and by ``slice`` in any
    other.
    """

    def __init__(self, context: SparkContext, interval: int) -> None:
        self.context = context
        self.interval = interval
        self.zero = 0
        self.latest = 0
        """The last batch time that was begun."""
        self.remember = 0
        self.checkpointed = False
        self.inputs: list[Input] = []
        """Those that outputs depend on."""
        self.outputs: list[Output] = []
        self.started = False
        self.lock = threading.RLock()

    def add_output(self, node: Output) -> None:
        self.check_open()
        self.outputs.append(node)

    def check_open(self) -> None:
        """Raises once the program runs, or has run: its graph is fixed."""
        if self.started:
            raise unusable(
                "DStreams cannot be added after the context has started or stopped",
                "make all of them before ssc.start()",
            )

    def nodes(self) -> list[Node]:
        """What the outputs depend on, parents after their children."""
        return list(walk(list(self.outputs)))

    def prepare(self, zero: int) -> None:
        """Numbers, connects and checks the nodes; the first batch is an interval after ``zero``."""
        if not self.outputs:
            raise unusable(
                "no output operations registered, so nothing to execute",
                "call foreachRDD, pprint or saveAsTextFiles on a DStream",
            )
        self.zero = self.latest = zero
        nodes = self.nodes()
        for number, node in enumerate(nodes):
            node.graph, node.number = self, number
        for node in nodes:
            node.prepare()
        for output in self.outputs:
            output.remember = max(output.remember, self.remember)
        for node in nodes:  # children come first
            for parent in node.parents:
                parent.remember = max(parent.remember, node.parents_remember())
        self.inputs = [node for node in nodes if isinstance(node, Input)]
        self.started = True

    def jobs(self, time: int) -> list[Job]:
        """What the outputs are to do with the RDDs of a time."""
        with self.lock:
            self.latest = max(self.latest, time)
            for each in self.inputs:
                each.allocate(time)
            found = [(output, output.rdd_at(time)) for output in self.outputs]
        return [_job(output, time, rdd) for output, rdd in found if rdd is not None]

    def slice(self, node: Node, first: int, last: int) -> list[RDD[Any]]:
        """The RDDs of a node between two times, as far as batches have begun."""
        if not self.started or node.number < 0:
            raise unusable(
                "slice needs a DStream that an output depends on, in a context that has started",
                "call foreachRDD on it, and ssc.start() before slice",
            )
        with self.lock:
            return node.between(first, min(last, self.latest))

    def forget(self, time: int) -> None:
        """Drops what no later batch needs."""
        with self.lock:
            for node in self.nodes():
                node.forget(time)

    def union(self, rdds: list[RDD[Any]]) -> RDD[Any]:
        """One RDD of many; an empty one of none."""
        if not rdds:
            return self.context.emptyRDD()
        return rdds[0] if len(rdds) == 1 else self.context.union(rdds)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["context"], state["lock"]
        return {**state, "started": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.RLock()


def _job(output: Output, time: int, rdd: RDD[Any]) -> Job:
    return lambda: output.run(time, rdd)
