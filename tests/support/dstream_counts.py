"""A DStream program that counts lines of files, by key, in three ways."""

from __future__ import annotations

import operator

from pyspark import SparkContext

from millstream.dstream import StreamingContext

INTERVAL = 1


def program(context: SparkContext, files: str, output: str) -> StreamingContext:
    ssc = StreamingContext(context, INTERVAL)
    pairs = ssc.textFileStream(files).map(lambda line: (line, 1))
    totals = pairs.updateStateByKey(lambda new, total: sum(new) + (total or 0), 1)
    totals.checkpoint(2 * INTERVAL)
    totals.saveAsTextFiles(f"{output}/totals")
    window = pairs.reduceByKeyAndWindow(operator.add, operator.sub, 5 * INTERVAL, INTERVAL, 1)
    window.checkpoint(2 * INTERVAL)
    window.saveAsTextFiles(f"{output}/window")
    pairs.reduceByKey(operator.add, 1).saveAsTextFiles(f"{output}/batch", "txt")
    return ssc
