"""A process of Spark that dies: the query resumes by itself, and each result is written once."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path

import polars as pl
import pytest
from pyspark import cloudpickle

import millstream as ms
import topics
from millstream.model.errors import PlanError, RunError
from millstream.spark.driver.restarts import WITHIN, Restarts, loss_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test


def dies_once(note: Path) -> None:
    """Kills the worker that comes here first."""
    try:
        note.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def put(folder: Path, number: int, rows: list[int]) -> None:
    file = folder / f"{number}.json"
    file.write_text("\n".join(json.dumps({"n": n}) for n in rows))
    os.utime(file, (1_000_000_000 + number,) * 2)


def test_workers_die_in_a_function_a_step_and_a_sink_and_each_row_is_written_once(
    spark, broker, tmp_path, caplog
):
    numbers = tmp_path / "in"
    numbers.mkdir()
    for number in range(3):
        put(numbers, number, list(range(100 * number, 100 * number + 100)))
    topic = topics.new_topic(broker.servers, 2)

    def read(row):
        if row["n"] == 50:
            dies_once(tmp_path / "in-a-function")
        return row

    def add(total, row):
        if row["n"] == 150:
            dies_once(tmp_path / "in-a-step")
        return total + row["n"]

    def save(rows, batch, slice):
        # Of the slice, all sinks before this one have taken the rows, and closed.
        if batch == 2:
            dies_once(tmp_path / "in-a-sink")

    source = ms.read_files(numbers, "json", "n int", max_files_per_batch=1).map(read, "n int")
    summed = ms.combine(create=int, add=add, extract=lambda total: total, returns="bigint")
    totals = source.key_by(rest="n % 5").trigger(ms.repeatedly(ms.after_count(1)))
    totals = totals.refine(ms.accumulating).aggregate(total=summed).drop("window", "pane")
    program = ms.pipeline(
        totals.write_files(tmp_path / "out", name="files"),
        totals.write_kafka(topic, servers=broker.servers, name="records"),
        totals.collect("memory"),
        totals.write_each(save, name="each"),
    )
    job = program.run("totals", checkpoint=tmp_path / "checkpoint", spark=spark)
    job.process_all().stop()

    # After each file, the sum of the numbers so far that leave this rest.
    wanted = sorted(
        (rest, sum(range(rest, files * 100, 5))) for files in (1, 2, 3) for rest in range(5)
    )
    assert {note.name for note in tmp_path.glob("in-a-*")} == {
        "in-a-function", "in-a-step", "in-a-sink",
    }  # fmt: skip
    assert sorted(pl.read_parquet(tmp_path / "out").iter_rows()) == wanted
    records = [each.json for each in topics.read(broker.servers, topic)]
    assert sorted((each["rest"], each["total"]) for each in records) == wanted
    assert sorted((row["rest"], row["total"]) for row in job.rows("memory")) == wanted
    assert job.progress().restarts == 3
    assert job.progress().batches == 3
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert warned[0] == (
        "job 'totals': a Python worker has died; it resumes from its checkpoint in 1 s "
        "(restart 1 of 3 in 10 minutes)"
    )


def test_a_function_that_kills_its_worker_each_time_ends_the_job_and_its_step_is_named(
    spark, tmp_path
):
    def deadly(row):
        os.kill(os.getpid(), signal.SIGKILL)

    (tmp_path / "in").mkdir()
    put(tmp_path / "in", 0, [1])
    source = ms.read_files(tmp_path / "in", "json", "n int")
    job = (
        source.map(deadly, "n int").named("deadly").collect("all").run("d", spark=spark, restarts=1)
    )
    with pytest.raises(RunError, match="MS223 in step 'deadly': a Python worker has died, after 1"):
        job.process_all()
    assert (job.progress().state, job.progress().restarts) == ("failed", 1)


def test_a_worker_that_takes_longer_to_start_than_spark_waits_for_does_not_fail_the_job(
    spark, tmp_path, monkeypatch
):
    # As on a machine with far too much to do: what is imported takes 12 s, and Spark waits for 10.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if any('driver_worker' in word for word in sys.orig_argv):\n"
        "    time.sleep(12)\n"
    )
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(tmp_path))
    (tmp_path / "in").mkdir()
    put(tmp_path / "in", 0, [1, 2])
    counts = ms.read_files(tmp_path / "in", "json", "n int").trigger(
        ms.repeatedly(ms.after_count(1))
    )
    program = counts.refine(ms.accumulating).aggregate(n=ms.count()).collect("all")
    job = program.run("slow", spark=spark, restarts=0).process_all().stop()
    assert [row["n"] for row in job.rows()] == [2]


def test_restarts_are_counted_over_ten_minutes_and_the_pauses_grow():
    now = 0.0
    restarts = Restarts(3, clock=lambda: now)
    assert [restarts.pause() for _ in range(4)] == [1, 2, 4, None]
    now = WITHIN
    assert restarts.pause() == 1
    assert Restarts(0).pause() is None


def test_only_the_loss_of_a_process_is_worth_a_restart():
    assert loss_of(RuntimeError("… Python worker exited unexpectedly (crashed) …"))
    assert loss_of(RuntimeError("… Python worker failed to connect back. …"))
    assert loss_of(RuntimeError("[DIVIDE_BY_ZERO] Division by zero.")) is None
    error = RunError("MS201", "f failed: Python worker exited unexpectedly", fix="fix it")
    assert loss_of(error) is None


@pytest.mark.parametrize("restarts", [-1, True, "3", 1.5])
def test_a_number_of_restarts_is_not_negative(restarts):
    with pytest.raises(PlanError, match="MS113.*restarts="):
        ms.from_rows([(1,)], schema="n int").collect().run(restarts=restarts)
