"""A running value of each key, which a function computes from a row and the value before it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import field, make_dataclass
from typing import Any

from millstream.model.durations import Duration, positive
from millstream.model.errors import PlanError
from millstream.model.processors import Processor, TimeToLive
from millstream.plan.build.functions import function_name
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.nodes import Keys
from millstream.plan.records import shown
from millstream.plan.types.schema import Field, Schema

STATE = "state"
_UNTYPED = (list, dict, set, frozenset, tuple, type(None))


class UpdateState(Processor):
    """Emits the key and the new state for each row."""

    def __init__(
        self, function: Callable[[Any, Any], Any], initial: Any, type: Any, timeout: Duration | None
    ) -> None:
        self.function = _checked(function)
        self.type = _type(initial, type)
        default = field(default_factory=lambda: deepcopy(initial))
        self.state = make_dataclass("State", [(STATE, self.type, default)])
        if timeout is not None:
            self.ttl = TimeToLive(positive(timeout, what="timeout"), "processing_time")

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """Computes the state anew."""
        state.state = self.function(row, state.state)
        out.emit({**row.key, STATE: state.state})

    def schema(self, keys: Keys) -> Schema:
        """The key, and the state."""
        # sqlglot costs most of an import of millstream: only programs with schemas pay it.
        from millstream.plan.types.schema_reading import python_type

        check_column_names([name for name, _ in keys], own=[STATE])
        columns = [Field(name, str(key.type)) for name, key in keys]
        return Schema((*columns, Field(STATE, python_type(self.type))))


def _checked(function: Any) -> Callable[[Any, Any], Any]:
    try:
        inspect.signature(function).bind("row", "state")
    except (TypeError, ValueError) as error:
        raise PlanError(
            "MS113",
            f"update_state() takes a function of a row and a state, not {function_name(function)}: "
            f"{error}",
            fix="write lambda row, state: …, or def update(row, state)",
        ) from None
    checked: Callable[[Any, Any], Any] = function
    return checked


def _type(initial: Any, given: Any) -> Any:
    if given is not None:
        return given
    if isinstance(initial, _UNTYPED):
        raise PlanError(
            "MS116",
            f"nothing says what type the state has that begins as {shown(initial)}",
            fix="give update_state(…, type=list[int]), say",
        )
    return type(initial)
