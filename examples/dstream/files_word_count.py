"""Counts the words of files that arrive in a folder, with DStreams, stops and continues.

The second run finds the program in its checkpoint folder, and the file that arrived in between.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from pyspark import SparkContext

from millstream.dstream import StreamingContext


def arrive(folder: Path, name: str, text: str) -> None:
    """Moves a file into the folder: what is written there in place could be read half."""
    hidden = folder / f".{name}"
    hidden.write_text(text)
    hidden.rename(folder / name)


def program(folder: Path) -> StreamingContext:
    sc = SparkContext.getOrCreate()
    ssc = StreamingContext(sc, 1)
    words = ssc.textFileStream(str(folder)).flatMap(str.split)
    counts = words.map(lambda word: (word, 1)).updateStateByKey(
        lambda new, count: sum(new) + (count or 0)
    )
    counts.foreachRDD(lambda time, rdd: print(time.time(), *sorted(rdd.collect())))
    return ssc


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    folder, checkpoint = Path(tempfile.mkdtemp()), tempfile.mkdtemp()
    sc = SparkContext("local[2]", "files-word-count")
    sc.setLogLevel("ERROR")
    for run, text in enumerate(["the mill by the stream", "the stream turns the wheel"], 1):
        ssc = StreamingContext.getOrCreate(checkpoint, lambda: program(folder))
        print(f"run {run}")
        ssc.start()
        arrive(folder, f"during-{run}", text)
        ssc.awaitTerminationOrTimeout(3)
        ssc.stop(stopSparkContext=False, stopGraceFully=True)
        arrive(folder, f"after-{run}", "late grain")
    sc.stop()


if __name__ == "__main__":
    main()
