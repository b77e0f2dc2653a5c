"""What workers need to know of an operator: its settings, without the plan behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import polars as pl

from millstream.engine.exchange.exchange import Exchange
from millstream.engine.operator import ROWS, Operator
from millstream.model.watermarks import Silence
from millstream.plan.nodes import KeyFunction
from millstream.plan.types.schema import Schema
from millstream.reference.call_times import CallTimes

_Made = TypeVar("_Made", bound=Operator, covariant=True)


@dataclass(frozen=True, kw_only=True)
class OperatorSpec(ABC, Generic[_Made]):
    """An operator as workers run it; each kind has a spec of its own.

    In the engine a key is called ``key 0``: users' names may be anything. ``tags`` are the outputs
    that something reads besides the rows. ``origins`` are those of the operator's watermark, each
    with what its silence means.
    """

    name: str
    keys: dict[str, tuple[str, ...]]
    """What users call the keys, by port. All ports have the same number of them."""
    tags: frozenset[str]
    feeds_operators: bool
    reads_clock: bool = False
    origins: dict[str, Silence]
    splits: dict[str, list[str]] = field(default_factory=dict)
    """The splits of an origin that are known before anything comes from them."""
    followed: frozenset[str] = frozenset()
    """The origins that are sources with a watermark policy."""

    @cached_property
    def engine_keys(self) -> list[str]:
        (count,) = {len(names) for names in self.keys.values()}
        return [f"key {i}" for i in range(count)]

    @cached_property
    def operator(self) -> _Made:
        """The operator, made ready to run."""
        return self.made()

    @property
    def call_times(self) -> CallTimes | None:
        """How long callbacks of users took in the last step, if it has any."""
        return None

    @classmethod
    @abstractmethod
    def settings(cls, node: Any) -> dict[str, Any]:
        """The fields that specs of this kind have besides these, for a node of its kind."""

    @classmethod
    @abstractmethod
    def output_schema(cls, node: Any, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        """The columns of what a node of its kind emits under a tag, all with their types."""

    @classmethod
    def whole(cls, node: Any, port: str, tags: Container[str]) -> tuple[str, ...]:
        """The engine's columns that are the whole row, if these ``tags`` are read."""
        return ()

    @abstractmethod
    def made(self) -> _Made:
        """Makes the operator ready to run."""

    @abstractmethod
    def exchange(self, port: str, shards: int) -> Exchange:
        """What cuts the rows for a port into what each shard gets."""

    @property
    @abstractmethod
    def sends(self) -> str:
        """What is sent to a shard, for the plan's text."""

    @property
    @abstractmethod
    def holds(self) -> str:
        """What its state holds, for the plan's text."""

    @abstractmethod
    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """What the operator has emitted under a tag, as rows of the program."""

    def __getstate__(self) -> dict[str, Any]:
        # Compiled expressions stay where they were made.
        return {k: v for k, v in self.__dict__.items() if k not in ("operator", "engine_keys")}


@dataclass(frozen=True)
class PortTypes:
    """The types of a port's rows, and of what is computed of each row, by the engine's names."""

    rows: Schema
    computed: Mapping[str, str]


@dataclass(frozen=True)
class InputSpec:
    """How the rows of a step become the input of a ``port`` of an operator.

    ``columns`` maps names of the engine to columns of the rows; ``functions`` are keys that a
    user's function makes, each with its Arrow type; ``row`` are the columns of the whole row, where
    that is needed, and ``kind`` is the one of them that marks retractions.
    """

    columns: dict[str, str]
    functions: dict[str, tuple[KeyFunction, Any]]
    row: tuple[str, ...]
    step: str
    whole: tuple[str, ...]
    """The engine's columns that are the whole row."""
    kind: str | None = None
    port: str = ROWS
    ordered: bool = False
    """Whether rows are sent with their places."""
