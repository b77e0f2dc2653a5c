"""How ``mapWithState`` computes: one record for each partition, its states and what it emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

from pyspark import RDD

from millstream.dstream.graph.node import Node
from millstream.dstream.graph.states import MappedState
from millstream.dstream.graph.transforms import clock_time
from millstream.dstream.state_spec import WITH_TIME, State, StateSpec

States = dict[Any, tuple[Any, int]]
"""The state of each key, and the time in milliseconds at which it was last updated."""


def mapped_state(parent: Node, spec: StateSpec, partitions: int) -> MappedState:
    """The node that keeps the states."""
    mapping = _mapping(spec.mapping)
    expiry = spec.expiry

    def step(time: int, scan: bool, records: RDD[Any], arrived: RDD[Any]) -> RDD[Any]:
        def stepped(both: tuple[tuple[States, list[Any]], list[Any]]) -> tuple[States, list[Any]]:
            (states, _), pairs = both
            return _stepped(mapping, expiry, time, scan, dict(states), pairs)

        return records.zip(arrived.glom()).map(stepped)

    return MappedState(parent, step, partitions, spec.initial)


def _mapping(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """What emits a list for a time, a key, a value and a state."""
    if len(signature(function).parameters) == WITH_TIME:

        def timed(time: int, key: Any, value: Any, state: State) -> list[Any]:
            emitted = function(clock_time(time), key, value, state)
            return [] if emitted is None else [emitted]

        return timed
    return lambda _, key, value, state: [function(key, value, state)]


def _stepped(
    mapping: Callable[..., list[Any]],
    expiry: int | None,
    time: int,
    scan: bool,
    states: States,
    pairs: Iterable[tuple[Any, Any]],
) -> tuple[States, list[Any]]:
    """The states of a partition after a batch, and what was emitted."""
    emitted: list[Any] = []
    for key, value in pairs:
        state = State(states[key][0] if key in states else None)
        emitted += mapping(time, key, value, state)
        if state._removed:
            states.pop(key, None)
        elif state._updated or (state.exists() and expiry is not None):
            states[key] = state.get(), time
    if scan and expiry is not None:
        for key in [key for key, (_, updated) in states.items() if updated < time - expiry]:
            emitted += mapping(time, key, None, State(states.pop(key)[0], timing_out=True))
    return states, emitted
