"""Runs one DStream program on ``millstream.dstream`` and on ``pyspark.streaming`` alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyspark import RDD, SparkContext

from waiting import until

INTERVAL = 0.5

Outputs = dict[str, Any]
"""DStreams by the names of what they show."""
Program = Callable[[Any], Outputs]
"""What makes DStreams of a StreamingContext."""


def batches_of(module: ModuleType, context: SparkContext, program: Program, count: int) -> Any:
    """What each DStream of a program has in each batch: by number of the batch, then by name.

    The order within a batch is left out: it depends on which task was faster. All DStreams are
    collected in one job, by the last output of a batch.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PySpark's own is deprecated
        ssc = module.StreamingContext(context, INTERVAL)
    waiting: dict[str, RDD[Any]] = {}
    batches: list[dict[str, list[Any]]] = []

    def collect(_: Any) -> None:
        tagged = [rdd.map(lambda each, n=name: (n, each)) for name, rdd in waiting.items()]
        found: dict[str, list[Any]] = {name: [] for name in waiting}
        for name, element in context.union(tagged).collect():
            found[name].append(element)
        batches.append({name: sorted(elements, key=repr) for name, elements in found.items()})
        waiting.clear()

    for name, stream in program(ssc).items():
        stream.foreachRDD(_keeper(waiting, name))
    ssc.queueStream([[0]]).foreachRDD(collect)
    ssc.start()
    try:
        until(lambda: ssc.awaitTerminationOrTimeout(0) or len(batches) >= count)
    finally:
        ssc.stop(False)
    return batches[:count]


def _keeper(waiting: dict[str, RDD[Any]], name: str) -> Callable[[RDD[Any]], None]:
    def keep(rdd: RDD[Any]) -> None:
        waiting[name] = rdd

    return keep
