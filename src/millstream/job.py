"""A program that runs or ran, how far it has come, and what came of it."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from millstream.at_exit import end_with_the_program, is_running
from millstream.interrupts import interruptible, interrupts_later, on_interrupt
from millstream.model.errors import PlanError, RunError, did_you_mean
from millstream.model.instants import END_OF_TIME
from millstream.plan.drawing import draw_plan
from millstream.plan.functions import user_functions
from millstream.plan.nodes import Node, RowsSource, Sink, Source, TestSource, walk
from millstream.plan.targets import Memory
from millstream.progress import BatchReport, Progress, Tracker
from millstream.reference.functions import own_copy
from millstream.reference.interpreter import Interpreter

if TYPE_CHECKING:
    from millstream.spark.ownership import Owner
    from millstream.spark.physical import Physical
    from millstream.spark.running import StreamingJob

Mode = Literal["streaming", "batch"]


class Job:
    """A run of a program.

    One over bounded sources has finished when ``run`` returns. One over endless sources goes on in
    the background: ``wait()`` for it, and ``stop()`` it.
    """

    def __init__(
        self,
        name: str,
        sinks: tuple[Node, ...],
        tracker: Tracker,
        rows: Callable[[str], list[dict[str, Any]]],
    ) -> None:
        self.name = name
        self._sinks = sinks
        self._tracker = tracker
        self._rows = rows
        self._stream: StreamingJob | None = None

    def rows(self, sink: str | None = None) -> list[dict[str, Any]]:
        """The rows that a sink has collected; ``sink`` may be left out where there is only one.

        If the job has failed, this raises its error, unless the program has seen it already: then
        it returns the rows of the batches before.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").collect().run("big").rows()
        [{'n': 2}]
        """
        if self._stream is not None and self._stream.outcome.unseen:
            self._stream.outcome.check()
        collected = [s.name for s in self._sinks if isinstance(s, Sink) and _in_memory(s)]
        if sink is None and len(collected) == 1:
            return self._rows(collected[0])
        if sink is None or sink not in collected:
            raise self._no_such(sink, collected)
        return self._rows(sink)

    @property
    def late(self) -> int:
        """How many rows came too late for a grouping."""
        return self.progress().late

    @property
    def rejected(self) -> int:
        """How many rows were rejected."""
        return self.progress().rejected

    def progress(self) -> Progress:
        """How far the job has come.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").collect("all").run("two").progress().state
        'finished'
        """
        return self._tracker.progress()

    def wait(self) -> Job:
        """Waits until the job has ended, and shows how far it has come.

        In a terminal that is a live view, elsewhere lines of the log ``millstream.job``, one a
        second at most. Ctrl-C or SIGTERM stops the job cleanly: the batch under way ends, and the
        job can be resumed. A second one abandons that batch.
        """
        if self._stream is not None:
            from millstream.live import view_of, wait

            with self._awaited(self._stream):
                try:
                    wait(self._tracker, self._stream.stop, view_of(self.name))
                except KeyboardInterrupt:
                    self._stream.abandon()
                    self._stream.join()
                    raise
        return self

    def stop(self) -> Job:
        """Stops the job after the batch under way; it can be resumed from its checkpoint."""
        if self._stream is not None:
            with self._awaited(self._stream):
                self._stream.stop()
        return self

    def process_all(self) -> Job:
        """Waits until all that the sources have now is processed: for tests and notebooks."""
        if self._stream is not None:
            # Ctrl-C ends the waiting, and leaves the batch under way alone.
            with on_interrupt(signal.default_int_handler):
                self._stream.process_all()
        return self

    @contextmanager
    def _awaited(self, stream: StreamingJob) -> Iterator[None]:
        """Goes around what waits for the job's end, and raises what ended it."""
        with stream.outcome.awaited():
            yield
            stream.join()
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
        sinks = ", ".join(f"{_count(written.get(s.name, 0))} in {s.name!r}" for s in self._sinks)
        counts = f"{progress.late} late, {progress.rejected} rejected"
        error = f" ({progress.error.splitlines()[0]})" if progress.error else ""
        return f"<Job {self.name!r}: {progress.state}{error}; {sinks}; {counts}>"

    def _repr_svg_(self) -> str:
        return draw_plan(*self._sinks)


def run(
    name: str,
    sinks: tuple[Node, ...],
    *,
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool = False,
) -> Job:
    """Runs a program: a small one that only collects rows it brings along needs no Spark."""
    used = list(user_functions(*sinks))
    if used:
        from millstream.spark.pickling import check_functions

        check_functions(used)
    if spark is None and checkpoint is None and mode is None and _needs_no_spark(sinks):
        try:
            return run_to_the_end(name, sinks)
        except RunError as error:
            if error.code != "MS203":  # what the reference cannot compute, Spark may
                raise
    return _run_on_spark(name, sinks, checkpoint, spark, mode, every, take_over)


def explain(sinks: tuple[Node, ...]) -> str:
    """How ``run`` would run a program, as text."""
    from millstream.spark.explaining import explain_physical
    from millstream.spark.physical import physical

    return explain_physical(physical(sinks), _needs_no_spark(sinks))


def _needs_no_spark(sinks: tuple[Node, ...]) -> bool:
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    return all(isinstance(source, RowsSource) for source in sources) and all(
        isinstance(sink, Sink) and _in_memory(sink) for sink in sinks
    )


def _in_memory(sink: Sink) -> bool:
    return isinstance(sink.target, Memory)


def _run_on_spark(
    name: str,
    sinks: tuple[Node, ...],
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool,
) -> Job:
    for source in walk(*sinks):
        if isinstance(source, TestSource):
            raise _no_rows(source)
    from millstream.spark.physical import physical
    from millstream.spark.sinks import check_results

    plan = physical(sinks)
    streaming = _is_streaming(plan.sources, mode, checkpoint)
    ends = all(source.bounded for source in plan.sources)
    check_results({s.name: s.target for s in plan.sinks}, anew=ends and checkpoint is None)
    owner = _owner(name, checkpoint, take_over) if streaming else None
    try:
        return _start(name, sinks, plan, checkpoint, owner, spark, streaming, every)
    except BaseException:
        if owner is not None:
            owner.release()
        raise


def _owner(name: str, checkpoint: str | None, take_over: bool) -> Owner | None:
    """This process as the owner of the checkpoint, before anything is started for the job."""
    if is_running(name):
        raise RunError(
            "MS209",
            f"job {name!r} runs already, in this program",
            fix="give one of them another name, run('…'), or stop the first before: job.stop()",
        )
    if checkpoint is None:
        return None
    from millstream.spark.ownership import Owner

    return Owner.take(name, checkpoint, take_over)


def _start(
    name: str,
    sinks: tuple[Node, ...],
    plan: Physical,
    checkpoint: str | None,
    owner: Owner | None,
    spark: Any,
    streaming: bool,
    every: str | None,
) -> Job:
    from millstream.spark.checkpoint import opened
    from millstream.spark.file_columns import check_files
    from millstream.spark.kafka_sink import check_topics
    from millstream.spark.kafka_source import opened_topics
    from millstream.spark.ledger import Ledger
    from millstream.spark.packing import keep_packing, packing_of
    from millstream.spark.physical import physical
    from millstream.spark.running import StreamingJob, labels_of, run_batch
    from millstream.spark.session import (
        checked_session,
        is_remote,
        local_session,
        sees_files,
        shares_files,
        start_workers,
    )

    # First what fails in seconds where it fails.
    empty = check_files(plan.sources) if shares_files(spark) else []
    topics = opened_topics(plan.sources)
    with interrupts_later():
        made = spark or local_session(name, kafka=bool(topics))
        session = checked_session(made, streaming, kafka=bool(topics))
    if plan.loaded and not sees_files(session):
        plan = physical(sinks, sees_files=False)
    partitions = int(session.conf.get("spark.sql.shuffle.partitions") or 2)
    start_workers(session)
    labels = labels_of(partitions, partitions)
    check_topics({sink.name: sink.target for sink in plan.sinks}, len(labels))
    tracker = Tracker()
    if not streaming:
        ledger = Ledger(uuid.uuid4().hex, plan.sinks, tracker)
        job = Job(name, sinks, tracker, ledger.rows)
        try:
            interruptible(lambda: run_batch(plan, session, ledger, labels, topics))
        except BaseException:
            tracker.state("failed")
            raise
        tracker.state("finished")
        return job
    packed = checkpoint is not None and plan.slices_by_tasks
    packing = packing_of(session) if packed else None
    folder = opened(name, checkpoint, plan, labels, packing, owner)
    with folder.closed_on_failure():
        if packed and folder.packing is not None:
            keep_packing(session, folder.packing, ours=spark is None and not is_remote(session))
        ledger = Ledger(folder.run, plan.sinks, tracker, is_remote(session), folder.fence)
    job = Job(name, sinks, tracker, ledger.rows)
    try:
        with interrupts_later():
            with folder.closed_on_failure():
                job._stream = StreamingJob(
                    name, plan, session, ledger, folder, every, topics, empty
                )
            end_with_the_program(job._stream)
        if all(source.bounded for source in plan.sources):
            with on_interrupt(signal.default_int_handler), job._awaited(job._stream):
                pass
    except KeyboardInterrupt:
        job.stop()
        raise
    return job


def _is_streaming(sources: list[Source], mode: Mode | None, checkpoint: str | None) -> bool:
    endless = [source for source in sources if not source.bounded]
    if mode not in (None, "streaming", "batch"):
        raise PlanError(
            "MS113", f"mode={mode!r} is not a choice", fix="write 'streaming' or 'batch'"
        )
    if mode == "batch" and endless:
        raise PlanError(
            "MS113",
            f"source {endless[0].name!r} has no end, so mode='batch' would not have one either",
            fix="read what is there now, read_files(…, bounded=True), or leave mode out",
        )
    if mode == "batch" and checkpoint is not None:
        raise PlanError(
            "MS113",
            "mode='batch' keeps nothing to go on with, so a checkpoint would be of no use",
            fix="leave mode out: with a checkpoint each row is written once, however often the job "
            "is run; or leave the checkpoint out",
        )
    return bool(endless) or mode == "streaming" or (mode is None and checkpoint is not None)


def run_to_the_end(name: str, sinks: tuple[Node, ...]) -> Job:
    """Runs a program over bounded sources on the reference: all rows, then the end of time."""
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    interpreter = Interpreter(*sinks, clock=int(time.time() * 1_000_000))
    rows = {source.name: _rows_of(source) for source in sources}
    step = interpreter.step(rows=rows, watermarks={source.name: END_OF_TIME for source in sources})
    tracker = Tracker()
    tracker.report(
        BatchReport(
            batch=0,
            started=0,
            seconds=0,
            rows=sum(map(len, rows.values())),
            written={sink.name: len(step.rows[sink]) for sink in sinks},
            late={node.name: len(late) for node, late in step.late_elements.items()},
            rejected={node.name: len(rejected) for node, rejected in step.rejected.items()},
            ahead={node.name: len(rows) for node, rows in step.ahead.items()},
        )
    )
    tracker.state("finished")
    made = {sink.name: [own_copy(row.values) for row in step.rows[sink]] for sink in sinks}
    return Job(name, sinks, tracker, made.__getitem__)


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _rows_of(source: Source) -> tuple[dict[str, Any], ...]:
    if isinstance(source, RowsSource):
        return source.rows
    raise _no_rows(source)


def _no_rows(source: Source) -> RunError:
    return RunError(
        "MS204",
        f"source {source.name!r} has no rows of its own to run over",
        fix="give the program rows with ms.from_rows(…), or replay it with steps of a test: "
        "millstream.testing.replay(stream, steps=[…])",
        step=source.name,
    )
