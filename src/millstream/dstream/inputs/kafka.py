"""``kafkaStream``: the records of Kafka topics, by ranges of offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark import RDD

from millstream.dstream.graph.node import unusable
from millstream.dstream.inputs.input import Info, Input, Tell
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.positions import BEGINNING, END, offsets_at

_STARTS = {"earliest": BEGINNING, "smallest": BEGINNING, "latest": END, "largest": END}

Decoder = Callable[[bytes | None], Any]
Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""
Range = tuple[str, int, int, int]
"""A topic, a partition, the first offset, and the one after the last."""


def utf8_decoder(data: bytes | None) -> str | None:
    """Text of bytes in UTF-8; None stays None.

    >>> utf8_decoder("é".encode()), utf8_decoder(None)
    ('é', None)
    """
    return None if data is None else data.decode("utf-8")


class KafkaInput(Input):
    """Pairs of key and value. What was taken are ranges of offsets, one partition of an RDD each.

    A batch ends each partition where it ends when the batch begins, before open transactions.
    """

    def __init__(
        self,
        slide: int,
        topics: Sequence[str],
        settings: Mapping[str, Any],
        offsets: Mapping[Partition, int],
        decoders: tuple[Decoder, Decoder],
    ) -> None:
        super().__init__(slide)
        self._topics = list(topics)
        self._settings = {str(name): value for name, value in settings.items()}
        start = self._settings.pop("auto.offset.reset", "latest")
        if start not in _STARTS or "bootstrap.servers" not in self._settings:
            raise unusable(
                "kafkaStream needs bootstrap.servers, and an auto.offset.reset that it knows",
                'write {"bootstrap.servers": "HOST:PORT", "auto.offset.reset": "earliest"}',
            )
        self._start = _STARTS[start]
        self._decoders = decoders
        self._offsets = dict(offsets)

    def open(self, folder: str | None, tell: Tell) -> None:
        self._connection = Connection(self._settings["bootstrap.servers"], self._settings)
        for each, offset in self._at(self._start).items():
            self._offsets.setdefault(each, offset)

    def _at(self, position: Any) -> dict[Partition, int]:
        """The offset of a position in each partition that the topics have now."""
        connection = self._connection
        found = [each for topic in self._topics for each in partitions_of(connection, topic)]
        offsets = offsets_at(connection.admin, found, position, committed=True)
        return {(each.topic, each.partition): offset for each, offset in offsets.items()}

    def take(self, time: int) -> Any:
        ends = self._at(END)
        taken = [
            (*each, self._offsets.get(each, 0), end)  # a new partition begins with its first
            for each, end in sorted(ends.items())
            if self._offsets.get(each, 0) < end
        ]
        self._offsets |= ends
        return taken

    def described(self, taken: Any) -> Info:
        lines = [f"topic: {t}\tpartition: {p}\toffsets: {a} to {b}" for t, p, a, b in taken]
        count = sum(end - begin for _, _, begin, end in taken)
        return count, {"offsets": taken, "Description": "\n".join(lines)}

    def read(self, taken: Any) -> RDD[Any]:
        if not taken:
            return self.graph.context.emptyRDD()
        settings, (decode_key, decode_value) = self._settings, self._decoders

        def pairs(each: Range) -> Iterator[tuple[Any, Any]]:
            for key, value in records(settings, each):
                yield decode_key(key), decode_value(value)

        return self.graph.context.parallelize(taken, len(taken)).flatMap(pairs)

    def position(self) -> Any:
        return dict(self._offsets)

    def resume(self, position: Any) -> None:
        self._offsets = position

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_connection", None)
        return state


def records(settings: Mapping[str, Any], part: Range) -> Iterator[tuple[Any, Any]]:
    """Keys and values in a range of offsets; runs in Spark's workers."""
    # Classes in C cannot be sent to workers.
    from confluent_kafka import Consumer, KafkaException, TopicPartition
    from confluent_kafka import KafkaError as Failure

    topic, partition, begin, end = part
    consumer = Consumer(
        {"group.id": "millstream-dstream", **settings}
        | {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error"}
    )
    consumer.assign([TopicPartition(topic, partition, begin)])
    try:
        while True:
            for message in consumer.consume(10_000, timeout=1):
                failure = message.error()
                if failure is not None and failure.code() != Failure._PARTITION_EOF:
                    raise KafkaException(failure)
                if failure is not None or (message.offset() or 0) >= end:
                    return  # offsets before the end may have no records, but those of Kafka itself
                yield message.key(), message.value()
    finally:
        consumer.close()
