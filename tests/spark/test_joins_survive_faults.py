"""Joins on Spark: of files, batch and streaming, in a job that fails, is resumed, and repeats."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest

import millstream as ms
from millstream.model.errors import RunError

ORDERS, PRICES = "item string, n int, at double", "item string, price int, since double"
BATCHES = 4


def orders_of(batch):
    """Nine orders, some of them of the minute before."""
    return [
        {
            "item": "xyz"[n % 3],
            "n": 10 * batch + n,
            "at": 60.0 * batch + (7 * n) % 60 - 30 * (n % 2),
        }
        for n in range(9)
    ]


def prices_of(batch):
    """A new price of each item in each minute; one item comes back later."""
    return [
        {"item": item, "price": 100 * batch + n, "since": 60.0 * batch + n}
        for n, item in enumerate("xy" if batch % 2 else "xyz")
    ]


def write(folder, batches):
    for side, made in (("orders", orders_of), ("prices", prices_of)):
        (folder / side).mkdir(exist_ok=True)
        for batch in batches:
            file = folder / side / f"{batch}.json"
            file.write_text("".join(json.dumps(row) + "\n" for row in made(batch)))
            os.utime(file, (1_700_000_000 + batch,) * 2)  # Spark reads the oldest first


def side(folder, name, schema, time, **how):
    return ms.read_files(folder / name, "json", schema, time, ms.bounded("1m"), name=name, **how)


def failing_once(folder):
    """A function that ends the batch in which the order 21 is, the first time."""

    def fail(row):
        note = folder / "failed"
        if row["n"] == 21 and not note.exists():
            note.write_text("")
            raise ValueError("once")
        return row

    return fail


def temporal(folder, **how):
    orders = side(folder, "orders", ORDERS, "at", **how)
    prices = side(folder, "prices", PRICES, "since", **how)
    return orders.temporal_join(prices, on="item", how="left")


def expected():
    """The as-of join of Polars."""
    left = pl.DataFrame([row for batch in range(BATCHES) for row in orders_of(batch)]).sort("at")
    right = pl.DataFrame([row for batch in range(BATCHES) for row in prices_of(batch)])
    right = right.with_columns(at=pl.col("since")).sort("at")
    joined = left.join_asof(right, on="at", by="item", check_sortedness=False)
    return sorted(joined.select("item", "n", "at", "price", "since").rows())


def rows_in(folder):
    return sorted(pl.read_parquet(folder / "part-*.parquet").rows(), key=lambda row: row[:2])


def test_a_job_that_fails_and_is_resumed_gives_each_pair_once(spark, tmp_path):
    write(tmp_path, range(BATCHES))
    last = {"item": "x", "n": -1, "at": 1e6}, {"item": "x", "price": -1, "since": 1e6}
    for name, row in zip(("orders", "prices"), last, strict=True):
        file = tmp_path / name / "9.json"
        file.write_text(json.dumps(row))
        os.utime(file, (1_700_000_009,) * 2)
    for life in range(2):
        joined = temporal(tmp_path, max_files_per_batch=1)
        schema = str(joined.schema)
        written = joined.map(failing_once(tmp_path), schema).write_files(
            tmp_path / "made", name="m"
        )
        job = written.run("prices", spark=spark, checkpoint=tmp_path / "state")
        if life == 0:
            with pytest.raises(RunError, match="once"):
                job.process_all()
        else:
            job.process_all().stop()
    assert (tmp_path / "failed").exists()
    assert rows_in(tmp_path / "made") == expected()


def test_a_batch_query_gives_the_same(spark, tmp_path):
    write(tmp_path, range(BATCHES))
    bounded = temporal(tmp_path, bounded=True).collect("pairs")
    rows = bounded.run("batch", spark=spark, mode="batch").wait().rows("pairs")
    assert sorted((tuple(row.values()) for row in rows), key=lambda row: row[:2]) == expected()
