"""Event times that are wrong, streams that fall silent, and what a job says of its splits."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

import millstream as ms
from millstream.cli.main import app
from millstream.model.instants import START_OF_TIME
from millstream.reports.progress import Split, moment
from millstream.spark.driver.shard_progress import ShardProgress
from millstream.spark.driver.time_warnings import TimeWarnings
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
    put(folder, 0, ("a", NOW), ("b", NOW), ("a", POISON), ("b", POISON - 1), ("a", 1e12))
    put(folder, 1, ("a", NOW + 1), ("b", NOW + 2))
    put(folder, 2, ("a", NOW + 11), ("b", NOW + 12))
    counts = counted(folder, ms.ascending(), split="host")
    program = ms.pipeline(counts.collect("counts"), counts.late.collect("late"))
    with caplog.at_level(logging.WARNING, "millstream.job"):
        job = program.run("poisoned", spark=spark).process_all().stop()
    assert [(row["n"], row["last"]) for row in job.rows("counts")] == [(4, NOW + 2)]
    assert job.rows("late") == []
    progress = job.progress()
    assert progress.ahead_by_step == {"event_time-1": 2}
    assert progress.rejected_by_step == {"event_time-1": 1}
    unit, ahead = sorted(record.getMessage() for record in caplog.records)
    assert "2 rows in 'event_time-1' with a time too far ahead of the clock" in ahead
    assert (
        "up to 9999-12-31 23:46:40+00:00, from source 'rows', split 'a'. They move no watermark. "
        in ahead
    )
    assert "1 row rejected in 'event_time-1': event time 'at': it is outside" in unit
    assert "looks like milliseconds: write unit='ms'" in unit


def test_rows_that_are_too_far_ahead_can_be_rejected_wherever_their_time_is_found(
    spark, tmp_path, caplog
):
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
        assert "from source 'rows'. They are rejected. If such times" in caplog.text
        assert "no watermark" not in caplog.text
        caplog.clear()


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


def test_a_watermark_that_a_wrong_time_has_moved_can_be_put_back(spark, tmp_path):
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"

    def run(policy) -> tuple[list[int], list[float]]:
        counts = counted(folder, policy)
        sums = counts.window(ms.fixed("10s")).aggregate(n=ms.sum("n")).named("sums")
        program = ms.pipeline(sums.collect("sums"), counts.late.collect("late"))
        job = program.run("repaired", checkpoint=checkpoint, spark=spark).process_all().stop()
        return [row["n"] for row in job.rows("sums")], [row["at"] for row in job.rows("late")]

    put(folder, 0, ("a", NOW), ("a", POISON))
    put(folder, 1, ("a", NOW + 11))
    assert run(ms.ascending(ahead=None)) == ([1], [NOW + 11])
    to = datetime.fromtimestamp(NOW + 10, UTC).isoformat()
    command = ["checkpoint", "repair", str(checkpoint), "repaired", "--watermark", to]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.output) == (
        0,
        f"the watermark of 'repaired' is moved back to {to} in batch 2\n",
    )
    put(folder, 2, ("a", NOW + 12))
    put(folder, 3, ("a", NOW + 9), ("a", NOW + 31))
    assert run(ms.ascending()) == ([1], [NOW + 9])
    put(folder, 4, ("a", NOW + 15))  # what is put back once is not put back again
    assert run(ms.ascending()) == ([], [NOW + 15])


def test_a_resumed_job_shows_its_watermark_state_and_splits_before_its_first_batch(spark, tmp_path):
    put(tmp_path / "in", 0, ("a", NOW), ("b", NOW + 5), ("b", NOW + 20))
    program = counted(tmp_path / "in", ms.ascending(), split="host").collect()
    checkpoint = tmp_path / "checkpoint"
    before = program.run("quiet", checkpoint=checkpoint, spark=spark).process_all().stop()
    after = program.run("quiet", checkpoint=checkpoint, spark=spark).process_all().stop()
    assert after.progress().batches == 0
    for progress in (before.progress(), after.progress()):
        assert progress.watermark == datetime.fromtimestamp(NOW, UTC)
        assert progress.state_rows == 2
        assert [(each.source, each.split, each.idle) for each in progress.splits] == [
            ("rows", "a", False),
            ("rows", "b", False),
        ]
        assert progress.splits[1].watermark == datetime.fromtimestamp(NOW + 20, UTC)
    (checkpoint / "quiet" / "progress.json").write_text("damaged")
    assert ShardProgress.kept_in(str(checkpoint / "quiet"), ["windows"]) == ShardProgress()


def test_a_split_that_holds_the_watermark_is_named_once_it_is_silent_for_a_minute(caplog):
    warnings = TimeWarnings()

    def waiting(now, **splits) -> str | None:
        known = [Split("rows", n, moment(at), False) for n, at in splits.items()]
        return warnings.of_splits(sorted(known, key=lambda each: each.watermark), now)

    assert waiting(0, a=1, b=START_OF_TIME) is None
    assert waiting(59, a=2, b=START_OF_TIME) is None
    assert waiting(60, a=3, b=START_OF_TIME) == (
        "split 'b' of 'rows', silent for 1m, which has brought no event time yet"
    )
    assert waiting(100, a=3, b=START_OF_TIME) is not None
    assert waiting(101, a=3, b=2) is None
    assert waiting(200, a=4, b=2) == "split 'b' of 'rows', silent for 1m39s"
    assert waiting(400, a=2, b=2) is None, "all are silent alike"
    assert [record.getMessage().partition(".")[0] for record in caplog.records] == [
        "the watermark waits for split 'b' of 'rows', silent for 1m, "
        "which has brought no event time yet",
        "the watermark waits for split 'b' of 'rows', silent for 1m39s",
    ]
