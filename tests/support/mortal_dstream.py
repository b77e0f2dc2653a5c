"""A DStream program that dies at chosen points, each of them once: ``mortal_dstream.py FOLDER …``.

It counts what a queue and files have, as state, over windows and by batch, and writes that to
FOLDER/output. Batches are counted from one: the queue has the pair ("queue", n) for batch n. At its
end, it has written BATCHES batches, and has counted the lines of all files.
"""

from __future__ import annotations

import json
import operator
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from families import bound_to_its_test
from millstream.dstream import StreamingContext
from millstream.spark.driver.session import local_session
from waiting import until

INTERVAL = 1
SLIDES = 5
BATCHES = 12
FILES = 6
POINTS = {
    "in the state": 2,
    "between two outputs": 4,
    "in the inverse": 6,
    "in a file": 8,
    "before the commit": 10,
}
"""Where it dies, and in which batch."""


def dying(folder: str) -> Callable[[str, Any], None]:
    """Dies where a batch comes to its point, unless it has died there before."""

    def reach(point: str, batch: Any) -> None:
        if POINTS[point] != batch:
            return
        try:
            with Path(folder, "deaths", point).open("x") as note:
                json.dump(sorted(map(str, Path(folder, "output").glob("*/*"))), note)
        except FileExistsError:
            return
        os.killpg(os.getsid(0), signal.SIGKILL)  # the driver's group, which Spark's JVM is in
        os.killpg(0, signal.SIGKILL)  # Spark's Python workers are a group of their own
        time.sleep(60)  # a signal may take a moment

    return reach


def put_files(folder: Path) -> None:
    """Files that are new in one batch after another, most in those in which the program dies."""
    folder.mkdir()
    for number in range(FILES):
        (folder / str(number)).write_text(f"file {number}\nfiles\n")
        changed = time.time() + (0.5 + 1.6 * number) * INTERVAL
        os.utime(folder / str(number), (changed, changed))


def program(context: SparkContext, folder: str) -> StreamingContext:
    reach = dying(folder)

    def update(new: list[int], total: int | None) -> int:
        for value in new:
            reach("in the state", value)
        return sum(new) + (total or 0)

    def without(total: int, left: int) -> int:
        reach("in the inverse", left + SLIDES)
        return total - left

    def written(pair: tuple[str, int]) -> tuple[str, int]:
        reach("in a file", pair[1])
        return pair

    def reached(point: str) -> Callable[[Any], None]:
        return lambda rdd: reach(point, rdd.values().first())

    ssc = StreamingContext(context, INTERVAL)
    files = ssc.textFileStream(f"{folder}/files")
    put_files(Path(folder, "files"))
    queue = ssc.queueStream([[("queue", n)] for n in range(1, 1000)])
    pairs = files.map(lambda line: (line, 1)).union(queue)
    totals = pairs.updateStateByKey(update, 1)
    totals.checkpoint(2 * INTERVAL)
    totals.saveAsTextFiles(f"{folder}/output/totals")
    queue.foreachRDD(reached("between two outputs"))
    window = pairs.reduceByKeyAndWindow(operator.add, without, SLIDES * INTERVAL, INTERVAL, 1)
    window.checkpoint(2 * INTERVAL)
    window.saveAsTextFiles(f"{folder}/output/window")
    batch = pairs.reduceByKey(operator.add, 2)
    batch.map(written).saveAsTextFiles(f"{folder}/output/batch", "txt")
    queue.foreachRDD(reached("before the commit"))
    return ssc


def main(folder: str) -> None:
    bound_to_its_test()
    context = local_session(short=True).sparkContext
    ssc = StreamingContext.getOrCreate(f"{folder}/checkpoint", lambda: program(context, folder))
    ssc.start()
    until(lambda: len([*Path(folder).glob("output/batch-*/_SUCCESS")]) >= BATCHES)
    ssc.stop(False)


if __name__ == "__main__":
    main(sys.argv[1])
