"""A program that runs or has run: its progress and its results."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millstream.jobs.html import job_as_html
from millstream.model.amounts import counted
from millstream.model.errors import PlanError, did_you_mean
from millstream.plan.explain.drawing import draw_plan
from millstream.plan.nodes import Node, Sink
from millstream.plan.targets import Memory
from millstream.reports.progress import Progress
from millstream.reports.tracker import Tracker
from millstream.system.interrupts import on_interrupt

if TYPE_CHECKING:
    from millstream.jobs.registry.recorder import Recorder
    from millstream.spark.driver.streaming_job import StreamingJob


class Job:
    """A run of a program.

    A job over bounded sources has finished when ``run`` returns. A job over endless sources runs in
    the background: ``wait()`` for it, and ``stop()`` it.
    """

    def __init__(
        self,
        name: str,
        sinks: tuple[Node, ...],
        tracker: Tracker,
        rows: Callable[[str], list[dict[str, Any]]],
        recorder: Recorder | None = None,
    ) -> None:
        self.name = name
        self._sinks = sinks
        self._tracker = tracker
        self._rows = rows
        self._recorder = recorder
        self._stream: StreamingJob | None = None

    def rows(self, sink: str | None = None) -> list[dict[str, Any]]:
        """The rows that a sink has collected; ``sink`` may be left out where there is only one.

        If the job has failed, this raises its error, unless it was raised before: then it returns
        the rows of the earlier batches.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").collect().run("big").rows()
        [{'n': 2}]
        """
        if self._stream is not None and self._stream.outcome.unseen:
            self._stream.outcome.check()
        collected = [s.name for s in self._sinks if isinstance(s, Sink) and in_memory(s)]
        if sink is None and len(collected) == 1:
            return self._rows(collected[0])
        if sink is None or sink not in collected:
            raise self._no_such(sink, collected)
        return self._rows(sink)

    @property
    def late(self) -> int:
        """How many rows were late for a grouping."""
        return self.progress().late

    @property
    def rejected(self) -> int:
        """How many rows were rejected."""
        return self.progress().rejected

    def progress(self) -> Progress:
        """The progress of the job: batches, rows, watermark, state, late and rejected rows.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").collect("all").run("two").progress().state
        'finished'
        """
        return self._tracker.progress()

    def wait(self) -> Job:
        """Waits until the job has ended, and shows its progress.

        In a terminal this is a live view, elsewhere lines of the log ``millstream.job``, at most
        one a second. Ctrl-C or SIGTERM stops the job cleanly: the current batch finishes, and the
        job can be resumed. A second one abandons that batch.
        """
        if self._stream is not None:
            from millstream.jobs.waiting import view_of, wait

            with self._awaited(self._stream):
                try:
                    wait(self._tracker, self._stream.stop, view_of(self.name))
                except KeyboardInterrupt:
                    self._stream.abandon()
                    self._stream.join()
                    raise
        return self

    def stop(self) -> Job:
        """Stops the job after the current batch; it can be resumed from its checkpoint."""
        if self._stream is not None:
            with self._awaited(self._stream):
                self._stream.stop()
        return self

    def process_all(self) -> Job:
        """Waits until all rows that the sources have now are processed: for tests and notebooks."""
        if self._stream is not None:
            # Ctrl-C ends the waiting, and does not affect the current batch.
            with on_interrupt(signal.default_int_handler):
                self._stream.process_all()
        return self

    @contextmanager
    def _awaited(self, stream: StreamingJob) -> Iterator[None]:
        """Surrounds code that waits for the job's end, and raises its error."""
        with stream.outcome.awaited():
            yield
            stream.join()
        if self._recorder is not None:
            self._recorder.close()
        stream.outcome.check()

    def _no_such(self, sink: str | None, collected: list[str]) -> PlanError:
        names = [s.name for s in self._sinks]
        if not collected:
            what, fix = "no sink that collects rows", "add one: stream.collect('results')"
        elif sink is None:
            choices = " or ".join(f"rows({name!r})" for name in collected)
            what, fix = "several sinks", f"name one: {choices}"
        elif sink in names:
            what = f"a sink {sink!r} that does not keep its rows"
            fix = f"read them where it writes them, or use one of: {', '.join(collected)}"
        else:
            what, fix = f"no sink {sink!r}", did_you_mean(sink, collected)
        return PlanError("MS113", f"job {self.name!r} has {what}", fix=fix)

    def __repr__(self) -> str:
        progress = self.progress()
        written = progress.written
        sinks = ", ".join(
            f"{counted(written.get(s.name, 0), 'row')} in {s.name!r}" for s in self._sinks
        )
        counts = f"{progress.late} late, {progress.rejected} rejected"
        error = f" ({progress.error.splitlines()[0]})" if progress.error else ""
        return f"<Job {self.name!r}: {progress.state}{error}; {sinks}; {counts}>"

    def _repr_html_(self) -> str:
        return job_as_html(self.name, self.progress(), draw_plan(*self._sinks))


def in_memory(sink: Sink) -> bool:
    """Whether the job keeps the rows of a sink."""
    return isinstance(sink.target, Memory)
