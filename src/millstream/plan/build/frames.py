"""What is known of a DataFrame of Spark without importing PySpark."""

from __future__ import annotations

from typing import Any

from millstream.model.errors import PlanError
from millstream.plan.types.schema import Field, Schema


def checked_frame(given: Any) -> Any:
    """A DataFrame of PySpark, classic or of Spark Connect."""
    kinds = type(given).__mro__
    if any(k.__name__ == "DataFrame" and k.__module__.startswith("pyspark.sql") for k in kinds):
        return given
    kind = type(given)
    raise PlanError(
        "MS113",
        f"from_dataframe() takes a DataFrame of PySpark, not one of {kind.__module__}"
        if kind.__name__ == "DataFrame"
        else f"from_dataframe() takes a DataFrame of PySpark, not {given!r}",
        fix="make one of it first: spark.createDataFrame(…)",
    )


def frame_schema(frame: Any) -> Schema:
    """The columns of a DataFrame, refused where a type has no meaning here."""
    return Schema(tuple(Field(f.name, _type(f.name, f.dataType)) for f in frame.schema.fields))


def _type(column: str, type: Any) -> str:
    # sqlglot costs most of an import of millstream: only programs with schemas pay it.
    from millstream.plan.types.ddl import read_type

    try:
        return read_type(type_text(type))
    except PlanError:
        raise PlanError(
            "MS111",
            f"column {column!r} of the DataFrame is {type.simpleString().upper()}, a type that "
            "Millstream does not know",
            fix=f"leave it out: frame.drop({column!r}), or turn it into text: "
            f"frame.withColumn({column!r}, frame[{column!r}].cast('string'))",
        ) from None


def type_text(type: Any) -> str:
    """A type of PySpark in DDL; Spark's own short text does not quote the names of fields."""
    match type.typeName():
        case "struct":
            fields = (
                f"`{f.name.replace('`', '``')}`: {type_text(f.dataType)}" for f in type.fields
            )
            return f"STRUCT<{', '.join(fields)}>"
        case "array":
            return f"ARRAY<{type_text(type.elementType)}>"
        case "map":
            return f"MAP<{type_text(type.keyType)}, {type_text(type.valueType)}>"
    return str(type.simpleString())
