"""What an operator computes of each row of a port: its key and other values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from millstream.plan.nodes import KeyFunction, Port, Stateful
from millstream.plan.sql.failures import port_sql
from millstream.reference.computing import Compute, computes, or_fail
from millstream.reference.functions import key_of


class Keyed:
    """Computes the keys of a port's rows; ``values`` are other expressions, by their names."""

    def __init__(self, node: Stateful, port: Port) -> None:
        found = computes(port_sql(node, port), port.input.schema)
        self.values = {name: or_fail(compute) for name, compute in found.items()}
        self._keys: list[Compute] = [
            partial(key_of, node.name, key)
            if isinstance(key, KeyFunction)
            else self.values[f"key {i}"]
            for i, (_, key) in enumerate(port.keys)
        ]

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The key of a row: a value for each key column."""
        return tuple(compute(row) for compute in self._keys)
