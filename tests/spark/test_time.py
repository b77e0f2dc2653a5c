"""Event times that are wrong, streams that fall silent, and what a job says of its splits."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

import polars as pl

import millstream as ms
from waiting import until

NOW = time.time() // 60 * 60
POISON = 253_402_300_000.0  # in the year 9999
COLUMNS = "host string, at double"


def put(folder: Path, number: int, *rows: tuple[str, float], format: str = "json") -> None:
    """Adds a file, all at once; Spark reads the oldest first."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    table = pl.DataFrame(rows, schema={"host": pl.String, "at": pl.Float64}, orient="row")
    if format == "json":
        hidden.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_dicts()))
    else:
        table.write_parquet(hidden)
    os.utime(hidden, (1_000_000_000 + number,) * 2)
    hidden.rename(folder / f"{number}.{format}")


def counted(folder: Path, policy, format: str = "json", split: str | None = None) -> ms.Stream:
    rows = ms.read_files(
        folder, format, COLUMNS, "at", policy, split, max_files_per_batch=1, name="rows"
    )
    return rows.window(ms.fixed("10s")).aggregate(n=ms.count(), last=ms.max("at")).named("windows")


def test_a_row_from_the_year_9999_does_not_make_later_rows_late(spark, tmp_path, caplog):
    folder = tmp_path / "in"
    put(folder, 0, ("a", NOW), ("b", NOW), ("a", POISON), ("a", 1e12))
    put(folder, 1, ("a", NOW + 1), ("b", NOW + 2))
    put(folder, 2, ("a", NOW + 11), ("b", NOW + 12))
    counts = counted(folder, ms.ascending(), split="host")
    program = ms.pipeline(counts.collect("counts"), counts.late.collect("late"))
    with caplog.at_level(logging.WARNING, "millstream.job"):
        job = program.run("poisoned", spark=spark).process_all().stop()
    assert [(row["n"], row["last"]) for row in job.rows("counts")] == [(4, NOW + 2)]
    assert job.rows("late") == []
    progress = job.progress()
    assert progress.ahead_by_step == {"event_time-1": 1}
    assert progress.rejected_by_step == {"event_time-1": 1}
    ahead, unit = sorted(record.getMessage() for record in caplog.records)
    assert "1 row in 'event_time-1' with a time too far ahead of the clock" in ahead
    assert "up to 9999-12-31 23:46:40+00:00, from source 'rows', split 'a'" in ahead
    assert "1 row rejected in 'event_time-1': event time 'at': it is outside" in unit
    assert "looks like milliseconds: divide it by 1000" in unit


def test_rows_that_are_too_far_ahead_can_be_rejected_wherever_their_time_is_found(spark, tmp_path):
    for format in ("json", "parquet"):
        folder = tmp_path / format
        put(folder, 0, ("a", NOW), ("a", time.time() + 7200), format=format)
        put(folder, 1, ("a", NOW + 11), format=format)
        counts = counted(folder, ms.bounded(0, ahead="1h", on_ahead="reject"), format)
        program = ms.pipeline(counts.collect("counts"), counts.rejected.collect("rejected"))
        job = program.run(f"rejected-{format}", spark=spark).process_all().stop()
        assert [row["n"] for row in job.rows("counts")] == [1]
        (rejected,) = job.rows("rejected")
        assert rejected["reason"] == "event time 'at': it is more than 1h ahead of the clock"
        assert json.loads(rejected["record"])["host"] == "a"
        assert job.progress().ahead == job.progress().rejected == 1


def test_programs_over_rows_that_end_reject_alike_in_process_and_on_spark(spark):
    rows = ms.from_rows([("a", NOW), ("b", POISON)], COLUMNS, "at", ms.ascending(ahead="1d"))
    times = rows.select("at")
    assert len(times.collect().run("kept").rows()) == 2
    strict = ms.ascending(ahead="1d", on_ahead="reject")
    rows = ms.from_rows([("a", NOW), ("b", POISON)], COLUMNS, "at", strict)
    program = ms.pipeline(rows.collect("good"), rows.rejected.collect("bad"))
    here = program.run("here")
    there = program.run("there", spark=spark, mode="batch")
    for job in (here, there):
        assert [row["host"] for row in job.rows("good")] == ["a"]
        assert job.progress().ahead == 1
    assert here.rows("bad") == there.rows("bad") != []


def test_a_stream_that_falls_silent_ends_its_last_windows_by_the_clock(spark, tmp_path):
    now = time.time()
    put(tmp_path / "in", 0, ("a", now - 1), ("b", now))
    policy = ms.bounded("1s", idle="1s", then="clock")
    rows = ms.read_files(tmp_path / "in", "json", COLUMNS, "at", policy, "host")
    counts = rows.window(ms.fixed("2s")).aggregate(n=ms.count())
    sums = counts.window(ms.fixed("4s")).aggregate(n=ms.sum("n"))
    program = ms.pipeline(sums.collect("sums"), counts.late.collect("late"))
    job = program.run("silent", spark=spark)
    try:
        until(lambda: sum(row["n"] for row in job.rows("sums")) == 2)
    finally:
        job.stop()
    assert job.rows("late") == []
