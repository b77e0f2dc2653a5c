"""A split that is behind, or silent, costs no rows and holds no window for ever.

The numbers of the first two tests are those of docs/watermarks.md.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

import millstream as ms

COLUMNS = "host string, at timestamp"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
AT_MOST = 120.0  # seconds; what is waited for takes a few where nothing else runs

Reading = tuple[str, datetime]


def write(folder: Path, number: int, readings: Iterable[Reading]) -> None:
    """Adds a file, all at once; Spark reads the oldest first."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"host": host, "at": at.isoformat()}) for host, at in readings]
    hidden = folder / f".{number}.json"
    hidden.write_text("\n".join(lines))
    os.utime(hidden, (1_000_000_000 + number,) * 2)
    hidden.rename(folder / f"{number}.json")


@pytest.fixture(scope="module")
def skewed(tmp_path_factory) -> Path:
    """An hour of readings of two hosts, one a minute; ``slow`` is an hour behind ``fast``.

    A file has ten minutes of both. The last one is a day later, so that all windows end.
    """
    folder = tmp_path_factory.mktemp("skewed")
    for part in range(6):
        minutes = [NOON + (10 * part + n) * MINUTE for n in range(10)]
        slow = [("slow", at) for at in minutes]
        write(folder, part, [*slow, *(("fast", at + HOUR) for at in minutes)])
    write(folder, 6, [("slow", NOON + 24 * HOUR), ("fast", NOON + 24 * HOUR)])
    return folder


def readings(folder: Path, split: str | None, watermark) -> ms.Stream:
    return ms.read_files(
        folder,
        format="json",
        schema=COLUMNS,
        event_time="at",
        watermark=watermark,
        split=split,
        max_files_per_batch=1,
    )


def counted_by_millstream(folder: Path, spark, split: str | None) -> tuple[dict, dict]:
    """Readings of each host in windows of ten minutes, and those that came too late for them."""
    rows = readings(folder, split, ms.bounded("1m"))
    counts = rows.key_by("host").window(ms.fixed("10m")).aggregate(n=ms.count())
    program = ms.pipeline(counts.collect("counts"), counts.late.collect("late"))
    job = program.run("skew", spark=spark).process_all().stop()
    counted = Counter()
    for row in job.rows("counts"):
        counted[row["host"]] += row["n"]
    return dict(counted), dict(Counter(row["host"] for row in job.rows("late")))


def counted_by_spark(folder: Path, spark, checkpoint: Path) -> tuple[dict, int]:
    """The same on Spark's own watermark, and how much of it Spark says that it has dropped."""
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder))
    windows = rows.withWatermark("at", "1 minute").groupBy(F.window("at", "10 minutes"), "host")
    writer = windows.count().writeStream.outputMode("append").format("memory")
    writer = writer.option("checkpointLocation", str(checkpoint)).queryName("skew_on_spark")
    query = writer.start()
    query.processAllAvailable()
    dropped = [p["stateOperators"][0]["numRowsDroppedByWatermark"] for p in query.recentProgress]
    query.stop()
    totals = spark.table("skew_on_spark").groupBy("host").sum("count").collect()
    return dict(map(tuple, totals)), sum(dropped)


def test_a_split_that_is_an_hour_behind_loses_nothing(skewed, spark):
    counted, late = counted_by_millstream(skewed, spark, split="host")
    assert counted == {"fast": 60, "slow": 60}
    assert late == {}


def test_sparks_one_watermark_loses_it(skewed, spark, tmp_path):
    counted, dropped = counted_by_spark(skewed, spark, tmp_path)
    # Two files come before the first watermark counts; after that all slow rows are behind it.
    assert counted == {"fast": 60, "slow": 20}
    # Spark counts what it drops after it has added up a batch: a group is one row, not ten.
    assert dropped == 4


def test_without_splits_it_is_late_and_not_lost(skewed, spark):
    counted, late = counted_by_millstream(skewed, spark, split=None)
    assert counted == {"fast": 60, "slow": 10}
    assert late == {"slow": 50}


def minute_of(host: str) -> list[Reading]:
    return [(host, NOON + second * SECOND) for second in range(61)]


def test_a_silent_split_without_idle_holds_its_windows(spark, tmp_path):
    write(tmp_path / "in", 0, [*minute_of("loud"), ("silent", NOON)])
    rows = readings(tmp_path / "in", "host", ms.bounded("5s"))
    counts = rows.window(ms.fixed("10s")).aggregate(n=ms.count())
    job = counts.collect().run("held", spark=spark).process_all().stop()
    assert job.rows() == []


def test_a_silent_split_steps_aside_once_it_is_idle_and_not_before(spark, tmp_path):
    write(tmp_path / "in", 0, [*minute_of("loud"), ("silent", NOON)])
    rows = readings(tmp_path / "in", "host", ms.bounded("5s", idle="1s"))
    counts = rows.window(ms.fixed("10s")).aggregate(n=ms.count())
    program = ms.pipeline(
        counts.write_files(tmp_path / "counts", name="counts"),
        counts.late.write_files(tmp_path / "late", name="late"),
    )
    job = program.run("idle", checkpoint=tmp_path / "checkpoint", spark=spark)
    try:
        wait_for(lambda: files_of(tmp_path / "counts"))
        times = batch_times(tmp_path / "checkpoint" / "idle" / "spark")
        # It comes back, with a row for a window that has ended without it, and one for the newest.
        write(tmp_path / "in", 1, [("silent", NOON + 20 * SECOND), ("silent", NOON + 60 * SECOND)])
        wait_for(lambda: files_of(tmp_path / "late"))
    finally:
        job.stop()
    # The watermark came to 12:00:55, five seconds before the newest row.
    counted = pl.read_parquet(tmp_path / "counts")
    ends = counted["window"].struct.field("end").dt.second().to_list()
    assert dict(zip(ends, counted["n"], strict=True)) == {10: 11, 20: 10, 30: 10, 40: 10, 50: 10}
    assert pl.read_parquet(tmp_path / "late")["at"].to_list() == [NOON + 20 * SECOND]
    # All in one batch, which brought nothing new: the first a second after the one with the rows.
    (closed,) = {int(file.name.split("-")[2]) for file in files_of(tmp_path / "counts")}
    assert times[closed - 1] - times[0] <= 1001
    assert times[closed] - times[0] >= 1000


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + AT_MOST
    while not what():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)


def files_of(folder: Path) -> list[Path]:
    return list(folder.glob("part-*"))


def batch_times(checkpoint: Path) -> list[int]:
    """The time of each batch in milliseconds, as Spark has written it down."""
    logs = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda log: int(log.name))
    return [json.loads(log.read_text().splitlines()[1])["batchTimestampMs"] for log in logs]
