"""Takes a few of the rows that a shard has emitted or could not use, for people to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from millstream.engine.joins.sides import VALUES
from millstream.engine.operator import LATE, REJECTED, ROWS
from millstream.physical.operators.grouping import GroupingSpec
from millstream.physical.operators.spec import OperatorSpec
from millstream.reports.samples import EXACT, SampleKind, sample_value
from millstream.spark.worker.envelopes import Envelope

MOST_PANES = 48
"""Panes of an operator in a batch, of all shards; each shard may have some."""
_LEAST_PANES = 4
MOST_REFUSED = 5
"""Late rows of a shard, and rejected records of a step and partition, in a batch."""
_HIDDEN = {"window", "pane", "kind"}


def sampled(
    spec: OperatorSpec[Any], label: int, shards: int, tag: str, table: pl.DataFrame
) -> Iterator[Envelope]:
    """A few of the rows that an operator has emitted under a tag, if these are of interest."""
    if tag == ROWS and isinstance(spec, GroupingSpec):
        some = _of_some_keys(spec, table, max(_LEAST_PANES, MOST_PANES // shards))
        yield _envelope(label, spec.name, "pane", _panes(spec, some))
    elif tag == LATE:
        yield _envelope(label, spec.name, "late", _late(spec, table.head(MOST_REFUSED)))
    elif tag == REJECTED:
        yield rejected_sample(spec.name, label, table)


def rejected_sample(step: str, label: int, rows: pl.DataFrame) -> Envelope:
    """A few of the records that a step has rejected."""
    some = rows.head(MOST_REFUSED).select("reason", "record")
    return _envelope(label, step, "rejected", [_plain(row) for row in some.to_dicts()])


def _envelope(label: int, step: str, kind: SampleKind, rows: list[dict[str, Any]]) -> Envelope:
    payload = json.dumps(rows, ensure_ascii=False).encode(errors="replace")
    return Envelope(label, step, "sample", split=kind, elements=len(rows), payload=payload)


def _of_some_keys(spec: OperatorSpec[Any], table: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most so many rows: in each batch those of the same keys, so that they can be followed."""
    if table.height <= most or not spec.engine_keys:
        return table.head(most)
    keys = spec.engine_keys
    chosen = (pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)).hash()
    hashes = table.select(chosen).to_series()
    least = hashes.bottom_k(most).max()
    return table.filter(hashes <= least).head(most)


def _panes(spec: GroupingSpec, table: pl.DataFrame) -> list[dict[str, Any]]:
    rows = spec.rows(ROWS, table).to_dicts()
    keys = spec.keys[ROWS]
    names = [name for name, *_ in spec.aggregates]
    bounds = zip(table["of_start"], table["of_end"], strict=True)
    return [
        {
            "key": _plain({name: row[name] for name in keys}),
            "values": _plain({name: row[name] for name in names if name not in _HIDDEN}),
            "start": _moment(start),
            "end": _moment(end),
            **row["pane"],
            "kind": row["kind"],
        }
        for row, (start, end) in zip(rows, bounds, strict=True)
    ]


def _late(spec: OperatorSpec[Any], table: pl.DataFrame) -> list[dict[str, Any]]:
    names = next(iter(spec.keys.values()))  # joins name keys as their first port does
    keys = dict(zip(spec.engine_keys, names, strict=True))
    return [
        {
            "key": _plain({name: row.get(column) for column, name in keys.items()}),
            "time": _moment(row.get("time")),
            "start": _moment(row.get("start")),
            "end": _moment(row.get("end")),
            "reason": row.get("late", "behind"),
            **({"record": sample_value(_plain(record))} if (record := _record(row)) else {}),
        }
        for row in table.to_dicts()
    ]


def _record(row: dict[str, Any]) -> dict[str, Any] | None:
    """The late row as it arrived, if the operator has it: that of a cogroup is under its port."""
    columns = ("row", VALUES, *(name for name in row if name.startswith("of ")))
    found = (row[name] for name in columns if isinstance(row.get(name), dict))
    return next(found, None)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: sample_value(value) for name, value in row.items()}


def _moment(micros: int | None) -> int | None:
    return None if micros is None or abs(micros) > EXACT else micros
