"""The state of a key: from the values of columns to what callbacks see, and back."""

from __future__ import annotations

from typing import Any

from millstream.model.errors import RunError
from millstream.plan.operators.process import Processing
from millstream.plan.records import shown
from millstream.plan.types.fields import StateField
from millstream.plan.types.values import MisfitError, python_values
from millstream.reference.ordering import ordering


class StateValues:
    """Loads and keeps the state that a processor declares."""

    def __init__(self, what: Processing) -> None:
        self._what = what
        self.fields = () if what.state is None else what.state.fields
        self.defaults = tuple(each.default for each in self.fields)

    def loaded(self, values: tuple[Any, ...]) -> Any:
        """The state as callbacks see it; None where the processor declares none."""
        if self._what.state is None:
            return None
        made = (
            value if each.load is None else each.load(value)
            for each, value in zip(self.fields, values, strict=True)
        )
        return self._what.state.kind(*made)

    def kept(self, state: Any, key: dict[str, Any]) -> tuple[Any, ...]:
        """The values that columns get; an error names the field and the key."""
        return tuple([self._value(each, getattr(state, each.name), key) for each in self.fields])

    def _value(self, each: StateField, value: Any, key: dict[str, Any]) -> Any:
        try:
            kept = each.keep(value)
        except MisfitError as error:
            why = f": {error}" if f"{error}" else ""
            raise RunError(
                "MS202",
                f"field {each.name!r} of the state of key {shown(key)} is {shown(value)}, "
                f"which does not fit {each.type}{why}",
                fix=f"give it {python_values(each.type)}, or None, or another type in the state",
                step=self._what.step,
            ) from None
        # Sets have no order of their own, and a repeated step must give the same bytes.
        return sorted(kept, key=ordering) if each.is_set and kept is not None else kept
