"""Reads a query over the rows of a stream, one at a time: what it selects, and of which rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.model.errors import PlanError
from millstream.plan.sql.reading import parsed, spelled

STREAM = "stream"
"""The name of the stream in a query over it."""

_AGGREGATE = "write .key_by(…).window(…).aggregate(…)"
_ONE_BY_ONE = "write one query after the other: .sql(…).sql(…)"
_NO_ORDER = "a stream has no order; write ms.top(3, by='points') in aggregate(…)"
_REFUSED: tuple[tuple[type[exp.Expr], str, str], ...] = (
    (exp.SetOperation, "puts rows of queries together", "write .union(other)"),
    (exp.With, "has queries inside", _ONE_BY_ONE),
    (exp.Subquery, "has queries inside", _ONE_BY_ONE),
    (exp.Exists, "has queries inside", "write .join(other, on=…, how='semi')"),
    (exp.Join, "joins", "write .join(other, on=…), .interval_join(…) or .lookup(…)"),
    (exp.Lateral, "makes several rows of one", "write .flat_map(function, schema=…)"),
    (exp.UDTF, "makes several rows of one", "write .flat_map(function, schema=…)"),
    (exp.Explode, "makes several rows of one", "write .flat_map(function, schema=…)"),
    (exp.Group, "groups", _AGGREGATE),
    (exp.Having, "groups", _AGGREGATE),
    (exp.Window, "computes over several rows", _AGGREGATE),
    (exp.AggFunc, "aggregates", _AGGREGATE),
    (exp.Distinct, "removes duplicates", "write .deduplicate('id', within='1h')"),
    (exp.Order, "sorts", _NO_ORDER),
    (exp.Sort, "sorts", _NO_ORDER),
    (exp.Cluster, "sorts", _NO_ORDER),
    (exp.Distribute, "distributes rows", "write .key_by(…)"),
    (exp.Limit, "takes the first rows", _NO_ORDER),
    (exp.Offset, "takes the first rows", _NO_ORDER),
)
"""What needs more than one row, and what to write instead."""


@dataclass(frozen=True)
class Query:
    """What a query selects: expressions, each with its name if it has one; ``*`` is all columns."""

    columns: tuple[str, ...]
    where: str | None


def read_query(text: str) -> Query:
    """The query, refused if it needs more than one row at a time.

    >>> read_query("SELECT *, s.n * 2 AS double FROM stream AS s WHERE n > 1")
    Query(columns=('*', 'n * 2 AS double'), where='n > 1')
    """
    tree = parsed(text)
    for kind, what, fix in _REFUSED:
        if tree.find(kind) is not None:
            raise PlanError("MS137", f"{text!r} {what}, which sql() does not", fix=fix)
    source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or table.name.lower() != STREAM:
        raise PlanError(
            "MS137",
            f"{text!r} is no query over this stream",
            fix="call it stream: .sql('SELECT user, points * 2 AS double FROM stream WHERE …')",
        )
    for column in tree.find_all(exp.Column):
        if column.table and column.table.lower() in (table.alias_or_name.lower(), STREAM):
            column.set("table", None)
    condition = tree.args.get("where")
    return Query(
        tuple("*" if each.is_star else spelled(each) for each in tree.expressions),
        None if condition is None else spelled(condition.this),
    )
