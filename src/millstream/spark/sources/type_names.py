"""Types as users write them, for messages about what sources have read."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyspark.errors import PySparkTypeError

from millstream.model.errors import PlanError
from millstream.plan.build.frames import type_text
from millstream.spark.compat.arrow_types import spark_type


@lru_cache(maxsize=256)
def type_name(kind: pa.DataType) -> str:
    """A type of Arrow as SQL says it, if SQL has it.

    >>> type_name(pa.int32()), type_name(pa.large_string()), type_name(pa.uint64())
    ('INT', 'STRING', 'uint64')
    """
    # sqlglot takes a while to import: only workers that have an error to report pay it.
    from millstream.plan.types.ddl import read_type

    try:
        return read_type(type_text(spark_type(kind)))
    except (PySparkTypeError, PlanError):
        return str(kind)
