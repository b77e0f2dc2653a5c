"""The program as Millstream runs it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import millstream as ms
from benchmarks.spec import DELAY_SECONDS, FILES, SCHEMA, Spec
from millstream.jobs.job import Job


class RunningJob:
    """A job of Millstream that a contender runs."""

    job: Job

    @property
    def query(self) -> StreamingQuery:
        """The query of the job."""
        assert self.job._stream is not None
        return self.job._stream.query

    def stop(self) -> dict[str, Any]:
        """Ends the job."""
        self.job.stop()
        counts = {"late": self.job.late, "rejected": self.job.rejected}
        return {**counts, "read": self.job.progress().rows}


class MillstreamProgram(RunningJob):
    """Count and sum for each key and window, written to parquet files."""

    def __init__(self, spec: Spec, spark: SparkSession) -> None:
        # With a source that may be idle, batches run by the clock, without data, too.
        watermark = ms.bounded(DELAY_SECONDS, idle="1h" if spec.idles else None)
        source, target = spec.topics
        if spec.servers:
            rows = ms.read_kafka(source, SCHEMA, None, "ts", watermark, servers=spec.servers)
        else:
            rows = ms.read_files(
                f"{spec.input}/*",
                schema=SCHEMA,
                event_time="ts",
                watermark=watermark,
                max_files_per_batch=FILES,
            )
        if spec.updates:
            # Like Spark's update mode: no second pane at the window's end if nothing is new.
            grouped = (
                rows.key_by("key")
                .window(ms.fixed(spec.window_seconds), on_time="if_changed")
                .trigger(ms.at_watermark(early=ms.repeatedly(ms.after_count(1))))
                .refine(ms.accumulating)
            )
        else:
            size, slide = spec.window_seconds, spec.slide_seconds
            window = ms.sliding(size, slide) if slide else ms.fixed(size)
            grouped = rows.key_by("key").window(window)
        results = grouped.aggregate(n=ms.count(), s=ms.sum("price")).drop("pane")
        if spec.servers:
            delivery: Any = spec.delivery
            written = results.write_kafka(target, delivery=delivery, servers=spec.servers)
        else:
            written = results.write_files(spec.output, options={"compression": "snappy"})
        self.job = written.run("bench", checkpoint=spec.checkpoint, spark=spark)
