"""Runs a whole program on the reference: every operator, step by step, chained or joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan import nodes
from millstream.plan.nodes import Node, walk
from millstream.reference.operators import OPERATORS, operator_of
from millstream.reference.operators.operator import ROWS, Operator, Operators
from millstream.reference.rows import Row
from millstream.reference.stateless import stateless
from millstream.reference.step import Step
from millstream.reference.watermarks import InputWatermark, Report, origins_of, walk_origins


class Interpreter:
    """A running program. Each call of ``step`` is one bundle: all of its operators advance.

    Within a step an operator takes its inputs' rows, then its watermark, then the clock, so that
    what is emitted before a watermark arrives downstream before it.

    Where it ``follows`` the watermark policies, they move the watermarks of the sources, each of
    which is one split. Event times are held against the clock once a step has set it.
    """

    def __init__(
        self,
        *outputs: Node,
        operators: Operators = OPERATORS,
        follows: bool = False,
    ) -> None:
        self._order = list(walk(*outputs))
        self._operators: dict[nodes.Stateful, Operator] = {}
        self._stateless: dict[Node, Callable[[Step], list[Row]]] = {}
        for node in self._order:
            with in_step(node.name):  # what the reference cannot compute is refused here
                if isinstance(node, nodes.Stateful):
                    self._operators[node] = operator_of(node, operators)
                elif not isinstance(node, nodes.Source):
                    self._stateless[node] = stateless(node)
        self._watermarks: dict[Node, int] = dict.fromkeys(self._order, START_OF_TIME)
        self._inputs = {o: InputWatermark(origins_of(o)) for o in self._operators if follows}
        self._now = 0
        self._clock: int | None = None

    def step(
        self,
        rows: Mapping[str, Iterable[dict[str, Any]]] | None = None,
        watermarks: Mapping[str, int] | None = None,
        now: int | None = None,
    ) -> Step:
        """Rows and watermarks of sources by their names, and the clock; what each node emitted."""
        self._now = max(self._now, self._now if now is None else now)
        self._clock = self._clock if now is None else self._now
        step = Step(self._clock)
        for node in self._order:
            before = self._watermarks[node]
            if isinstance(node, nodes.Source):
                given = (rows or {}).get(node.name, ())
                step.rows[node] = _placed(node, (Row(dict(values)) for values in given))
                moved = (watermarks or {}).get(node.name, START_OF_TIME)
                self._watermarks[node] = max(self._watermarks[node], moved)
            elif isinstance(node, nodes.Stateful):
                self._run_operator(node, step)
            else:
                self._watermarks[node] = self._behind(node)
                step.rows[node] = self._stateless[node](step)
            if self._watermarks[node] > before:
                step.moved.add(node)
        return step

    def close(self) -> None:
        """Releases what the operators hold open."""
        for operator in self._operators.values():
            operator.close()

    def _behind(self, node: Node) -> int:
        """The watermark of the steps that feed a node."""
        return min(self._watermarks[each] for each in node.inputs)

    def _run_operator(self, node: nodes.Stateful, step: Step) -> None:
        watermark = self._behind(node)
        if node in self._inputs:
            watermark = self._inputs[node].advance(self._reports(node, step), self._now)
        rows = {port.name: step.rows[port.input] for port in node.ports}
        output = self._operators[node].step(rows, watermark, self._now)
        step.rows[node] = _placed(node, output.rows[ROWS])
        others = {tag: rows for tag, rows in output.rows.items() if tag != ROWS}
        step.tagged[node] = {tag: _placed(node, rows) for tag, rows in others.items()}
        for reason, record in output.rejected:
            step.add_rejected(node, reason, record)
        self._watermarks[node] = output.watermark

    def _reports(self, node: nodes.Stateful, step: Step) -> list[Report]:
        """What the origins of an operator's watermark have reported in a step."""
        reports = []
        for origin in walk_origins(node):
            if origin in step.marks:
                reports.append(Report(origin.name, "", step.marks[origin], self._now))
            if origin in step.moved or isinstance(origin, nodes.Stateful):
                reports.append(Report(origin.name, "", self._watermarks[origin], self._now))
        return reports


def _placed(node: Node, rows: Iterable[Row]) -> list[Row]:
    """The rows with their places: of one event time, those of a step are in the order they came."""
    return [replace(row, place=(node.name, number)) for number, row in enumerate(rows)]
