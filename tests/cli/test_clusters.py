"""A program runs on a cluster of Spark whose machines have only what the command sends them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars
import pytest
from typer.testing import CliRunner

import bound
import click_prices
import clicks
import millstream
import topics
from click_prices import CENTS
from families import Family
from millstream.cli.main import app
from millstream.system.data_directory import DATA
from spark_cluster import SparkCluster
from waiting import until

PARTITIONS = 4
MINUTES = 6
PAGES = list(CENTS)
THE_END = 86_400.0  # of event time, in seconds: a day later all windows have ended


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with a data directory, a folder for checkpoints, and one to wait in."""
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    (tmp_path / "hold").mkdir()
    return tmp_path


def clicks_of(minute, hold=None):
    """Two clicks on each page; if one is to wait, it is in the middle."""
    rows = [
        {"n": 100 * minute + 10 * part + n, "page": page, "at": 60.0 * minute + 20 * part + n}
        for part in range(2)
        for n, page in enumerate(PAGES)
    ]
    return [{**row, "hold": hold if n == len(rows) // 2 else None} for n, row in enumerate(rows)]


def last_clicks():
    """One in each partition, which end all windows before them."""
    return [
        {"n": 1_000_000 + n, "page": page, "at": THE_END, "hold": None}
        for n, page in enumerate(PAGES[:PARTITIONS])
    ]


def by_partition(rows):
    """The clicks of a page are in one partition."""
    for partition in range(PARTITIONS):
        yield partition, [r for r in rows if PAGES.index(r["page"]) % PARTITIONS == partition]


def expected_copies(rows):
    """Each click once, with its price."""
    return sorted((row["n"], row["page"], CENTS[row["page"]]) for row in rows)


def expected_sums():
    """The sums of each page by the minute: two clicks, numbered as ``clicks_of`` does."""
    return sorted(
        (page, f"1970-01-01T00:{minute:02}:00.000Z", 2 * cents, [first, first + 10])
        for minute in range(MINUTES)
        for first, (page, cents) in enumerate(CENTS.items(), start=100 * minute)
    )


class Committed:
    """What readers of committed records find in the topics."""

    def __init__(self, servers, copies, sums):
        self._servers, self._copies, self._sums = servers, copies, sums

    def copies(self):
        rows = [record.json for record in topics.read(self._servers, self._copies)]
        return sorted((row["n"], row["page"], row["cents"]) for row in rows)

    def sums(self):
        rows = [record.json for record in topics.read(self._servers, self._sums)]
        return sorted((r["page"], r["window"]["start"], r["cents"], r["numbers"]) for r in rows)


def note(folder):
    """What the process has written that waits with a click, or waited."""
    return json.loads((folder / "hold" / "waiting").read_text())


def packed(folder):
    """The archive that docs/clusters.md shows, with a module of the program."""
    command = [sys.executable, "-m", "millstream", "pack", "packed.tar.gz", click_prices.__file__]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert made.stdout.startswith("packed packed.tar.gz, ")
    return "packed.tar.gz"


def started(folder, cluster, archive, **settings):
    """The job, from the command of docs/clusters.md, on loopback."""
    spark = {
        "spark.sql.shuffle.partitions": 4,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    options = [part for each in settings.items() for part in ("--set", "{}={}".format(*each))]
    options += [part for each in spark.items() for part in ("--conf", "{}={}".format(*each))]
    environment = {**os.environ, "PYSPARK_PYTHON": cluster.python}
    environment.pop("PYTHONPATH", None)
    return Family(
        Path(bound.__file__), sys.executable, "-m", "millstream", "run", clicks.__file__,
        "--name", "clicks", "--checkpoint", folder / "checkpoints",
        "--master", cluster.master, "--archive", folder / archive, *options,
        log=folder / "job.log", scratch=folder / "scratch", environment=environment,
    )  # fmt: skip


def test_a_cluster_that_has_only_what_is_packed_loses_a_worker_and_no_click(broker, folder):
    source = topics.new_topic(broker.servers, PARTITIONS)
    copies, sums = topics.new_topic(broker.servers, 2), topics.new_topic(broker.servers, 2)
    given = []

    def put(rows):
        given.extend(rows)
        for partition, part in by_partition(rows):
            topics.put(broker.servers, source, part, partition)

    for minute in range(2):
        put(clicks_of(minute))
    committed = Committed(broker.servers, copies, sums)
    archive = packed(folder)
    with (
        SparkCluster(folder, workers=2) as cluster,
        started(
            folder, cluster, archive,
            servers=broker.servers, clicks=source, copies=copies, sums=sums,
        ) as job,
    ):  # fmt: skip

        def comes_to(condition):
            until(lambda: condition() or job.process.poll() is not None)
            assert job.process.poll() is None, job.printed()

        comes_to(lambda: len(committed.copies()) == len(given))
        put(clicks_of(2, hold=str(folder / "hold")))
        comes_to((folder / "hold" / "waiting").exists)
        waited = note(folder)
        cluster.worker_with(waited["process"]).kill()  # all of it, in the middle of a batch
        (folder / "hold" / "continue").touch()
        for minute in range(3, MINUTES):
            put(clicks_of(minute))
        put(last_clicks())
        comes_to(lambda: len(committed.copies()) >= len(given))
        comes_to(lambda: len(committed.sums()) >= len(expected_sums()))
        stopped = CliRunner().invoke(app, ["jobs", "stop", "clicks"])
        assert stopped.stdout == "clicks is stopped\n", stopped.output
        assert job.ended(within=60) == 0, job.printed()
    assert committed.copies() == expected_copies(given)
    assert committed.sums() == expected_sums()
    assert note(folder)["process"] != waited["process"]  # the other worker did it again
    installed = {str(Path(each.__file__).parents[1]) for each in (millstream, polars)}
    assert not installed.intersection(waited["path"])
    shown = json.loads(CliRunner().invoke(app, ["jobs", "show", "clicks", "--json"]).stdout)
    assert {each["id"]: each["parallelism"] for each in shown["plan"]["steps"]}["sums"] == 4
