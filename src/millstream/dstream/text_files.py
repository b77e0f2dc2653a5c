"""``saveAsTextFiles``: one folder for each batch, written once."""

from __future__ import annotations

from typing import Any

from pyspark import RDD

from millstream.dstream.hadoop import Files

_COMPLETE = "_SUCCESS"
"""What Hadoop writes last into a folder of output."""


def save(rdd: RDD[Any], folder: str) -> None:
    """Writes an RDD, unless a run before this one has written all of it.

    What such a run left incomplete is written again: a retried batch has the same elements.
    """
    files = Files(rdd.context)
    if files.exists(f"{folder}/{_COMPLETE}"):
        return
    files.delete(folder)
    rdd.saveAsTextFile(folder)
