"""One run of a program, from start to stop."""

from __future__ import annotations

import time as clock
from functools import partial

from millstream.dstream.batch import Batches
from millstream.dstream.checkpoint import Checkpoint
from millstream.dstream.graph.graph import Graph
from millstream.dstream.hadoop import Files
from millstream.dstream.listener import StreamingListener, StreamingStarted, notify
from millstream.dstream.query import Query, session_of


class Run:
    """A graph whose batches run, in a folder if its state is to outlive this process."""

    def __init__(
        self, graph: Graph, folder: str | None, listeners: list[StreamingListener]
    ) -> None:
        self._graph = graph
        self._folder = folder
        self._listeners = listeners
        self._failure: BaseException | None = None
        self._stopping = False
        self._retried = False

    def start(self, resumed: bool) -> None:
        """Starts the batches: from the first on, or where the run before this one was."""
        graph = self._graph
        session = session_of(graph.context)
        now = int(clock.time() * 1000)
        graph.checkpointed = graph.checkpointed or graph.context.getCheckpointDir() is not None
        graph.prepare(graph.zero if resumed else now - now % graph.interval)
        checkpoint = self._checkpoint(resumed)
        self._batches = Batches(
            graph, checkpoint, self._listeners, self._report, lambda: self._stopping
        )
        if checkpoint is not None and resumed:
            progress = checkpoint.read()
            if progress is not None:
                progress.restore(graph)
                self._batches.failed = progress.failed
        for each in graph.inputs:
            each.open(checkpoint.run if checkpoint else None, partial(notify, self._listeners))
        self._query = Query(
            session,
            graph.zero,
            graph.interval,
            self._batch,
            f"{checkpoint.run}/query" if checkpoint else None,
        )
        self._query.start()
        notify(self._listeners, "onStreamingStarted", StreamingStarted(now))

    def _checkpoint(self, resumed: bool) -> Checkpoint | None:
        if self._folder is None:
            return None
        graph = self._graph
        checkpoint = Checkpoint(Files(graph.context), self._folder, graph.zero)
        if not resumed:
            checkpoint.begin(graph)
        graph.context.setCheckpointDir(f"{checkpoint.run}/rdds")
        return checkpoint

    def _batch(self, time: int) -> None:
        if not self._retried:
            self._batches.retry()
            self._retried = True
        self._batches.run(time)

    def is_own_thread(self) -> bool:
        """Whether the caller is a function that a batch runs."""
        return self._query.is_own_thread()

    def raise_failure(self) -> None:
        """Raises what the last function raised that failed, or what ended the query."""
        if self._failure is None and not self._stopping and not self._query.is_active():
            self._failure = self._query.failure()
        if self._failure is not None:
            raise self._failure

    def _report(self, error: BaseException) -> None:
        self._failure = error

    def stop(self, gracefully: bool) -> None:
        """Ends the batches: after what has arrived is processed, or at once."""
        if gracefully:
            self._query.drain()
        self._stopping = True
        self._query.stop()
        for each in self._graph.inputs:
            each.close()
