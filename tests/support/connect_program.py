"""A program over Spark Connect. It has a process of its own: PySpark is for Connect, or it is not.

It prints what it has found as JSON, in one line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import millstream as ms
import topics
from families import bound_to_its_test
from millstream.model.errors import MillstreamError

SCHEMA = "team string, points int, at timestamp"
EACH_FILE = 10
"""Seconds that the rows of a file are of, which is a window."""


def rows_of(file: int) -> list[dict[str, Any]]:
    """What a file holds: rows of a window, and one that has no time."""
    rows = [
        {"team": "red" if n % 3 else "blue", "points": 100 * file + n, "at": EACH_FILE * file + n}
        for n in range(EACH_FILE)
    ]
    return [*rows, {"team": "none", "points": file, "at": None}]


def scores(folder: Path) -> Any:
    return ms.read_files(
        folder / "in",
        format="json",
        schema=SCHEMA,
        event_time="at",
        watermark=ms.ascending(),
        max_files_per_batch=1,
        name="scores",
    )


def totals(stream: Any) -> Any:
    by_team = stream.key_by("team").window(ms.fixed(f"{EACH_FILE}s"))
    return by_team.aggregate(n=ms.count(), total=ms.sum("points")).named("totals")


def program(folder: Path) -> Any:
    source = scores(folder)
    made = totals(source)
    written = made.drop("pane").write_files(folder / "out", format="json", name="out")
    return ms.pipeline(written, made.collect("kept"), source.rejected.collect("bad"))


def failure(run: Any) -> str:
    try:
        run()
    except MillstreamError as error:
        return str(error)
    return "nothing failed"


def everything(spark: SparkSession, folder: Path) -> dict[str, Any]:
    numbers = ms.from_rows([(n,) for n in range(100)], "n int")
    grouped = numbers.key_by(rest="n % 7").aggregate(n=ms.count(), most=ms.max("n")).collect()
    unset = failure(lambda: grouped.run("unset", spark=spark, mode="streaming"))
    for setting in unset.split("before run(): ")[1].splitlines()[0].split("; "):
        exec(setting, {"spark": spark})

    def by_rest(rows: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
        return sorted((row["rest"], row["n"], row["most"]) for row in rows)

    divided = numbers.map(lambda row: {"by": 1 // row["n"]}, "by int").collect()
    job = program(folder).run("totals", spark=spark, checkpoint=folder / "checkpoint")
    job.process_all()
    kept = sorted((r["team"], r["n"], r["total"]) for r in job.rows("kept"))
    counts = {"rows": job.progress().rows, "batches": job.progress().batches}
    job.stop()
    return {
        "unset": unset,
        "reference": by_rest(grouped.run("reference").rows()),
        "batch": by_rest(grouped.run("batch", spark=spark).rows()),
        "frame": ms.from_dataframe(spark.range(3)).collect().run("frame").rows(),
        "failure": failure(lambda: divided.run("fails", spark=spark)),
        "late failure": failure(lambda: divided.run("fails", spark=spark, mode="streaming")),
        "kept": kept,
        "counts": counts,
        "bad": len(job.rows("bad")),
        "state": job.progress().state,
    }


def until_nothing_is_left(spark: SparkSession, folder: Path) -> dict[str, Any]:
    job = program(folder).run("totals", spark=spark, checkpoint=folder / "checkpoint")
    print("running", flush=True)
    job.process_all().stop()
    return {"batches": job.progress().batches}


def from_topic_to_topic(
    spark: SparkSession, folder: Path, servers: str, source: str, target: str, created_again: str
) -> dict[str, Any]:
    numbers = ms.read_kafka(source, "n int", on_data_loss="continue", servers=servers)
    written = numbers.write_kafka(target, servers=servers)
    job = written.run("numbers", spark=spark, checkpoint=folder / "checkpoint")
    job.process_all()
    totals_read = {"rows": job.progress().rows, "lost": job.progress().lost}
    if created_again:
        topics.create_again(servers, source)
        topics.put(servers, source, [{"n": n} for n in range(20)])
        totals_read["failure"] = failure(job.wait)
    else:
        job.stop()
    return totals_read


def main(url: str, folder: Path, what: str, *of_kafka: str) -> None:
    bound_to_its_test()
    spark = SparkSession.builder.remote(url).getOrCreate()
    if what == "everything":
        found = everything(spark, folder)
    else:
        provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
        if what == "resumed":
            found = until_nothing_is_left(spark, folder)
        else:
            found = from_topic_to_topic(spark, folder, *of_kafka)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
