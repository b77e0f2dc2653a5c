"""Runs Python for Spark. A worker that Spark waits for connects here, before it imports anything.

At the start of a stateful query, Spark starts a Python process that looks at each stateful
operator, and gives it ten seconds to connect. What that process imports takes one or two seconds of
a core, so on a busy machine a start failed now and then. To connect takes some hundredths of one.

This file is run as a script, by a Python that knows none of the installed packages (-I -S).
"""

import os
import socket
import struct
import sys

_WAITED_FOR = "pyspark.sql.streaming.transform_with_state_driver_worker"
_PLACE = "PYTHON_WORKER_FACTORY_SOCK_PATH"


def command(arguments: list[str]) -> list[str]:
    """What to run in place of Python with these arguments."""
    if arguments != ["-m", _WAITED_FOR] or _PLACE not in os.environ:
        return [sys.executable, *arguments]
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(os.environ[_PLACE])
    connection.sendall(struct.pack("!i", os.getpid()))  # which stays the same
    os.set_inheritable(connection.fileno(), True)
    return [sys.executable, "-m", "millstream.spark.compat.driver_worker", str(connection.detach())]


if __name__ == "__main__":
    os.execv(sys.executable, command(sys.argv[1:]))
