"""Columns of Spark that sources and JVM stages both make: by name, and rejected rows as text."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

_JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def col(name: str) -> Column:
    """The column of that name, whatever is in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def reject_text(why: Column, record: Iterable[Column]) -> Column:
    """A rejected record as one text: why, and in a new line the record as JSON."""
    return F.concat(why, F.lit("\n"), F.to_json(F.struct(*record), _JSON_OPTIONS))
