"""Writes the word counts of each batch to a database, SQLite, with DStreams and foreachRDD.

A batch may be run again after a failure. Its rows have the time of the batch as part of their key,
so they are replaced and not written twice.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark import RDD, SparkContext

from millstream.dstream import StreamingContext

BATCHES = [["a", "b", "a"], ["b"], ["c", "a"]]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    database = Path(tempfile.mkdtemp(), "counts.db")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE counts (at, word, n, PRIMARY KEY (at, word))")

    def write(time: datetime, rdd: RDD[Any]) -> None:
        rows = [(time.isoformat(), word, n) for word, n in rdd.collect()]
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.executemany("REPLACE INTO counts VALUES (?, ?, ?)", rows)

    sc = SparkContext("local[2]", "to-database")
    sc.setLogLevel("ERROR")
    ssc = StreamingContext(sc, 1)
    ssc.queueStream(BATCHES).countByValue().foreachRDD(write)
    ssc.start()
    ssc.awaitTerminationOrTimeout(len(BATCHES) + 1)
    ssc.stop(stopSparkContext=True, stopGraceFully=True)

    with closing(sqlite3.connect(database)) as connection:
        for row in connection.execute("SELECT word, sum(n) FROM counts GROUP BY word ORDER BY 1"):
            print(*row)


if __name__ == "__main__":
    main()
