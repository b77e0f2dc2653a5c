"""Runs one batch: evaluates the graph for its time, records that, and runs the outputs."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import replace

from millstream.dstream.checkpoint import Checkpoint, Progress
from millstream.dstream.graph.graph import Graph, Job
from millstream.dstream.listener import (
    BatchEvent,
    BatchInfo,
    OutputEvent,
    OutputOperationInfo,
    StreamingListener,
    StreamInputInfo,
    notify,
)


class Batches:
    """Runs the batches of a graph, one after the other, in one thread.

    A function that fails is reported, and its batch counts as failed; other outputs and later
    batches run nevertheless, as in Spark Streaming. While ``is_stopping`` returns true, a failure
    comes from the stop: it ends the batch, which is then retried by the next run.
    """

    def __init__(
        self,
        graph: Graph,
        checkpoint: Checkpoint | None,
        listeners: list[StreamingListener],
        report: Callable[[BaseException], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._graph = graph
        self._checkpoint = checkpoint
        self._listeners = listeners
        self._report = report
        self._is_stopping = is_stopping
        self.failed: list[int] = []

    def retry(self) -> None:
        """Runs the batches again that failed in the run before this one."""
        failed, self.failed = self.failed, []
        for time in failed:
            self.run(time)

    def run(self, time: int) -> None:
        """Runs the batch of a time."""
        try:
            jobs = self._graph.jobs(time)
        except Exception as error:
            self._fail(time, error)
            jobs = []
        self._record(time)
        outputs = {number: _output(time, number) for number in range(len(jobs))}
        info = BatchInfo(time, _now(), _outputs=outputs, _inputs=self._inputs(time))
        self._notify("onBatchSubmitted", BatchEvent(info))
        info = replace(info, _started=_now())
        self._notify("onBatchStarted", BatchEvent(info))
        outputs = {number: self._run(time, number, job) for number, job in enumerate(jobs)}
        self._cut(time)
        if time in self.failed:
            self._record(time)
        self._graph.forget(self._needed(time))
        self._notify(
            "onBatchCompleted", BatchEvent(replace(info, _completed=_now(), _outputs=outputs))
        )

    def _run(self, time: int, number: int, job: Job) -> OutputOperationInfo:
        info = replace(_output(time, number), _start=_now())
        self._notify("onOutputOperationStarted", OutputEvent(info))
        failure = None
        try:
            job()
        except Exception as error:
            self._fail(time, error)
            failure = str(error)
        info = replace(info, _end=_now(), _failure=failure)
        self._notify("onOutputOperationCompleted", OutputEvent(info))
        return info

    def _fail(self, time: int, error: Exception) -> None:
        if self._is_stopping():
            raise error
        if time not in self.failed:
            self.failed.append(time)
        self._report(error)

    def _needed(self, time: int) -> int:
        """The time of the oldest batch that is needed: the next run retries those that failed."""
        if self._checkpoint is None or not self.failed:
            return time
        return min(time, min(self.failed) - self._graph.interval)

    def _record(self, time: int) -> None:
        if self._checkpoint is not None:
            self._checkpoint.write(time, Progress.of(self._graph, self.failed))

    def _cut(self, time: int) -> None:
        """Has state written that no output of this batch needed: its history would grow forever."""
        for node in self._graph.nodes():
            rdd = node.rdds.get(time)
            if rdd is not None and node.is_checkpoint(time) and not rdd.isCheckpointed():
                try:
                    rdd.foreachPartition(lambda _: None)
                except Exception as error:
                    self._fail(time, error)

    def _notify(self, method: str, event: BatchEvent | OutputEvent) -> None:
        notify(self._listeners, method, event)

    def _inputs(self, time: int) -> dict[int, StreamInputInfo]:
        """What the inputs took for a batch, which only listeners want to know."""
        if not self._listeners:
            return {}
        found = {each.number: each.info(time) for each in self._graph.inputs}
        return {n: StreamInputInfo(n, *info) for n, info in found.items() if info is not None}


def _output(time: int, number: int) -> OutputOperationInfo:
    return OutputOperationInfo(time, number)


def _now() -> int:
    return int(clock.time() * 1000)
