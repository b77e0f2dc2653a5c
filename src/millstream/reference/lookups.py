"""Looks rows up in a table, one at a time."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.lookup import Find, Lookup
from millstream.reference.rows import Row


def looked_up(node: Lookup, rows: list[Row], find: Find) -> list[Row]:
    """The rows with the columns of the table. A key that is null is not in it."""
    keys = [tuple(row.values[name] for name in node.on) for row in rows]
    found = find(list(dict.fromkeys(key for key in keys if None not in key)))
    made = []
    for row, key in zip(rows, keys, strict=True):
        match = found.get(key)
        if match is None and node.missing == "drop":
            continue
        added = {f.name: None if match is None else match[name] for name, f in node.columns}
        made.append(replace(row, values={**row.values, **added}))
    return made
