"""Counts words over the last 30 seconds, every 10 seconds, with DStreams.

A window of three slides is counted anew each time, as in PySpark, although there is an inverse
function. From five slides on, what leaves the window is subtracted, and what arrives is added.
"""

from __future__ import annotations

import argparse
import operator
import tempfile

from pyspark import SparkContext

from millstream.dstream import StreamingContext

WORDS = [["a"], ["a", "b"], ["b"], [], ["c", "a"], ["c"]]
"""One list for each slide; after them nothing arrives, and the window empties."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1.5 seconds, every half second")
    slide = 0.5 if parser.parse_args().quick else 10

    sc = SparkContext("local[2]", "windowed-word-count")
    sc.setLogLevel("ERROR")
    ssc = StreamingContext(sc, slide)
    ssc.checkpoint(tempfile.mkdtemp())
    words = ssc.queueStream(WORDS)
    pairs = words.map(lambda word: (word, 1))
    counts = pairs.reduceByKeyAndWindow(
        operator.add, operator.sub, 3 * slide, slide, filterFunc=lambda pair: pair[1] > 0
    )
    counts.pprint()
    ssc.start()
    ssc.awaitTerminationOrTimeout(10 * slide)
    ssc.stop(stopSparkContext=True, stopGraceFully=True)


if __name__ == "__main__":
    main()
