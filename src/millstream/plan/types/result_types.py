"""The type of an aggregate's result, from the types of its inputs."""

from __future__ import annotations

import re

from millstream.model.aggregates import (
    Aggregate,
    AnyValue,
    ApproxDistinct,
    Collect,
    CollectSet,
    Combine,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Min,
    Sum,
    Top,
)
from millstream.plan.operators.grouping import AggregateInputs
from millstream.plan.types.schema import Schema

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
NUMBERS = (*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL")


def base_type(type: str) -> str:
    """The type without its parameters.

    >>> base_type("DECIMAL(10, 2)"), base_type("MAP<STRING, INT>")
    ('DECIMAL', 'MAP')
    """
    return re.split(r"[(<]", type)[0]


def common_type(*types: str | None) -> str | None:
    """The type of a column that takes values of all of these types.

    >>> common_type("INT", "BIGINT"), common_type("STRING", "STRING"), common_type(None, "INT")
    ('BIGINT', 'STRING', 'INT')
    """
    known = [each for each in types if each is not None]
    if len(set(known)) > 1 and set(known) <= set(INTEGERS):
        return "BIGINT"
    return known[0] if known else None


def result_type(aggregate: Aggregate, inputs: AggregateInputs, schema: Schema) -> str | None:
    """The Spark type of the result; None where it follows from a type that is not known."""
    of = inputs.of.type if inputs.of else None
    match aggregate:
        case Count() | CountDistinct() | ApproxDistinct():
            return "BIGINT"
        case Sum():
            return None if of is None else _sum_type(of)
        case Min() | Max() | First() | Last() | AnyValue():
            return of
        case Collect() | CollectSet() | Top():
            item = of if inputs.of else struct_type(schema)
            return None if item is None else f"ARRAY<{item}>"
        case Combine(returns=returns):
            from millstream.plan.types.schema_reading import python_type

            return python_type(returns)
    return "DOUBLE"


def struct_type(schema: Schema) -> str | None:
    """The type of a whole row; None where one of its columns has none."""
    if any(field.type is None for field in schema):
        return None
    # sqlglot costs most of an import of millstream: only programs with rows in rows pay it.
    from millstream.plan.types.ddl import identifier

    fields = (f"{identifier(f.name).sql('spark')}: {f.type}" for f in schema)
    return f"STRUCT<{', '.join(fields)}>"


def _sum_type(of: str) -> str:
    decimal = re.fullmatch(r"DECIMAL\((\d+), (\d+)\)", of)
    if decimal:
        return f"DECIMAL({min(38, int(decimal[1]) + 10)}, {decimal[2]})"
    return "BIGINT" if of in INTEGERS else "DOUBLE"
