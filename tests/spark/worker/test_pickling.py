"""Functions travel to workers with all that they use; what cannot travel is named before."""

from __future__ import annotations

import sqlite3
import sys
import threading
from contextlib import closing
from functools import cache, partial

import pytest
from pyspark import cloudpickle

import millstream as ms
from millstream.plan.targets import Each
from millstream.spark.connect import RemoteBatch
from millstream.spark.worker.pickling import pickled
from millstream.spark.worker.processor import unpacked

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as the program that is run

ROWS = ms.from_rows([1, 2, 3], schema="n int")
LOCK = threading.Lock()
LOCKS = {"first": LOCK}


class Store:
    def __init__(self, lock):
        self.inner = {"held": [lock]}

    def save(self, rows, batch, slice):
        pass

    def __call__(self, row):
        return row


def named(row):
    return [LOCK for _ in row]


def calling(row):
    return named(row)


def kept(row, lock=LOCK):
    return row


def in_a_closure():
    store = Store(LOCK)
    return lambda row: store


@cache
def twice():
    return threading.Lock(), lambda n: n * 2


def doubled(row):
    lock, double = twice()
    with lock:
        return double(row["n"])


def refusal(pipeline):
    with pytest.raises(ms.PlanError, match="MS121") as caught:
        pipeline.run("here")
    with pytest.raises(ms.PlanError) as there:
        pipeline.run("there", mode="batch")  # no session is needed to find out
    assert str(there.value) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (named, "named cannot be sent to Spark's workers: it uses 'LOCK', a _thread.lock, which"),
        (calling, "it uses 'LOCK', a _thread.lock"),
        (lambda row: LOCKS, "it uses \"LOCKS['first']\", a _thread.lock"),
        (kept, "it uses 'a default value', a _thread.lock"),
        (in_a_closure(), "it uses \"store.inner['held'][0]\", a _thread.lock"),
        (Store(LOCK), "it uses \"self.inner['held'][0]\", a _thread.lock"),
        (partial(dict, lock=LOCK), "it uses 'lock', a _thread.lock"),
        (sqlite3.connect(":memory:").execute, "it is a builtin_function_or_method"),
    ],
)
def test_what_a_function_uses_that_cannot_travel_is_named(function, says):
    text = refusal(ROWS.map(function, schema="n int").collect())
    assert text.startswith("MS121 in step 'map-1': ")
    assert says in text
    assert "What to do: make it where it is used" in text


def test_keys_parts_of_a_combine_and_sinks_travel_too():
    def key(row) -> str:
        return named(row)

    assert "the key function key cannot" in refusal(ROWS.key_by(key).group().collect())
    combined = ms.combine("n", create=list, add=named, extract=len, returns="int")
    assert "add of combine(n, add=named) cannot" in refusal(ROWS.aggregate(n=combined).collect())
    assert "Store.save cannot" in refusal(ROWS.write_each(Store(LOCK).save))


def test_objects_of_spark_stay_on_the_driver(spark):
    with pytest.raises(ms.PlanError, match="MS121 .*uses 'spark', a pyspark") as caught:
        ROWS.map(lambda row: spark.sql("SELECT 1"), schema="n int").collect().run()
    assert "collect what the function needs before" in caught.value.fix


def test_a_cached_function_that_workers_can_import_is_imported():
    assert len(pickled(unpacked)) < 100


def test_what_a_server_of_spark_connect_runs_brings_its_cached_functions_along():
    targets = {"save": Each(doubled)}
    given = RemoteBatch(
        "line", "run", None, targets, [], "/checkpoint", None, announces_clock=False
    )
    sent = cloudpickle.loads(cloudpickle.dumps(given))
    assert sent.line == "line"
    received = sent.targets["save"].function
    assert received({"n": 2}) == 4
    assert received.__globals__["twice"] is not twice


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_functions_open_in_the_workers_what_cannot_travel(spark, tmp_path, mode):
    path = str(tmp_path / "totals.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE totals (batch INT, slice INT, total INT)")

    def save(rows, batch, slice):
        with closing(sqlite3.connect(path, timeout=60)) as database, database:
            database.execute("DELETE FROM totals WHERE batch = ? AND slice = ?", (batch, slice))
            database.executemany(
                "INSERT INTO totals VALUES (?, ?, ?)",
                [(batch, slice, row["total"]) for row in rows],
            )

    totals = ROWS.map(doubled, schema="n int").aggregate(total=ms.sum("n"))
    totals.write_each(save).run("saved", spark=spark, mode=mode)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT total FROM totals").fetchall() == [(12,)]
