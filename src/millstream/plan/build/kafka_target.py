"""How rows become records of a Kafka topic, by arguments or by what the rows suggest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError
from millstream.plan.build.kafka import checked_servers, checked_topic
from millstream.plan.lineage import feeding, kind_column, taking_back
from millstream.plan.nodes import Node
from millstream.plan.targets import ChangeFormat, Columns, Delivery, Kafka
from millstream.plan.types.schema import Schema


def kafka_target(
    input: Node,
    topic: Any,
    key: Any,
    value: Any,
    headers: Any,
    partition_by: Any,
    changes: Any,
    delivery: Any,
    servers: Any,
    options: tuple[tuple[str, str], ...],
) -> Kafka:
    """Where and how the rows of a step become records."""
    schema = input.schema
    known: ChangeFormat = one_of(changes, "changes", get_args(ChangeFormat))
    chosen = _columns(key, schema) if key is not None else _key(input, known)
    retracts = taking_back(input) is not None
    all_columns = tuple(name for name in schema.names if name != kind_column(input))
    if known == "upsert" and chosen is None:
        raise PlanError(
            "MS113",
            "upserts replace records by their key, and these records have none",
            fix="name the columns of the key: write_kafka(…, key=['team', 'window'])",
        )
    if not isinstance(headers or {}, Mapping):
        raise PlanError(
            "MS113",
            f"headers={headers!r} is no dict of names and columns",
            fix="give one, such as headers={'team': 'team'}",
        )
    return Kafka(
        topic=checked_topic(topic),
        key=chosen,
        value=all_columns if value is None else _columns(value, schema),
        headers=tuple((str(n), schema.resolve(str(c)).name) for n, c in (headers or {}).items()),
        partition_by=None if partition_by is None else _columns(partition_by, schema),
        changes=known,
        retracts=retracts,
        delivery=one_of(delivery, "delivery", get_args(Delivery)),
        servers=checked_servers(servers),
        options=options,
    )


def _columns(given: Any, schema: Schema) -> Columns:
    if isinstance(given, str):
        return schema.resolve(given).name
    names = tuple(dict.fromkeys(schema.resolve(str(name)).name for name in given))
    if not names:
        raise PlanError("MS113", f"{given!r} names no columns", fix="name at least one")
    return names


def _key(input: Node, changes: str) -> Columns | None:
    """The keys of the operator that made the rows; what is replaced is that of a window, too."""
    operators = list(feeding(input))
    if len(operators) != 1:
        return None
    of_operator = operators[0].key_columns
    keys = tuple(name for name in of_operator if input.schema.find(name) is not None)
    if changes == "upsert" and input.schema.find("window") is not None:
        keys = (*keys, "window")
    if len(keys) < len(of_operator) or not keys:
        return None
    return keys[0] if len(keys) == 1 else keys
