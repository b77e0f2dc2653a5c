"""lookup(): rows get the columns of a table, which may be of many kinds, and may be read again."""

from __future__ import annotations

import json
import os
import time

import polars as pl
import pytest

import millstream as ms
from millstream.lookups import static
from millstream.model.errors import MillstreamError, PlanError, RunError
from millstream.testing import Elements, ProcessingTime, replay, test_stream

ORDERS = ms.from_rows(
    [(1, "ann", 5), (2, "bob", 6), (3, None, 7), (4, "ann", 8)],
    schema="id int, user string, n int",
)
USERS = [("ann", "Oslo", 5), ("cid", "Rome", 6)]
SCHEMA = "user string, city string, n int"


def made(table, **options):
    return [tuple(r.values()) for r in ORDERS.lookup(table, **options).collect().run().rows()]


def refused(code, **options):
    with pytest.raises(MillstreamError) as error:
        made(**options)
    assert error.value.code == code
    return error.value


FOUND = [
    (1, "ann", 5, "Oslo", 5),
    (2, "bob", 6, None, None),
    (3, None, 7, None, None),
    (4, "ann", 8, "Oslo", 5),
]


@pytest.mark.parametrize("kind", ["tuples", "dicts", "polars", "csv", "json", "parquet", "folder"])
def test_a_table_may_be_of_many_kinds(kind, tmp_path):
    frame = pl.DataFrame(USERS, schema={"user": str, "city": str, "n": pl.Int32}, orient="row")
    match kind:
        case "tuples":
            table = USERS
        case "dicts":
            table = frame.to_dicts()
        case "polars":
            table = frame
        case "csv":
            frame.write_csv(table := tmp_path / "users.csv")
        case "json":
            frame.write_ndjson(table := tmp_path / "users.json")
        case "parquet":
            frame.write_parquet(table := tmp_path / "users.parquet")
        case "folder":
            frame[:1].write_parquet(tmp_path / "1.parquet")
            frame[1:].write_parquet(tmp_path / "2.parquet")
            (tmp_path / "_notes").write_text("no table")
            table = tmp_path
    options = {"format": "parquet"} if kind == "folder" else {}
    assert made(table, on="user", schema=SCHEMA, **options) == FOUND


def test_a_name_that_the_rows_have_gets_a_suffix():
    stream = ORDERS.lookup(USERS, on="user", schema=SCHEMA, suffix="_2")
    assert stream.schema.names == ("id", "user", "n", "city", "n_2")


def test_rows_that_are_not_in_the_table_may_be_dropped():
    kept = made(USERS, on="user", schema=SCHEMA, missing="drop")
    assert [row[0] for row in kept] == [1, 4]


def test_keys_may_be_pairs_and_several():
    table = [("ann", 5, True), ("ann", 6, False)]
    on = [("user", "name"), ("n", "points")]
    found = made(table, on=on, schema="name string, points int, good boolean")
    assert [row[-1] for row in found] == [True, None, None, None]
    by_dict = made({("ann", 8): "x"}, on=["user", "n"], schema="x string")
    assert [row[-1] for row in by_dict] == [None, None, None, "x"]


def test_a_function_is_called_with_each_key_once():
    asked = []

    def cities(users):
        asked.append(users)
        return {user: {"city": user.upper()} for user in users if user != "bob"}

    found = made(cities, on="user", schema="city string")
    assert [row[-1] for row in found] == ["ANN", None, None, "ANN"]
    assert asked == [["ann", "bob"]]


def test_what_a_function_returned_is_kept_for_as_long_as_the_cache_says():
    asked = []

    def cities(users):
        asked.extend(users)
        return dict.fromkeys(users, "x")

    users = test_stream("user string", name="users")
    steps = [Elements([("ann",)]), Elements([("ann",), ("bob",)])]
    for cache, expected in ((0, ["ann", "ann", "bob"]), ("1h", ["ann", "bob"])):
        asked.clear()
        stream = users.lookup(cities, on="user", schema="city string", cache=cache)
        assert len(replay(stream, steps=steps)) == 3
        assert asked == expected


def test_a_function_that_fails_or_is_late_is_named():
    def broken(users):
        raise ValueError("no such host")

    def slow(users):
        time.sleep(0.5)
        return {}

    error = refused("MS231", table=broken, on="user", schema="city string")
    assert error.what == (
        "broken failed for 2 keys, the first of which is 'ann': ValueError: no such host"
    )

    def unreachable(users):
        raise TimeoutError("the database is away")

    away = refused("MS231", table=unreachable, on="user", schema="city string")
    assert away.what.endswith("TimeoutError: the database is away")
    late = refused("MS231", table=slow, on="user", schema="city string", timeout="50ms")
    assert "slow had not answered after 50ms" in late.what


def write(path, users, at):
    rows = [json.dumps({"user": user, "city": city}) for user, city in users.items()]
    path.write_text("\n".join(rows))
    os.utime(path, (at, at))


def replayed(table, tmp_path, **options):
    """The city of ann before and after the table has changed, and a minute later."""
    users = test_stream("user string", name="users")
    stream = users.lookup(table, on="user", schema="user string, city string", **options)
    # A step between writes the file: functions of rows run when their step does.
    changed = users.map(lambda row: write(table, {"ann": "Rome"}, 2) or row, schema="user string")
    both = stream.union(changed.filter("false").with_columns(city="user"))
    steps = [
        ProcessingTime(0),
        Elements([("ann",)]),
        ProcessingTime(30),
        Elements([("ann",)]),
        ProcessingTime(61),
        Elements([("ann",)]),
    ]
    return [row.values["city"] for row in replay(both, steps=steps)]


@pytest.mark.parametrize(
    ("options", "cities"),
    [
        ({}, ["Oslo", "Oslo", "Oslo"]),
        ({"reload": "1m"}, ["Oslo", "Oslo", "Rome"]),
        ({"reload": "change"}, ["Oslo", "Rome", "Rome"]),
    ],
)
def test_files_are_read_once_or_every_so_often_or_if_they_change(options, cities, tmp_path):
    write(tmp_path / "users.json", {"ann": "Oslo"}, 1)
    assert replayed(tmp_path / "users.json", tmp_path, **options) == cities


def test_a_version_that_cannot_be_read_leaves_the_one_before_in_use(tmp_path, caplog):
    table = tmp_path / "users.json"
    write(table, {"ann": "Oslo"}, 1)
    opened = ORDERS.lookup(
        table, on="user", schema="user string, city string", reload="change"
    ).node.table.open()
    assert opened.at(0)([("ann",)]) == {("ann",): {"city": "Oslo"}}
    table.write_text("{")
    assert opened.at(1)([("ann",)]) == {("ann",): {"city": "Oslo"}}
    assert "stays as it was" in caplog.text


def test_a_table_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(static, "MOST_ROWS", 1)
    error = refused("MS230", table=USERS, on="user", schema=SCHEMA)
    assert "more than 1 rows" in error.what


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"table": USERS, "on": "nobody", "schema": SCHEMA}, "MS102"),
        ({"table": USERS, "on": "user"}, "MS111"),
        ({"table": {"ann": "Oslo"}, "on": "user"}, "MS111"),
        ({"table": USERS, "on": ("id", "user"), "schema": SCHEMA}, "MS134"),
        ({"table": USERS, "on": "lower(user) AS user", "schema": SCHEMA}, "MS113"),
        ({"table": USERS, "on": "user", "schema": SCHEMA, "missing": "keep"}, "MS113"),
        ({"table": USERS, "on": "user", "schema": SCHEMA, "reload": "1m"}, "MS113"),
        ({"table": "users", "on": "user", "schema": SCHEMA}, "MS113"),
        ({"table": "no/users.csv", "on": "user", "schema": SCHEMA}, "MS230"),
        ({"table": [("ann",)], "on": "user", "schema": "user string"}, "MS113"),
        ({"table": 7, "on": "user", "schema": SCHEMA}, "MS113"),
        ({"table": [*USERS, USERS[0]], "on": "user", "schema": SCHEMA}, "MS230"),
    ],
)
def test_mistakes_are_found(options, code):
    refused(code, **options)


def test_retractions_pass_through_a_table_that_stays_the_same():
    users = test_stream("user string, at double", event_time="at", name="users")
    often = users.key_by("user").window(ms.fixed(10)).trigger(ms.repeatedly(ms.after_count(1)))
    counts = often.refine(ms.retracting).aggregate(n=ms.count())
    stream = counts.lookup({"ann": "Oslo"}, on="user", schema="city string")
    rows = replay(stream, steps=[Elements([("ann", 1.0)]), Elements([("ann", 2.0)])])
    assert [(r.kind, r.values["n"], r.values["city"]) for r in rows] == [
        ("+", 1, "Oslo"),
        ("-", 1, "Oslo"),
        ("+", 2, "Oslo"),
    ]
    with pytest.raises(PlanError, match="may change"):
        counts.lookup(lambda users: {}, on="user", schema="city string")


def test_the_plan_shows_the_table(capsys):
    ORDERS.lookup({"ann": "Oslo"}, on="user", schema="city string").explain()
    assert "in       a table of 1 row" in capsys.readouterr().out


def test_a_run_error_names_the_step():
    with pytest.raises(RunError, match="step 'lookup-1'"):
        ORDERS.lookup([*USERS, USERS[0]], on="user", schema=SCHEMA)
