"""The fields of a processor's state: their types, and their values in columns and in Python."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from millstream.model.errors import PlanError
from millstream.model.processors import Processor
from millstream.plan.build.functions import function_name
from millstream.plan.records import shown
from millstream.plan.types.result_types import INTEGERS, base_type
from millstream.plan.types.schema import Field
from millstream.plan.types.schema_reading import is_record, python_type, type_hints
from millstream.plan.types.values import Keep, MisfitError, keeping, python_values

Load = Callable[[Any], Any]
"""Makes the value that a callback sees of what a column has."""


_KEYS = {*INTEGERS, "DECIMAL", "STRING", "BOOLEAN", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
"""Types whose values are equal in Python exactly if they are equal in columns."""


@dataclass(frozen=True)
class Elements:
    """What is in a list, dict or set of the state, where it may be kept apart from the others."""

    kind: Literal["list", "map", "set"]
    key: str | None
    """The type of the keys of a map, or of what is in a set."""
    item: str | None
    """The type of what is in a list, or of the values of a map."""
    load: Load | None
    """What makes Python values of these."""

    @property
    def may_change(self) -> bool:
        """Whether a value can change in its place: a list in a list, say."""
        return self.item is not None and base_type(self.item) in ("ARRAY", "MAP", "STRUCT")


@dataclass(frozen=True)
class StateField:
    """A field of the state: its type in Spark, and what a column has of its first value."""

    name: str
    type: str
    default: Any
    load: Load | None
    """None where the column's value is what callbacks see."""
    is_set: bool
    elements: Elements | None = None
    """Of a list, dict or set whose elements may be kept apart."""

    @property
    def keep(self) -> Keep:
        """What keeps its values as a column does; raises MisfitError for one that does not fit."""
        return keeping(self.type)

    def __str__(self) -> str:
        return str(Field(self.name, self.type))


@dataclass(frozen=True)
class StateClass:
    """The class of a processor's state, and its fields."""

    kind: type
    fields: tuple[StateField, ...]

    @property
    def make(self) -> Callable[..., Any]:
        """What makes a state of the values of its fields, in their order."""
        if not any(each.kw_only for each in dataclasses.fields(self.kind)):
            return self.kind
        names = [each.name for each in self.fields]
        return lambda *values: self.kind(**dict(zip(names, values, strict=True)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A class that a worker imports is as it was written there, with or without a decorator.
        self.__dict__.update(state, kind=_as_dataclass(state["kind"]))


def state_of(processor: Processor) -> StateClass | None:
    """The state that a processor declares, if it has any; refused where a field has no default."""
    given = processor.state
    if given is None or isinstance(given, StateClass):
        return given
    who = function_name(type(processor))
    if not isinstance(given, type):
        raise PlanError(
            "MS130",
            f"the state of {who} is {shown(given)}, which is no class",
            fix="give a dataclass: state = Account, or a class of fields: class state: n: int = 0",
        )
    if issubclass(given, tuple) or given.__module__ == "builtins":
        raise PlanError(
            "MS130",
            f"the state of {who} is {given.__name__}, whose values cannot change",
            fix="give a class of fields: class state: n: int = 0",
        )
    kind = _as_dataclass(given)
    hints = type_hints(kind)
    declared = dataclasses.fields(kind)
    if not declared:
        raise PlanError(
            "MS130",
            f"the state of {who} has no fields",
            fix="give each field a type and a default: balance: int = 0",
        )
    for field in declared:
        lacking = field.default is field.default_factory is dataclasses.MISSING
        if lacking or not field.init:
            raise PlanError(
                "MS130",
                f"field {field.name!r} of the state of {who} has no default, and a key begins "
                "with defaults",
                fix=f"write {field.name}: … = 0, or dataclasses.field(default_factory=list)",
            )
    first = kind()
    return StateClass(kind, tuple(_field(who, f.name, hints[f.name], first) for f in declared))


def _as_dataclass(given: type) -> type:
    """The class, with the fields that it and its bases declare."""
    declared = inspect.get_annotations(given)
    if dataclasses.is_dataclass(given) and ("__dataclass_params__" in vars(given) or not declared):
        return given
    hints = type_hints(given)
    for name in declared:
        default, of_class = vars(given).get(name), get_origin(hints[name]) is ClassVar
        if type(default) in (list, dict, set) and not of_class:  # each key has one of its own
            setattr(given, name, dataclasses.field(default_factory=partial(deepcopy, default)))
    return dataclass(given)


def _field(who: str, name: str, hint: Any, first: Any) -> StateField:
    try:
        type = python_type(hint)
        default = _default(getattr(first, name), type)
        return StateField(name, type, default, _loading(hint), _is_set(hint), _elements(hint, type))
    except PlanError as error:
        raise PlanError(
            "MS130", f"field {name!r} of the state of {who}: {error.what}", fix=error.fix
        ) from None


def _default(value: Any, spark: str) -> Any:
    """What a column has of the first value of a field."""
    if isinstance(value, dict) and type(value) is not dict:
        raise PlanError(
            "MS130",
            f"its default is a {type(value).__name__}, and what is loaded is a dict",
            fix="begin with {}, and write counts[key] = counts.get(key, 0) + 1, say",
        )
    try:
        return keeping(spark)(value)
    except MisfitError as error:
        why = f": {error}" if f"{error}" else ""
        raise PlanError(
            "MS130",
            f"its default {shown(value)} does not fit {spark}{why}",
            fix=f"begin with {python_values(spark)}, or None",
        ) from None


def _bare(hint: Any) -> Any:
    """The type without what it is annotated with, and without ``| None``."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bare(args[0])
    if origin in (Union, types.UnionType):
        (real,) = (each for each in args if each is not type(None))
        return _bare(real)
    return hint


def _is_set(hint: Any) -> bool:
    return get_origin(_bare(hint)) in (set, frozenset)


def _elements(hint: Any, type: str) -> Elements | None:
    from millstream.plan.types.ddl import inner_types

    hint = _bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is list:
        ((_, item),) = inner_types(type)
        return Elements("list", None, item, _loading(args[0]))
    if origin not in (dict, set):
        return None
    (_, key), *items = inner_types(type)
    if base_type(key) not in _KEYS:
        return None
    if origin is set:
        return Elements("set", key, None, None)
    return Elements("map", key, items[0][1], _loading(args[1]))


def _loading(hint: Any) -> Load | None:
    """What makes Python values of column values, where these differ."""
    hint = _bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_record(hint):
        return _loads_record(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if base_type(python_type(args[0])) in ("ARRAY", "MAP", "STRUCT"):
            raise PlanError(
                "MS130",
                f"{hint!r} has keys with parts, which columns do not have",
                fix="make one text or number of them, or use a dict in a dict",
            )
        return _loads_map(_loading(args[1]))
    if any(get_origin(_bare(each)) in (set, frozenset) for each in args):
        raise PlanError(
            "MS130",
            f"{hint!r} has sets inside, which have no order that is always the same",
            fix="use lists there, or dicts",
        )
    if origin in (list, set, frozenset, tuple) or origin is typing.get_origin(typing.Sequence[int]):
        made = origin if origin in (set, frozenset, tuple) else list
        return _loads_list(made, _loading(args[0]))
    return None


def _loads_list(made: Callable[[Any], Any], item: Load | None) -> Load:
    def load(values: Any) -> Any:
        if values is None:
            return None
        return made(values) if item is None else made([item(each) for each in values])

    return load


def _loads_map(of: Load | None) -> Load:
    def load(values: Any) -> Any:
        if values is None:
            return None
        return dict(values) if of is None else {key: of(each) for key, each in values.items()}

    return load


def _loads_record(kind: Any) -> Load:
    loads = {name: _loading(hint) for name, hint in type_hints(kind).items()}

    def load(values: Any) -> Any:
        if values is None:
            return None
        return kind(
            **{n: each if (of := loads[n]) is None else of(each) for n, each in values.items()}
        )

    return load
