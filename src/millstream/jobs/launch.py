"""The launch of a program: in this process, as one batch of Spark, or as a streaming query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.jobs.in_process import no_rows, run_to_the_end
from millstream.jobs.job import Job, in_memory
from millstream.jobs.listening import BatchListener
from millstream.jobs.request import Mode, Request
from millstream.jobs.telemetry import observe
from millstream.model.errors import PlanError, RunError
from millstream.plan.as_data import plan_as_data
from millstream.plan.build.functions import user_functions
from millstream.plan.nodes import Node, RowsSource, Sink, Source, TestSource, walk
from millstream.reports.steps import steps_of
from millstream.reports.tracker import Tracker

if TYPE_CHECKING:
    from millstream.jobs.registry.recorder import Recorder
    from millstream.physical.plan import Physical


def run(request: Request) -> Job:
    """Runs a program: a small one that only collects rows given in the program needs no Spark."""
    sinks = request.sinks
    used = list(user_functions(*sinks))
    if used:
        from millstream.spark.worker.pickling import check_functions

        check_functions(used)
    as_it_is = request.spark is None and request.checkpoint is None and request.mode is None
    if as_it_is and _needs_no_spark(sinks):
        try:
            return run_to_the_end(request.name, sinks, _tracker(request))
        except RunError as error:
            if error.code != "MS203":  # Spark may compute what the reference cannot
                raise
    return _run_on_spark(request, _tracker(request))


def _tracker(request: Request) -> Tracker:
    tracker = Tracker(steps_of(*request.sinks))
    observe(request.name, tracker)
    if request.on_batch is not None:
        tracker.subscribe(BatchListener(request.name, request.on_batch, tracker))
    return tracker


def explain(sinks: tuple[Node, ...]) -> str:
    """How ``run`` would run a program, as text."""
    from millstream.physical.explain import explain_physical
    from millstream.physical.plan import physical

    return explain_physical(physical(sinks), _needs_no_spark(sinks))


def check_start(sinks: tuple[Node, ...]) -> None:
    """Raises what keeps a program from starting, as far as that shows within seconds."""
    from millstream.jobs.on_spark import opened_sources
    from millstream.physical.plan import physical

    opened_sources(physical(sinks).sources)


def _needs_no_spark(sinks: tuple[Node, ...]) -> bool:
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    return all(isinstance(source, RowsSource) for source in sources) and all(
        isinstance(sink, Sink) and in_memory(sink) for sink in sinks
    )


def _run_on_spark(request: Request, tracker: Tracker) -> Job:
    for source in walk(*request.sinks):
        if isinstance(source, TestSource):
            raise no_rows(source)
    from millstream.jobs.starting import starting

    with starting(request.name) as announce:
        from millstream.jobs import on_spark
        from millstream.physical.plan import physical
        from millstream.sinks.kinds import sinks_of

        plan = physical(request.sinks)
        streaming = _is_streaming(plan.sources, request.mode, request.checkpoint)
        ends = all(source.bounded for source in plan.sources)
        for sink in sinks_of(plan.sinks):
            sink.check_results(anew=ends and request.checkpoint is None)
        owner = on_spark.take_ownership(request) if streaming else None
        recorder = _recorder(request, tracker, plan) if owner is not None else None
        try:
            prepared = on_spark.prepare(request, plan, streaming, announce)
            if not streaming:
                return on_spark.run_batch(prepared, tracker)
            return on_spark.start_streaming(prepared, owner, tracker, recorder)
        except BaseException as error:
            if recorder is not None:
                recorder.fail(error)
            if owner is not None:
                owner.release()
            raise


def _recorder(request: Request, tracker: Tracker, plan: Physical) -> Recorder:
    from millstream.jobs.registry.recorder import Recorder
    from millstream.physical.explain import explain_physical

    folder = f"{str(request.checkpoint).rstrip('/')}/{request.name}"
    described = {**plan_as_data(*request.sinks), "physical": explain_physical(plan, False)}
    return Recorder(request.name, folder, described, tracker)


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
