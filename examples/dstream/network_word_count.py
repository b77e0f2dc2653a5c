"""Counts the words of each second that a server sends, with DStreams.

The server runs here as well, on a port of its own, and sends a line every tenth of a second.
"""

from __future__ import annotations

import argparse
import socket
import threading
import time

from pyspark import SparkContext

from millstream.dstream import StreamingContext

LINES = ["the mill stands by the stream", "the stream turns the wheel", "late grain is grain"]


def serve(server: socket.socket) -> None:
    """Sends lines to whoever connects, until that one has gone."""
    connection, _ = server.accept()
    with connection:
        for number in range(10_000):
            try:
                connection.sendall(f"{LINES[number % len(LINES)]}\n".encode())
            except OSError:
                return
            time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="how long it runs")
    seconds = parser.parse_args().seconds

    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server,), daemon=True).start()

    sc = SparkContext("local[2]", "network-word-count")
    sc.setLogLevel("ERROR")
    ssc = StreamingContext(sc, 1)
    lines = ssc.socketTextStream(*server.getsockname())
    words = lines.flatMap(lambda line: line.split(" "))
    counts = words.map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
    counts.pprint()
    ssc.start()
    ssc.awaitTerminationOrTimeout(seconds)
    ssc.stop(stopSparkContext=True, stopGraceFully=True)


if __name__ == "__main__":
    main()
