"""A whole program: the graph of steps up to its sinks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from millstream.model.arguments import one_of
from millstream.model.durations import Duration, positive
from millstream.model.errors import PlanError
from millstream.plan.as_data import plan_as_data
from millstream.plan.build.files import checked_path
from millstream.plan.checks.loops import check_no_loops
from millstream.plan.explain.drawing import draw_plan
from millstream.plan.explain.text import explain_plan
from millstream.plan.names import check_names, checked_job_name, with_distinct_names
from millstream.plan.nodes import Node, Sink
from millstream.reports.tracebacks import ShortTraceback

if TYPE_CHECKING:
    from millstream.jobs.job import Job
    from millstream.reports.progress import Progress

Plan = Literal["logical", "physical"]
"""The plans that can be explained."""


@dataclass(frozen=True, eq=False, repr=False)
class Pipeline:
    """The graph up to some sinks. ``outputs`` are the sinks before naming, see ``sinks``."""

    outputs: tuple[Sink, ...] = field(repr=False)

    def __post_init__(self) -> None:
        check_names(*self.outputs)
        check_no_loops(self.outputs)

    @cached_property
    def sinks(self) -> tuple[Node, ...]:
        """The sinks, in a graph where every step has a unique name."""
        return with_distinct_names(*self.outputs)

    def run(
        self,
        name: str = "job",
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        spark: Any = None,
        mode: Literal["streaming", "batch"] | None = None,
        every: Duration | None = None,
        take_over: bool = False,
        restarts: int = 3,
        on_batch: Callable[[Progress], Any] | None = None,
    ) -> Job:
        """Runs the program: to the end of its sources, or until it is stopped.

        If all sources are bounded, it is one batch query, and ``run`` returns when it has finished.
        Otherwise it is one Structured Streaming query, which runs in the background: see
        ``Job.wait``. ``mode`` selects one of the two. A small program that only collects rows given
        by ``from_rows`` runs in this process, without Spark, unless ``mode``, ``checkpoint`` or
        ``spark`` is given.

        ``checkpoint`` is a folder for what jobs need to resume: the job resumes from it under its
        name, and each result is written exactly once. Without one, a job starts from the beginning.
        ``spark`` is your own session, instead of one on this machine. ``every`` is how often a
        streaming job starts a batch; the default is as soon as there is new data, or twice a second
        if the program uses the clock (``idle=``, ``ms.every``, ``ms.after_delay``).

        One process at a time owns the checkpoint of a job: a second one fails (MS209) while the
        first is running. With ``take_over=True`` it becomes the owner at once, and the first one
        cannot commit any more.

        If a Python worker or an executor of a streaming job dies, the job resumes from its
        checkpoint, at most ``restarts`` times in ten minutes. An error of the program ends it.

        ``on_batch`` is called after each batch with what ``Job.progress`` returns then. The next
        batch waits for it. If it fails, the first error is logged, and the job continues.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,), (3,)], schema="n int")
        >>> job = numbers.key_by(odd="n % 2 = 1").aggregate(n=ms.count()).collect("n").run("odd")
        >>> job
        <Job 'odd': finished; 2 rows in 'n'; 0 late, 0 rejected>
        >>> [(row["odd"], row["n"]) for row in job.rows()]
        [(False, 1), (True, 2)]
        """
        folder = None if checkpoint is None else checked_path(checkpoint)
        wait = None if every is None else -(-positive(every, what="every") // 1000)
        with ShortTraceback():
            # The reference and its SQL take most of an import: only programs that run pay it.
            from millstream.jobs.launch import run
            from millstream.jobs.request import Request

            request = Request(
                name=checked_job_name(name),
                sinks=self.sinks,
                checkpoint=folder,
                spark=_checked_session(spark),
                mode=_checked_mode(mode),
                every=None if wait is None else f"{wait} milliseconds",
                take_over=take_over,
                restarts=_checked_restarts(restarts),
                on_batch=_checked_listener(on_batch),
            )
            return run(request)

    def explain(self, plan: Plan = "logical") -> None:
        """Prints the logical plan: each step under the step that gets its rows.

        The physical plan shows how that runs on Spark: in which stages, what in the JVM and what in
        Python, and the state of operators.

        >>> import millstream as ms
        >>> lines = ms.read_files("/data/books", format="text", bounded=True)
        >>> lines.filter("value <> ''").collect("lines").explain("physical")
        one batch query
             or  one streaming query, with mode='streaming' or a checkpoint
        stage 0, from files 'files-1'
             JVM     files 'files-1'
                     filter 'filter-1'
             Python  collect 'lines'
        sinks, all written in one pass by the last Python stage
                     collect 'lines'    keeps them in memory
        """
        if checked_plan(plan) == "logical":
            print(explain_plan(*self.sinks))
            return
        from millstream.jobs.launch import explain

        print(explain(self.sinks))

    def to_dict(self) -> dict[str, Any]:
        """The logical plan as a dict, which can be written as JSON: each step and its inputs.

        >>> import millstream as ms
        >>> numbers = ms.from_rows([(1,), (2,)], schema="n int", name="numbers")
        >>> steps = numbers.filter("n > 1").collect("big").to_dict()["steps"]
        >>> [(step["id"], step["inputs"]) for step in steps]
        [('numbers', []), ('filter-1', ['numbers']), ('sink:big', ['filter-1'])]
        """
        return plan_as_data(*self.sinks)

    def __repr__(self) -> str:
        return f"<Pipeline: {', '.join(repr(sink.name) for sink in self.sinks)}>"

    def _repr_svg_(self) -> str:
        return draw_plan(*self.sinks)


def _checked_mode(mode: Any) -> Literal["streaming", "batch"] | None:
    modes: tuple[Literal["streaming", "batch"], ...] = ("streaming", "batch")
    return None if mode is None else one_of(mode, "mode", modes)


def _checked_session(spark: Any) -> Any:
    if spark is None or hasattr(spark, "conf"):
        return spark
    raise PlanError(
        "MS113",
        f"spark={spark!r} is no session of Spark",
        fix="give a SparkSession, or leave it out: Millstream starts one on this machine",
    )


def _checked_restarts(restarts: Any) -> int:
    if isinstance(restarts, int) and not isinstance(restarts, bool) and restarts >= 0:
        return restarts
    raise PlanError(
        "MS113",
        f"restarts={restarts!r} is not a number of restarts",
        fix="write how many there may be in ten minutes, or 0 for none",
    )


def _checked_listener(on_batch: Any) -> Callable[[Progress], Any] | None:
    if on_batch is None or callable(on_batch):
        return on_batch  # type: ignore[no-any-return]  # what it takes shows when it is called
    raise PlanError(
        "MS113",
        f"on_batch={on_batch!r} is no function",
        fix="give a function of the job's progress: on_batch=lambda progress: print(progress)",
    )


def checked_plan(plan: Any) -> str:
    """The kind of plan to explain, if it is valid."""
    return str(one_of(plan, "plan", get_args(Plan)))


def pipeline(*parts: Pipeline) -> Pipeline:
    """Several pipelines as one program; steps that they share run once.

    >>> import millstream as ms
    >>> numbers = ms.from_rows([(1,), (2,)], schema="n int")
    >>> ms.pipeline(numbers.collect("all"), numbers.filter("n > 1").collect("big"))
    <Pipeline: 'all', 'big'>
    """
    for part in parts:
        if not isinstance(part, Pipeline):
            raise PlanError(
                "MS113",
                f"pipeline() takes pipelines, not {part!r}",
                fix="end each stream in a sink: stream.collect('results')",
            )
    if not parts:
        raise PlanError(
            "MS113",
            "pipeline() has no parts",
            fix="give it at least one: stream.collect('results')",
        )
    # A sink given twice is one sink.
    return Pipeline(tuple(dict.fromkeys(sink for part in parts for sink in part.outputs)))
