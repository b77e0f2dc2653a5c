"""Sliding windows that share slices, on Spark: a job that resumes has its slices."""

from __future__ import annotations

import json
import os
from collections import Counter

import millstream as ms

SCHEMA = "key string, n int, at double"
SIZE, PERIOD = 100, 3
FILES = [
    [("a", 1, 0.0), ("b", 2, 40.5), ("a", 4, 99.0)],
    [("a", 8, 150.0), ("b", 16, 151.0)],
    [("a", 32, 100.0), ("a", 64, 260.0)],  # the first of these is late for some of its windows
    [("b", 128, 400.0)],
]
DELAY = 10


def write(folder, number):
    folder.mkdir(exist_ok=True)
    rows = [dict(zip(("key", "n", "at"), row, strict=True)) for row in FILES[number]]
    file = folder / f"{number}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads the oldest first


def expected():
    """The sum of each key and window that ends, and how often a row was late for a window."""
    sums, late, watermark = Counter(), 0, float("-inf")
    for rows in FILES:
        for key, n, at in rows:
            for start in range(-102, 500, PERIOD):
                if start <= at < start + SIZE:
                    if start + SIZE <= watermark:
                        late += 1
                    else:
                        sums[key, start] += n
        watermark = max(watermark, *(at - DELAY for _, _, at in rows))
    return {at: n for at, n in sums.items() if at[1] + SIZE <= watermark}, late


def test_a_job_that_is_resumed_after_each_batch_has_each_pane_once(spark, tmp_path):
    found, late = [], 0
    for number in range(len(FILES)):
        write(tmp_path / "rows", number)
        rows = ms.read_files(
            tmp_path / "rows", "json", SCHEMA, "at", ms.bounded(DELAY), name="rows",
            max_files_per_batch=1,
        )  # fmt: skip
        sums = rows.key_by("key").window(ms.sliding(SIZE, PERIOD)).aggregate(total=ms.sum("n"))
        job = sums.collect("sums").run("sums", spark=spark, checkpoint=tmp_path / "state")
        found += job.process_all().stop().rows("sums")
        late += job.late
    panes = [((row["key"], int(row["window"]["start"].timestamp())), row["total"]) for row in found]
    in_time, too_late = expected()
    assert len(panes) == len(dict(panes))
    assert dict(panes) == in_time
    assert late == too_late > 0
