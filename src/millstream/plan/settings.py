"""The settings of the next operator: its keys, and where, when and how results are computed.

A front door collects them one by one. An operator takes those that it has a use for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from millstream.model.errors import PlanError, in_step
from millstream.model.windowing import (
    Windowing,
    checked_closing,
    checked_lateness,
    checked_on_time,
    checked_refinement,
    checked_timestamp,
    checked_trigger,
    checked_window,
)
from millstream.plan.build.functions import key_function
from millstream.plan.build.steps import named_columns
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Key, Keys, Node
from millstream.plan.sql.expressions import Expression, scalar

_DEFAULTS = Windowing()


@dataclass(frozen=True)
class Settings:
    """Keys and windowing. Each method gives them with one answer more, which it has checked.

    >>> from millstream.model.windows import fixed
    >>> Settings().window(fixed("1m"), allowed_lateness="10s").windowing.allowed_lateness
    10000000
    """

    keys: Keys = ()
    windowing: Windowing = _DEFAULTS

    def __bool__(self) -> bool:
        """Whether anything is set."""
        return self != NOTHING_SET

    def key_by(self, input: Node, given: tuple[Any, ...], named: Mapping[str, Any]) -> Settings:
        """With the keys of the rows of ``input``: named expressions, or a function and its type."""
        with in_step(automatic_name("aggregate", input)):
            if len(given) == 1 and callable(given[0]) and named.keys() <= {"type"}:
                return replace(self, keys=(("key", key_function(given[0], named.get("type"))),))
            return replace(self, keys=named_columns("key_by", input, given, named))

    def window(
        self,
        kind: Any,
        allowed_lateness: Any = 0,
        on_time: Any = "always",
        closing: Any = "if_changed",
        timestamp: Any = "end",
    ) -> Settings:
        """With the windows, and the options that belong to them."""
        return self._with(
            window=checked_window(kind),
            allowed_lateness=checked_lateness(allowed_lateness),
            on_time=checked_on_time(on_time),
            closing=checked_closing(closing),
            timestamp=checked_timestamp(timestamp),
        )

    def trigger(self, trigger: Any, allow_data_loss: Any = False) -> Settings:
        """With the trigger."""
        return self._with(trigger=checked_trigger(trigger), allow_data_loss=bool(allow_data_loss))

    def refine(self, refinement: Any) -> Settings:
        """With the refinement."""
        return self._with(refine=checked_refinement(refinement))

    def over(self, node: Node) -> Settings:
        """The same for the rows of a new step, which must still have the columns of the keys."""
        with in_step(node.name):
            return replace(self, keys=tuple((name, _read(name, k, node)) for name, k in self.keys))

    def united(self, *others: Settings) -> Settings:
        """The settings of a union: those of its parts, where all that have any agree."""
        keys = {each.keys for each in (self, *others) if each.keys} or {()}
        windowings = {each.windowing for each in (self, *others)} - {_DEFAULTS}
        if len(keys) > 1 or len(windowings) > 1:
            raise PlanError(
                "MS117",
                "the streams of the union are keyed or windowed in different ways",
                fix="unite them first, then say key_by(…), window(…), trigger(…) and refine(…)",
            )
        return Settings(next(iter(keys)), next(iter(windowings), _DEFAULTS))

    def _with(self, **answers: Any) -> Settings:
        return replace(self, windowing=replace(self.windowing, **answers))


NOTHING_SET = Settings()


def _read(name: str, key: Key, node: Node) -> Key:
    """A key that is computed of the rows of ``node``."""
    if not isinstance(key, Expression) or key.column is not None:
        return key
    for column in sorted(key.columns):
        if node.schema.find(column) is None:
            raise PlanError(
                "MS102",
                f"the key {name!r} reads column {column!r}, which this step drops",
                fix=f"keep {column!r} in this step, or say key_by(…) after it",
            )
    return scalar(key.text, node.schema)
