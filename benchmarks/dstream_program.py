"""One contender of ``--dstream``: runs DStream programs, and prints what it measured as JSON.

Arguments: the module that has ``StreamingContext``, a folder, and the sizes of a batch.
"""

from __future__ import annotations

import importlib
import json
import operator
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

from pyspark import SparkContext

from millstream.spark.driver.session import local_session

AT_ONCE = 0.1
"""Seconds: an interval that no batch keeps up with, so that batches follow without a pause."""
SLIDES = 10
WARM_UP = 4
Batch = tuple[float, float, int]
"""When a batch was to run, when it was done, and the sum of its counts."""


class Programs:
    """Runs programs for some batches each, and stops them."""

    def __init__(self, module: str, folder: str, keys: int, batches: int) -> None:
        self._context_class = importlib.import_module(module).StreamingContext
        self._spark: SparkContext = local_session("dstreams").sparkContext
        self._spark.setLogLevel("OFF")
        self._spark.setCheckpointDir(folder)
        self._keys = keys
        self._batches = WARM_UP + batches

    def run(self, interval: float, make: Callable[[Any], Any], done: Callable[..., bool]) -> Any:
        """The batches of the counts that a function makes, until there are enough."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # PySpark's own is deprecated
            ssc = self._context_class(self._spark, interval)
        found: list[Batch] = []

        def measure(due: Any, rdd: Any) -> None:
            total = rdd.values().sum()
            found.append((due.timestamp(), time.time(), total))

        make(ssc).foreachRDD(measure)
        ssc.start()
        while not done(found):
            if ssc.awaitTerminationOrTimeout(0.02):
                raise RuntimeError("the program has stopped")
        ssc.stop(False)
        return found

    def queue_of_lines(self, ssc: Any) -> Any:
        """Lines of ten words, as many words as keys in each batch."""
        lines = [" ".join(f"word{10 * n + i}" for i in range(10)) for n in range(self._keys // 10)]
        batch = self._spark.parallelize(lines, 2).cache()
        batch.count()
        return ssc.queueStream([batch] * (self._batches + 1))

    def words(self, ssc: Any) -> Any:
        pairs = self.queue_of_lines(ssc).flatMap(str.split).map(lambda word: (word, 1))
        return pairs.reduceByKey(operator.add)

    def windows(self, interval: float, inverse: Any) -> Callable[[Any], Any]:
        """Counts of all keys over the last batches."""

        def make(ssc: Any) -> Any:
            pairs = self.queue_of_lines(ssc).flatMap(str.split).map(lambda word: (word, 1))
            return pairs.reduceByKeyAndWindow(operator.add, inverse, SLIDES * interval, interval, 2)

        return make

    def enough(self, found: list[Batch]) -> bool:
        return len(found) >= self._batches

    def at_once(self, make: Callable[[Any], Any], slides: int) -> dict[str, float]:
        """The time of a batch, where the next is always due."""
        found = self.run(AT_ONCE, make, self.enough)[: self._batches]
        for number, (_, _, total) in enumerate(found, start=1):
            expected = self._keys * min(number, slides)
            if total != expected:
                raise AssertionError(f"batch {number}: {total} and not {expected} words")
        done = [end for _, end, _ in found[max(WARM_UP, slides) - 1 :]]
        seconds = (done[-1] - done[0]) / (len(done) - 1)
        return {"seconds": seconds, "records/s": self._keys / seconds}

    def latency(self) -> dict[str, float]:
        """From the time of a batch to its end, at intervals of a second."""
        found = self.run(1, self.words, self.enough)
        return {"seconds": median(end - due for due, end, _ in found[WARM_UP:])}

    def socket(self, records: int) -> dict[str, float]:
        """Words of a socket at intervals of a second, as fast as they are taken."""
        server = socket.create_server(("127.0.0.1", 0))
        lines = "".join(f"word{n}\n" for n in range(self._keys)).encode()
        began: list[float] = []

        def send() -> None:
            connection = server.accept()[0]
            began.append(time.time())
            for _ in range(records // self._keys):
                connection.sendall(lines)
            time.sleep(60)

        threading.Thread(target=send, daemon=True).start()

        def make(ssc: Any) -> Any:
            words = ssc.socketTextStream(*server.getsockname()[:2])
            return words.map(lambda word: (word, 1)).reduceByKey(operator.add)

        def all_done(found: list[Batch]) -> bool:
            return sum(total for _, _, total in found) >= records

        found = self.run(1, make, all_done)
        server.close()
        seconds = max(end for _, end, total in found if total) - began[0]
        return {"seconds": seconds, "records/s": records / seconds}


def main(module: str, folder: str, keys: str, batches: str, records: str) -> None:
    programs = Programs(module, folder, int(keys), int(batches))
    subtract: Any = operator.sub
    measured = {
        "queue": programs.at_once(programs.words, 1),
        "inverse": programs.at_once(programs.windows(AT_ONCE, subtract), SLIDES),
        "no inverse": programs.at_once(programs.windows(AT_ONCE, None), SLIDES),
        "socket": programs.socket(int(records)),
        "latency": programs.latency(),
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main(*sys.argv[1:])
