"""What ``mapWithState`` is to do: its function, initial state, timeout and partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from pyspark import RDD

from millstream.dstream.arguments import milliseconds
from millstream.dstream.graph.node import unusable
from millstream.dstream.initial_state import InitialState

WITHOUT_TIME, WITH_TIME = 3, 4
"""How many arguments a function has."""


@dataclass(frozen=True)
class StateSpec:
    """The specification of a ``mapWithState``, made by ``StateSpec.function``.

    >>> def count(key, value, state):
    ...     total = (state.getOption() or 0) + value
    ...     state.update(total)
    ...     return key, total
    >>> spec = StateSpec.function(count).timeout(30).numPartitions(2)
    """

    mapping: Callable[..., Any]
    initial: InitialState | None = None
    expiry: int | None = None
    """In milliseconds."""
    partitions: int | None = None

    @classmethod
    def function(cls, mappingFunction: Callable[..., Any]) -> StateSpec:
        """Calls a function of (key, value, state), or of (time, key, value, state), for each pair.

        What one of three arguments returns is emitted. What one of four returns is emitted unless
        it is None. When a key times out, its value is None.
        """
        count = len(signature(mappingFunction).parameters)
        if count not in (WITHOUT_TIME, WITH_TIME):
            raise unusable(
                f"the function of a mapWithState takes {count} arguments",
                "write one of (key, value, state) or of (time, key, value, state)",
            )
        return cls(mappingFunction)

    def initialState(self, pairs: RDD[Any] | Iterable[Any]) -> StateSpec:
        """Begins with these pairs of keys and states."""
        return replace(self, initial=InitialState(pairs))

    def timeout(self, idleDuration: float) -> StateSpec:
        """Removes a key that had no pair for so many seconds.

        As in Spark, this is checked in the batches in which the state is checkpointed: every ten
        batches, unless ``checkpoint`` sets another interval.
        """
        return replace(self, expiry=milliseconds(idleDuration))

    def numPartitions(self, numPartitions: int) -> StateSpec:
        """Keeps the state in so many partitions."""
        return replace(self, partitions=numPartitions)


class State:
    """The state of one key, as the function of a ``mapWithState`` gets it.

    >>> state = State(3)
    >>> state.exists(), state.get()
    (True, 3)
    >>> state.remove()
    >>> state.getOption() is None
    True
    """

    def __init__(self, value: Any = None, timing_out: bool = False) -> None:
        self._value = value
        self._timing_out = timing_out
        self._updated = False
        self._removed = False

    def exists(self) -> bool:
        """Whether the key has a state."""
        return self._value is not None

    def get(self) -> Any:
        """The state; an error if there is none."""
        if self._value is None:
            raise KeyError("the state does not exist: use exists() or getOption()")
        return self._value

    def getOption(self) -> Any:
        """The state, or None."""
        return self._value

    def update(self, newState: Any) -> None:
        """Replaces the state."""
        self._check()
        self._value, self._updated, self._removed = newState, True, False

    def remove(self) -> None:
        """Removes the state."""
        self._check()
        self._value, self._updated, self._removed = None, False, True

    def isTimingOut(self) -> bool:
        """Whether the key is removed after this call since it timed out."""
        return self._timing_out

    def _check(self) -> None:
        if self._timing_out or self._removed:
            why = "is timing out" if self._timing_out else "was removed"
            raise ValueError(f"the state cannot be changed: it {why}")
