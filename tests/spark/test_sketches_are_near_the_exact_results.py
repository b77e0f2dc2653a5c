"""approx_distinct and approx_quantile on Spark: near the exact results, the same ones each time."""

from __future__ import annotations

import os

import numpy as np
import polars as pl

import millstream as ms


def test_sketches_of_a_batch_and_of_several_batches_are_the_same_and_near(spark, tmp_path):
    random = np.random.default_rng(7)
    files = [
        pl.DataFrame(
            {
                "page": random.choice(["start", "search"], 12_000),
                "user": random.integers(0, 20_000, 12_000),
                "latency": random.uniform(1, 1000, 12_000),
                "at": random.integers(0, 3000, 12_000),
            }
        )
        for _ in range(3)
    ]
    for number, rows in enumerate(files):
        file = tmp_path / f"{number}.parquet"
        rows.write_parquet(file)
        os.utime(file, (1_700_000_000 + number,) * 2)
    found = []
    for mode, windows in (("batch", ms.fixed("1h")), ("streaming", ms.session("10m"))):
        rows = ms.read_files(
            tmp_path, event_time="at", watermark=ms.bounded("1h"),
            bounded=mode == "batch", max_files_per_batch=1,
        )  # fmt: skip
        by_page = rows.key_by("page").window(windows).refine(ms.accumulating)
        if mode == "streaming":  # its session does not end
            by_page = by_page.trigger(ms.repeatedly(ms.after_count(1)))
        sketches = by_page.aggregate(
            users=ms.approx_distinct("user"), slow=ms.approx_quantile("latency", 0.95)
        )
        job = sketches.collect("sketches").run("sketches", spark=spark, mode=mode)
        if mode == "streaming":
            job.process_all().stop()
            assert job.progress().batches == 3
        latest = {row["page"]: (row["users"], row["slow"]) for row in job.rows("sketches")}
        found.append(latest)
    first, second = found
    assert first == second
    exact = pl.concat(files).group_by("page").agg(
        pl.col("user").n_unique(), pl.col("latency").quantile(0.95, "lower")
    )  # fmt: skip
    for page, users, slow in exact.iter_rows():
        assert abs(first[page][0] / users - 1) < 5 * 0.022
        assert abs(first[page][1] / slow - 1) < 10 / 2048 + 0.001  # from 1 to 1,000: ten powers
