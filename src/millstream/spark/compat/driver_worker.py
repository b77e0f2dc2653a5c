"""The process in which Spark looks at a stateful operator; ``early_start`` has connected it."""

from __future__ import annotations

import socket
import sys
from typing import IO, Any, cast

from pyspark.sql.streaming import transform_with_state_driver_worker as spark_worker

from millstream.spark.compat.moved import reach


def check() -> None:
    reach(spark_worker, "main")


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as connection, connection.makefile("rwb") as file:
        both = cast(IO[Any], file)
        spark_worker.main(both, both)
