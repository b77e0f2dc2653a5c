"""Windows that the watermark does not end, on Spark: batch and streaming, resumed, in chains."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from datetime import UTC, datetime

import millstream as ms
from waiting import until

SCHEMA = "key string, n int, at double"
FILES = [
    [("a", 1, 9.0), ("b", 2, 1.0), ("a", 4, 2.0), ("a", 8, 5.0), ("a", 16, 5.0)],
    [("b", 32, 7.0), ("a", 64, 1.0)],
    [("b", 128, 3.0), ("b", 256, 4.0), ("a", 512, 6.0), ("c", 1024, 0.0)],
]


def rows_in(folder, **how):
    return ms.read_files(folder, "json", SCHEMA, "at", ms.bounded("1h"), name="rows", **how)


def write(folder, number):
    folder.mkdir(exist_ok=True)
    rows = [dict(zip(("key", "n", "at"), row, strict=True)) for row in FILES[number]]
    file = folder / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest first


def windows_of_two(batches):
    """The sums of each two rows of a key, and of those that are left at the end."""
    waiting, made, counts = defaultdict(list), [], defaultdict(int)
    for batch in batches:
        for key, n, _ in sorted(batch, key=lambda row: row[2]):
            waiting[key].append(n)
            if len(waiting[key]) == 2:
                made.append((key, sum(waiting.pop(key)), counts[key]))
                counts[key] += 1
    return sorted(made), sorted((key, sum(rows), counts[key]) for key, rows in waiting.items())


def found(rows):
    return sorted((row["key"], row["total"], row["window"]["index"]) for row in rows)


def sums(rows):
    return rows.key_by("key").window(ms.count_window(2)).aggregate(total=ms.sum("n"))


def test_count_windows_are_filled_by_a_job_that_is_resumed_in_between(spark, tmp_path):
    made = []
    for new in ([0, 1], [2]):
        for number in new:
            write(tmp_path / "rows", number)
        rows = rows_in(tmp_path / "rows", max_files_per_batch=1)
        # A function and SQL before the operator: the order of rows is kept through both.
        same = rows.map(lambda row: dict(row), SCHEMA).with_columns(n="n + 0")
        job = sums(same).collect("sums").run("sums", spark=spark, checkpoint=tmp_path / "state")
        made += job.process_all().stop().rows("sums")
    complete, _ = windows_of_two(FILES)
    assert found(made) == complete


def test_a_batch_emits_incomplete_windows_at_its_end_and_feeds_windows_of_time(spark, tmp_path):
    rows = ms.from_rows([row for file in FILES for row in file], SCHEMA, "at", name="rows")
    complete, rest = windows_of_two([[row for file in FILES for row in file]])
    totals = sums(rows)
    overall = totals.window(ms.fixed(100)).aggregate(sum=ms.sum("total"), windows=ms.count())
    program = ms.pipeline(totals.collect("sums"), overall.collect("overall"))
    for mode in ("batch", "streaming"):
        job = program.run("sums", spark=spark, mode=mode).wait()
        assert found(job.rows("sums")) == sorted(complete + rest)
        (row,) = job.rows("overall")
        assert (row["sum"], row["windows"]) == (2047, len(complete + rest))


def test_in_a_program_that_ends_all_rows_are_in_the_window_of_the_run(spark):
    rows = ms.from_rows([(key, n) for key, n, _ in FILES[0]], "key string, n int", name="rows")
    days = rows.key_by("key").window(ms.processing_time(ms.calendar("year")))
    totals = days.aggregate(total=ms.sum("n")).collect("totals")
    for how in ({}, {"spark": spark, "mode": "batch"}, {"spark": spark, "mode": "streaming"}):
        before = datetime.now(UTC)
        found = totals.run("totals", **how).wait().rows("totals")
        assert sorted((row["key"], row["total"]) for row in found) == [("a", 29), ("b", 2)]
        years = {row["window"]["start"].year for row in found}
        assert years <= {before.year, datetime.now(UTC).year}


def test_the_clock_ends_windows_without_new_rows(spark, tmp_path):
    write(tmp_path / "rows", 0)
    by_clock = rows_in(tmp_path / "rows").key_by("key").window(ms.processing_time(ms.fixed("2s")))
    started = datetime.now(UTC)
    job = by_clock.aggregate(total=ms.sum("n")).collect("totals").run("totals", spark=spark)
    try:
        until(lambda: len(job.rows("totals")) == 2, job)
    finally:
        job.stop()
    found = job.rows("totals")
    assert sorted((row["key"], row["total"]) for row in found) == [("a", 29), ("b", 2)]
    for row in found:
        assert (row["window"]["end"] - row["window"]["start"]).total_seconds() == 2
        assert started <= row["window"]["end"] <= datetime.now(UTC)


def test_a_flush_ends_count_windows_without_new_rows(spark, tmp_path):
    write(tmp_path / "rows", 1)
    counted = rows_in(tmp_path / "rows").key_by("key").window(ms.count_window(2, flush="1s"))
    job = counted.aggregate(total=ms.sum("n")).collect("totals").run("totals", spark=spark)
    try:
        until(lambda: len(job.rows("totals")) == 2, job)
        assert found(job.rows("totals")) == [("a", 64, 0), ("b", 32, 0)]
    finally:
        job.stop()


def test_values_of_columns_and_expressions_end_windows_of_a_resumed_job(spark, tmp_path):
    moved, marked = [], []
    for new in ([0, 1], [2]):
        for number in new:
            write(tmp_path / "rows", number)
        rows = rows_in(tmp_path / "rows", max_files_per_batch=1).key_by("key")
        by_delta = rows.window(ms.delta_window("n", 50)).aggregate(total=ms.sum("n"))
        by_mark = rows.window(ms.punctuated_window("at > 4 OR at = 1")).aggregate(total=ms.sum("n"))
        program = ms.pipeline(by_delta.collect("moved"), by_mark.collect("marked"))
        job = program.run("values", spark=spark, checkpoint=tmp_path / "state")
        job.process_all().stop()
        moved += job.rows("moved")
        marked += job.rows("marked")
    # a: 4 8 16 1 | 64 | 512, of which the last waits; b: 2 32 | 128 | 256; c waits.
    assert found(moved) == [("a", 29, 0), ("a", 64, 1), ("b", 34, 0), ("b", 128, 1)]
    # a: 4 8 | 16 | 1 | 64 | 512; b: 2 | 32 | 128 256, which wait; c waits.
    expected = [("a", total, index) for index, total in enumerate([12, 16, 1, 64, 512])]
    assert found(marked) == sorted([*expected, ("b", 2, 0), ("b", 32, 1)])
