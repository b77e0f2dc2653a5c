"""Builds what several streams become in windows: a cogroup of any number, or a join of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError, in_step
from millstream.model.refinements import discarding
from millstream.model.windowing import Windowing
from millstream.plan.build import steps
from millstream.plan.build.join_sides import (
    check_same_types,
    checked_how,
    join_keys,
    joined_columns,
    widened,
)
from millstream.plan.checks import check_windowed
from millstream.plan.checks.attribute_types import checked_attribute
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.finishing import fires_once
from millstream.plan.names import automatic_name, check_names
from millstream.plan.nodes import Filter, Keys, Node, Port
from millstream.plan.operators.cogroup import Cogroup, WindowJoin
from millstream.plan.operators.windowed import pane_fields
from millstream.plan.settings import Settings
from millstream.plan.sql.expressions import Expression, is_pyspark_column
from millstream.plan.types.result_types import struct_type
from millstream.plan.types.schema import Field, Schema

_DEFAULTS = Windowing()

Inputs = Mapping[str, tuple[Node, Settings]]
"""The steps that meet, by the names of their ports, and what was set for each."""


def cogroup(inputs: Inputs) -> Cogroup:
    """The checked cogroup of streams that are keyed and windowed alike."""
    nodes = [node for node, _ in inputs.values()]
    step = automatic_name(Cogroup.kind, *nodes)
    check_names(*nodes)
    with in_step(step):
        if len(inputs) < 2:
            raise PlanError(
                "MS113",
                "cogroup() takes two streams or more",
                fix="name each: ms.cogroup(orders=orders, payments=payments)",
            )
        windowing = _same_windowing({name: each.windowing for name, (_, each) in inputs.items()})
        keys = _same_keys({name: settings.keys for name, (_, settings) in inputs.items()})
        ports = tuple(Port(name, node, keys[name]) for name, (node, _) in inputs.items())
        lists = [Field(p.name, _list_type(p.input.schema)) for p in ports]
        named = [Field(name, key.type) for name, key in ports[0].keys]
        own = pane_fields(windowing)
        check_column_names([f.name for f in (*named, *lists)], own=[f.name for f in own])
        schema = Schema((*named, *lists, *own))
        node = Cogroup(step, schema, ports, windowing, _attributes(windowing, ports))
    check_windowed(node)
    return node


def window_join(
    inputs: Inputs, on: Any, how: Any, where: Any = None, suffix: Any = "_right"
) -> WindowJoin | Filter:
    """The checked join, in windows, of the ports ``left`` and ``right``."""
    (left, left_set), (right, right_set) = inputs["left"], inputs["right"]
    step = automatic_name(WindowJoin.kind, left, right)
    check_names(left, right)
    with in_step(step):
        chosen = checked_how(how)
        windowing = _same_windowing({name: each.windowing for name, (_, each) in inputs.items()})
        keys = _join_keys(left, left_set, right, right_set, on)
        own = pane_fields(windowing)
        columns = joined_columns(left, right, keys, suffix, own)
        mine, others = widened(keys, left, right)
        ports = (Port("left", left, mine), Port("right", right, others))
        further = None if where is None else _condition(where, columns.pair)
        node = WindowJoin(
            step,
            Schema((*columns.fields(chosen), *own)),
            ports,
            windowing,
            _attributes(windowing, ports),
            join=chosen,
            columns=columns,
            condition=None if chosen == "inner" else further,
        )
        _check_keeps_pairs(node)
    check_windowed(node)
    return steps.filter(node, where) if chosen == "inner" and further is not None else node


def _join_keys(
    left: Node, left_set: Settings, right: Node, right_set: Settings, on: Any
) -> tuple[Keys, Keys]:
    """The keys by ``on``, or those that both sides have by ``key_by``."""
    if on is not None:
        if left_set.keys or right_set.keys:
            raise PlanError(
                "MS113",
                f"the keys are given twice: by key_by(…), and by on={on!r}",
                fix="leave one of them out",
            )
        return join_keys(left, right, on)
    keys = _same_keys({"left": left_set.keys, "right": right_set.keys})
    if not keys["left"]:
        raise PlanError(
            "MS113",
            "the join has no keys",
            fix="name the columns that must be equal: on='id', or on=('id', 'user_id')",
        )
    return keys["left"], keys["right"]


def _same_keys(given: dict[str, Keys]) -> dict[str, Keys]:
    """The keys of each port, under the names that the first port gives them."""
    (first, keys), *others = given.items()
    same = {first: keys}
    for name, other in others:
        if len(other) != len(keys):
            raise PlanError(
                "MS134",
                f"{first!r} has {len(keys)} keys and {name!r} has {len(other)}",
                fix="write key_by(…) on each stream, with as many keys",
            )
        check_same_types(keys, other)
        same[name] = tuple((n, key) for (n, _), (_, key) in zip(keys, other, strict=True))
    return same


def _same_windowing(given: dict[str, Windowing]) -> Windowing:
    """The windowing of all: the same windows, and what any of them says of when and how."""
    (first, windowing), *others = given.items()
    for name, other in others:
        if other.window != windowing.window:
            here, there = _window_text(windowing), _window_text(other)
            which, window = (first, other) if windowing.window is None else (name, windowing)
            raise PlanError(
                "MS135",
                f"{first!r} has {here}, and {name!r} has {there}",
                fix=f"write .window({as_code(window.window)}) on {which!r}, too",
            )
        for field in fields(Windowing):
            one, two = getattr(windowing, field.name), getattr(other, field.name)
            usual = getattr(_DEFAULTS, field.name)
            if one != two and usual not in (one, two):
                raise PlanError(
                    "MS135",
                    f"{field.name} is {one!r} for {first!r}, and {two!r} for {name!r}",
                    fix="write it once, on the first stream",
                )
            windowing = replace(windowing, **{field.name: two if one == usual else one})
    return windowing


def _window_text(windowing: Windowing) -> str:
    return "no window" if windowing.window is None else f"windows of {as_code(windowing.window)}"


def _attributes(
    windowing: Windowing, ports: tuple[Port, ...]
) -> tuple[tuple[str, Expression], ...]:
    found = ((p.name, checked_attribute(windowing.where, p.input.schema)) for p in ports)
    return tuple((name, each) for name, each in found if each is not None)


def _condition(given: Any, schema: Schema) -> Expression:
    if is_pyspark_column(given):
        raise PlanError(
            "MS112",
            "where= is a PySpark Column, and a join computes its condition of text",
            fix="write it as Spark SQL text, such as 'price > limit'",
        )
    return steps.condition(given, schema)


def _check_keeps_pairs(node: WindowJoin) -> None:
    """MS136: rows of a discarding pane meet only each other, never those of an earlier pane."""
    how = node.windowing
    if how.refine is discarding and not fires_once(how) and not how.allow_data_loss:
        raise PlanError(
            "MS136",
            "windows may fire more than once, and are discarding (the default): a row would not "
            "meet the rows of earlier panes",
            fix="write .refine(ms.accumulating) or .refine(ms.retracting), or, if losing pairs is "
            "meant, .trigger(…, allow_data_loss=True)",
        )


def _list_type(schema: Schema) -> str | None:
    row = struct_type(schema)
    return None if row is None else f"ARRAY<{row}>"
