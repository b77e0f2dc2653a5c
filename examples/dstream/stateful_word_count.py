"""Keeps running counts of words with DStreams: by updateStateByKey, and by mapWithState.

The batches are (a), (a, b) and (b). updateStateByKey shows every word in every batch; mapWithState
shows only those that arrived.
"""

from __future__ import annotations

import argparse
import tempfile

from pyspark import SparkContext

from millstream.dstream import State, StateSpec, StreamingContext

BATCHES = [["a"], ["a", "b"], ["b"]]


def total(new: list[int], state: int | None) -> int:
    return sum(new) + (state or 0)


def counted(word: str, one: int | None, state: State) -> tuple[str, int]:
    state.update((state.getOption() or 0) + (one or 0))
    return word, state.get()


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    sc = SparkContext("local[2]", "stateful-word-count")
    sc.setLogLevel("ERROR")
    ssc = StreamingContext(sc, 1)
    ssc.checkpoint(tempfile.mkdtemp())
    pairs = ssc.queueStream(BATCHES).map(lambda word: (word, 1))

    everything = pairs.updateStateByKey(total)
    everything.foreachRDD(lambda rdd: print("all:", *sorted(rdd.collect())))
    arrived = pairs.mapWithState(StateSpec.function(counted))
    arrived.foreachRDD(lambda rdd: print("new:", *sorted(rdd.collect())))
    ssc.start()
    ssc.awaitTerminationOrTimeout(len(BATCHES) + 1)
    ssc.stop(stopSparkContext=True, stopGraceFully=True)


if __name__ == "__main__":
    main()
