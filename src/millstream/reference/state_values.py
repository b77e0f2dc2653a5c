"""The state of a key: from the values of columns to what callbacks see, and back."""

from __future__ import annotations

from typing import Any

from millstream.model.errors import RunError, did_you_mean
from millstream.plan.operators.process import Processing
from millstream.plan.records import shown
from millstream.plan.types.fields import StateField
from millstream.plan.types.values import MisfitError, python_values
from millstream.reference import paged
from millstream.reference.ordering import ordering
from millstream.reference.paged_lists import PagedList
from millstream.reference.paged_maps import PagedMap, PagedSet

_VIEWS = (PagedList, PagedMap, PagedSet)


class StateValues:
    """Loads and keeps the state that a processor declares."""

    def __init__(self, what: Processing) -> None:
        self._what = what
        self.fields = () if what.state is None else what.state.fields
        self.defaults = tuple(each.default for each in self.fields)
        self._loads = any(each.load is not None for each in self.fields)
        # Properties and checks that no value of a plain field needs take longer than to keep it.
        self._plain = not any(each.is_set or each.elements is not None for each in self.fields)
        self._keeps = [(each.name, each.keep) for each in self.fields]
        self._make = None if what.state is None else what.state.make
        own = {} if self._make is None else getattr(self._make(*self.defaults), "__dict__", {})
        self._own = own.keys()
        """The attributes of a state, if it can get others."""

    def loaded(self, values: tuple[Any, ...]) -> Any:
        """The state as callbacks see it; None where the processor declares none."""
        if self._make is None:
            return None
        if not self._loads:
            return self._make(*values)
        made = (
            value if each.load is None else _loaded(each, value)
            for each, value in zip(self.fields, values, strict=True)
        )
        return self._make(*made)

    def kept(self, state: Any, key: dict[str, Any]) -> tuple[Any, ...]:
        """The values that columns get; an error names the field and the key."""
        if self._own and len(vars(state)) != len(self._own):
            self._check_attributes(state, key)
        if self._plain:
            try:
                return tuple([keep(getattr(state, name)) for name, keep in self._keeps])
            except MisfitError:
                pass  # the slow way knows which field it is
        return tuple([self._value(each, getattr(state, each.name), key) for each in self.fields])

    def _check_attributes(self, state: Any, key: dict[str, Any]) -> None:
        """Refuses what would be lost; what a class calls private or computes itself may be."""
        for name in vars(state).keys() - self._own:
            if not name.startswith("_") and not hasattr(type(state), name):
                raise RunError(
                    "MS202",
                    f"the state of key {shown(key)} has {name!r}, which is not declared: it would "
                    "be lost",
                    fix=f"declare it, {name}: int = 0, say; or "
                    + did_you_mean(name, [each.name for each in self.fields]),
                    step=self._what.step,
                )

    def _value(self, each: StateField, value: Any, key: dict[str, Any]) -> Any:
        try:
            if isinstance(value, _VIEWS):
                if value.elements is each.elements and len(value) > paged.LARGE // 2:
                    return value.kept()
                value = value.copy()
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


def whole(value: paged.Paged, each: StateField) -> Any:
    """All of a value that is in pages, as a list, dict or set."""
    return _loaded(each, value).copy()


def _loaded(each: StateField, value: Any) -> Any:
    if isinstance(value, paged.Paged):
        assert each.elements is not None
        return _OF_KINDS[each.elements.kind](value, each.elements)
    assert each.load is not None
    return each.load(value)


_OF_KINDS: dict[str, type[PagedList | PagedMap | PagedSet]] = {
    "list": PagedList,
    "map": PagedMap,
    "set": PagedSet,
}
