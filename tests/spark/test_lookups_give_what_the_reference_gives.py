"""Lookups on Spark: in a batch as by the reference, and streaming with a table that changes."""

from __future__ import annotations

import os

import millstream as ms

SCHEMA = "user string, city string"


def cities(users):
    return {user: user.upper() for user in users if user != "bob"}


def test_a_batch_gives_the_rows_of_the_reference(spark, tmp_path):
    users = tmp_path / "users.csv"
    users.write_text("user,city\nann,Oslo\ncid,Rome\n")
    rows = [(1, "ann"), (2, "bob"), (3, None), (4, "cid")]
    orders = ms.from_rows(rows, schema="id int, user string").filter("id < 4")
    frame = spark.createDataFrame([("ann", "Bern")], SCHEMA)
    tables = {
        "dict": orders.lookup({"ann": "Oslo"}, on="user", schema="city string"),
        "files": orders.lookup(users, on="user", schema=SCHEMA, missing="drop"),
        "function": orders.lookup(cities, on="user", schema="city string"),
        "frame": orders.lookup(frame, on="user"),
    }
    program = ms.pipeline(*(stream.collect(name) for name, stream in tables.items()))
    job, expected = program.run("lookups", spark=spark, mode="batch"), program.run()
    for name in tables:
        made = sorted(job.rows(name), key=str)
        assert made == sorted(expected.rows(name), key=str), name
    assert job.rows("files") == [{"id": 1, "user": "ann", "city": "Oslo"}]


def test_a_job_sees_a_table_that_changes_batch_by_batch_also_after_a_restart(spark, tmp_path):
    orders, users = tmp_path / "orders", tmp_path / "users.csv"
    orders.mkdir()

    def program():
        read = ms.read_files(orders, format="json", schema="id int, user string", name="orders")
        found = read.lookup(users, on="user", schema=SCHEMA, reload="change")
        return found.collect("found")

    def started():
        return program().run("lookups", checkpoint=tmp_path / "checkpoint", spark=spark)

    def order(number):
        file = orders / f".{number}.json"
        file.write_text(f'{{"id": {number}, "user": "ann"}}')
        os.replace(file, orders / f"{number}.json")

    seen = []
    job = started()
    try:
        for number, city in enumerate(["Oslo", "Lisbon", "Rome"]):
            users.write_text(f"user,city\nann,{city}\n")
            order(number)
            if number == 2:  # another life of the job
                job.stop()
                job = started()
            job.process_all()
            seen += [(row["id"], row["city"]) for row in job.rows("found")][-1:]
    finally:
        job.stop()
    assert seen == [(0, "Oslo"), (1, "Lisbon"), (2, "Rome")]
