"""The launch of a program: in this process, as one batch of Spark, or as a streaming query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from millstream.jobs.in_process import no_rows, run_to_the_end
from millstream.jobs.job import Job, in_memory
from millstream.jobs.listening import BatchListener, OnBatch
from millstream.model.errors import PlanError, RunError
from millstream.plan.as_data import plan_as_data
from millstream.plan.build.functions import user_functions
from millstream.plan.nodes import Node, RowsSource, Sink, Source, TestSource, walk
from millstream.reports.steps import steps_of
from millstream.reports.tracker import Tracker

if TYPE_CHECKING:
    from millstream.jobs.registry.recorder import Recorder

Mode = Literal["streaming", "batch"]


def run(
    name: str,
    sinks: tuple[Node, ...],
    *,
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool,
    restarts: int,
    on_batch: OnBatch | None,
) -> Job:
    """Runs a program: a small one that only collects rows given in the program needs no Spark."""
    used = list(user_functions(*sinks))
    if used:
        from millstream.spark.worker.pickling import check_functions

        check_functions(used)
    if spark is None and checkpoint is None and mode is None and _needs_no_spark(sinks):
        try:
            return run_to_the_end(name, sinks, _tracker(name, sinks, on_batch))
        except RunError as error:
            if error.code != "MS203":  # Spark may compute what the reference cannot
                raise
    tracker = _tracker(name, sinks, on_batch)
    return _run_on_spark(name, sinks, checkpoint, spark, mode, every, take_over, restarts, tracker)


def _tracker(name: str, sinks: tuple[Node, ...], on_batch: OnBatch | None) -> Tracker:
    tracker = Tracker(steps_of(*sinks))
    if on_batch is not None:
        tracker.subscribe(BatchListener(name, on_batch, tracker))
    return tracker


def explain(sinks: tuple[Node, ...]) -> str:
    """How ``run`` would run a program, as text."""
    from millstream.physical.explain import explain_physical
    from millstream.physical.plan import physical

    return explain_physical(physical(sinks), _needs_no_spark(sinks))


def _needs_no_spark(sinks: tuple[Node, ...]) -> bool:
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    return all(isinstance(source, RowsSource) for source in sources) and all(
        isinstance(sink, Sink) and in_memory(sink) for sink in sinks
    )


def _run_on_spark(
    name: str,
    sinks: tuple[Node, ...],
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool,
    restarts: int,
    tracker: Tracker,
) -> Job:
    for source in walk(*sinks):
        if isinstance(source, TestSource):
            raise no_rows(source)
    from millstream.jobs.starting import starting

    with starting(name) as announce:
        from millstream.jobs import on_spark
        from millstream.physical.plan import physical
        from millstream.sinks.kinds import sinks_of

        plan = physical(sinks)
        streaming = _is_streaming(plan.sources, mode, checkpoint)
        ends = all(source.bounded for source in plan.sources)
        for sink in sinks_of(plan.sinks):
            sink.check_results(anew=ends and checkpoint is None)
        owner = on_spark.take_ownership(name, checkpoint, take_over) if streaming else None
        recorder = _recorder(name, checkpoint, sinks, tracker) if owner is not None else None
        try:
            prepared = on_spark.prepare(name, sinks, plan, spark, streaming, announce)
            if not streaming:
                return on_spark.run_batch(prepared, tracker)
            ours = spark is None
            return on_spark.start_streaming(
                prepared, checkpoint, owner, every, restarts, ours, tracker, recorder
            )
        except BaseException as error:
            if recorder is not None:
                recorder.fail(error)
            if owner is not None:
                owner.release()
            raise


def _recorder(
    name: str, checkpoint: str | None, sinks: tuple[Node, ...], tracker: Tracker
) -> Recorder:
    from millstream.jobs.registry.recorder import Recorder

    return Recorder(name, f"{str(checkpoint).rstrip('/')}/{name}", plan_as_data(*sinks), tracker)


def _is_streaming(sources: list[Source], mode: Mode | None, checkpoint: str | None) -> bool:
    endless = [source for source in sources if not source.bounded]
    if mode == "batch" and endless:
        raise PlanError(
            "MS113",
            f"source {endless[0].name!r} has no end, so it cannot run with mode='batch'",
            fix="read what is there now, read_files(…, bounded=True), or leave mode out",
        )
    if mode == "batch" and checkpoint is not None:
        raise PlanError(
            "MS113",
            "mode='batch' keeps nothing to resume from, so a checkpoint would be of no use",
            fix="leave mode out: with a checkpoint each row is written once, however often the job "
            "is run; or leave the checkpoint out",
        )
    return bool(endless) or mode == "streaming" or (mode is None and checkpoint is not None)
