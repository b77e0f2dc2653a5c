"""A DStream program that a test kills: counts lines of files, by key, in three ways.

Arguments: the folder of the files, the checkpoint folder, and the folder of the output.
"""

from __future__ import annotations

import operator
import sys

from pyspark import SparkContext

from millstream.dstream import StreamingContext
from millstream.spark.driver.session import local_session

INTERVAL = 2


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


if __name__ == "__main__":
    files, checkpoint, output = sys.argv[1:]
    context = local_session(short=True).sparkContext
    ssc = StreamingContext.getOrCreate(checkpoint, lambda: program(context, files, output))
    ssc.start()
    ssc.awaitTermination()
