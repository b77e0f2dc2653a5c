"""The state that a stateful DStream begins with: an RDD, or what one is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark import RDD, SparkContext


class InitialState:
    """Pairs of keys and states.

    A checkpoint has them as a list, since RDDs end with their SparkContext: those of an RDD are
    collected when the program is written, before it starts.
    """

    def __init__(self, pairs: RDD[Any] | Iterable[Any]) -> None:
        self._pairs = pairs if isinstance(pairs, RDD) else list(pairs)

    def rdd(self, context: SparkContext) -> RDD[Any]:
        """The pairs as an RDD."""
        if isinstance(self._pairs, RDD):
            return self._pairs
        return context.parallelize(self._pairs)

    def __getstate__(self) -> dict[str, Any]:
        pairs = self._pairs
        return {"_pairs": pairs.collect() if isinstance(pairs, RDD) else pairs}
