"""SQL of a program that Spark refuses when it analyses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from millstream.model.errors import PlanError
from millstream.reports.tracebacks import full_tracebacks
from millstream.spark.compat import messages
from millstream.spark.lower.sql_listing import Listing


@contextmanager
def accepted(listing: Listing) -> Iterator[None]:
    """What Spark refuses of a step's SQL when it analyses it, is refused by Millstream."""
    try:
        yield
    except AnalysisException as error:
        text, _, rest = str(error).partition("SQLSTATE: ")
        why = messages.ADVICE.sub("", messages.without_condition(text)).strip().rstrip(".")
        line = messages.REFUSED_AT.search(rest)
        sql = listing.at(int(line["line"])) if line else None
        what = (
            f"{sql.place}, {sql.expression.text}, is refused by Spark"
            if sql
            else "Spark refuses it"
        )
        raise PlanError(
            "MS125",
            f"{what}: {why}",
            fix="correct the expression; stream.schema has the types of the columns that it reads",
        ) from (error if full_tracebacks() else None)
