"""Counts the words of a Kafka topic, with DStreams, on a local broker that it starts and stops.

Each batch reads a range of offsets, and a program that is resumed continues after the last one.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark import SparkContext

from millstream.dstream import StreamingContext
from millstream.kafka import local

LINES = ["the mill stands by the stream", "the stream turns the wheel", "late grain is grain"]


def send(servers: str) -> None:
    """Writes a line every half second."""
    producer = Producer({"bootstrap.servers": servers})
    for number in range(1_000):
        producer.produce("lines", LINES[number % len(LINES)])
        producer.flush()
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8, help="how long it runs")
    seconds = parser.parse_args().seconds

    with tempfile.TemporaryDirectory() as folder:
        cluster = local.up(port=0, data=folder)
        try:
            count_words(cluster.servers, seconds)
        finally:
            local.down(folder)


def count_words(servers: str, seconds: float) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("lines", 1)])["lines"].result()
    threading.Thread(target=send, args=(servers,), daemon=True).start()

    sc = SparkContext("local[2]", "kafka-word-count")
    sc.setLogLevel("ERROR")
    ssc = StreamingContext(sc, 1)
    settings = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
    records = ssc.kafkaStream(["lines"], settings)
    records.flatMap(lambda record: record[1].split(" ")).countByValue().pprint()
    ssc.start()
    ssc.awaitTerminationOrTimeout(seconds)
    ssc.stop(stopSparkContext=True, stopGraceFully=True)


if __name__ == "__main__":
    main()
