"""A kind of step that a dispatch does not know is an error, never a step that does nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from pyspark.sql.types import StructType

import millstream as ms
from millstream.jobs.in_process import run_to_the_end
from millstream.model.triggers import Trigger
from millstream.model.windows import Window
from millstream.physical.explain import explain_physical
from millstream.physical.operators import spec_of
from millstream.physical.plan import Instance, physical
from millstream.physical.reading import may_reject
from millstream.physical.resume import stateful_plan
from millstream.plan.build.functions import user_functions
from millstream.plan.explain.details import details
from millstream.plan.finishing import finishes, fires, uses_clock
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Node, OneInput, Port, SplitSource, Stateful
from millstream.plan.sql.failures import sql_of
from millstream.plan.targets import Target
from millstream.reference.interpreter import Interpreter
from millstream.reference.windows import windows_of
from millstream.sinks import kinds
from millstream.spark.lower.jvm_stage import JvmStage
from millstream.spark.lower.row_types import RowTypes
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.sources.reading import reader
from millstream.spark.worker.step_columns import StepColumns

ROWS = ms.from_rows([(1,), (2,)], schema="n int")


@dataclass(frozen=True, eq=False)
class Zip(Node):
    """A step over two others that nothing knows how to run."""

    first: Node
    second: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.first, self.second


@dataclass(frozen=True, eq=False)
class Shuffle(OneInput):
    """The same over one."""


@dataclass(frozen=True, eq=False)
class Deduplicate(Stateful):
    """An operator that only this test knows."""

    kind = "deduplicate"


class Novel(Trigger):
    """A trigger of no kind that there is."""


class Spiral(Window):
    """Windows of no kind that there is."""


class Nowhere(Target):
    """A target of no kind that there is."""

    kind = "write_nowhere"


ZIP = Zip("zip", ROWS.schema, ROWS.node, ROWS.filter("n > 1").node)
SHUFFLE = Shuffle("shuffle", ROWS.schema, ROWS.node)
DEDUPLICATE = Deduplicate("deduplicate", ROWS.schema, (Port("rows", ROWS.node, ()),))
SOURCE = SplitSource("ticker", ROWS.schema, True, None)


def sink_of(node: Node) -> Node:
    (sink,) = ROWS.collect("all").sinks
    return replace(sink, input=node)  # type: ignore[call-arg]


def unknown(what: str) -> Any:
    return pytest.raises(TypeError, match=f"an unknown {what}")


@pytest.mark.parametrize("node", [ZIP, SHUFFLE, DEDUPLICATE])
def test_the_reference_runs_no_step_that_it_does_not_know(node: Node) -> None:
    with unknown("kind of step: (Zip 'zip'|Shuffle 'shuffle'|Deduplicate 'deduplicate')"):
        Interpreter(node)
    with unknown("kind of step"):
        run_to_the_end("job", (sink_of(node),))


@pytest.mark.parametrize("node", [ZIP, SHUFFLE])
def test_the_physical_plan_loses_no_input_of_a_step_that_it_does_not_know(node: Node) -> None:
    with unknown("kind of step"):
        physical((sink_of(node),))


@pytest.mark.parametrize("node", [ZIP, SHUFFLE])
def test_no_step_is_taken_for_one_without_expressions_functions_or_rejected_rows(
    node: Node,
) -> None:
    for act in (
        lambda: list(sql_of(node)),
        lambda: list(user_functions(node)),
        lambda: may_reject(node),
    ):
        with unknown("kind of step"):
            act()


def test_an_operator_is_planned_by_its_ports_alone_but_has_to_be_known_to_run() -> None:
    plan = physical((sink_of(DEDUPLICATE),))
    roles = [i.role for i in plan.instances if i.node is DEDUPLICATE]
    assert roles == ["prepare", "scatter", "output"]
    for act in (
        lambda: spec_of(plan, DEDUPLICATE, {}),
        lambda: stateful_plan(plan),
        lambda: explain_physical(plan, needs_no_spark=False),
    ):
        with unknown("kind of step: Deduplicate 'deduplicate'"):
            act()


def test_no_step_is_renamed_without_its_inputs() -> None:
    other = ROWS.filter("n > 5").node
    with unknown("kind of step: Zip"):
        with_distinct_names(ROWS.filter("n > 0").node, replace(ZIP, second=other))


@pytest.mark.parametrize("node", [ZIP, SHUFFLE, DEDUPLICATE, SOURCE])
def test_the_plan_never_shows_an_unknown_step_as_one_that_does_nothing(node: Node) -> None:
    with unknown("kind of step"):
        details(node)


def test_spark_reads_types_and_lowers_no_step_that_it_does_not_know() -> None:
    plan = physical(ROWS.collect("all").sinks)
    row = plan.instances[0]
    step = Instance(SHUFFLE, "run", 0, 1, input=row)
    types = RowTypes(plan)
    types[row] = StructType()
    wide = WideFrame(None, {row: StepColumns({})}, [])  # type: ignore[arg-type]
    stage = JvmStage(wide, Listing(()))
    read = reader(None, plan, False, None, {})  # type: ignore[arg-type]
    for act in (lambda: types.of(step), lambda: stage.run(step), lambda: read(SOURCE)):
        with unknown("kind of step"):
            act()


@pytest.mark.parametrize("question", [fires, finishes, uses_clock])
def test_no_trigger_is_taken_for_one_that_never_fires(question: Any) -> None:
    with unknown("trigger"):
        question(Novel())


def test_no_window_is_taken_for_another() -> None:
    with unknown("kind of windows"):
        windows_of(Spiral())


def test_no_target_is_taken_for_another() -> None:
    for act in (
        lambda: kinds.sink_of("sink", Nowhere()),
        lambda: details(replace(sink_of(ROWS.node), target=Nowhere())),  # type: ignore[call-arg]
    ):
        with unknown("target"):
            act()
