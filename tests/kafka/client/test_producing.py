"""Writing records where no broker takes them."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.producing import Deliveries, Lines, produce
from millstream.kafka.client.records import NewRecord
from millstream.model.errors import KafkaError


def test_who_is_in_a_hurry_does_not_wait_for_a_full_queue():
    settings = {"queue.buffering.max.messages": 2, "message.timeout.ms": 5000}
    producer = Connection("127.0.0.1:1").producer(settings)
    deliveries = Deliveries()
    records = [NewRecord(b"x")] * 4
    produce(producer, "scores", records, lambda _: -1, deliveries, hurry=lambda: 2)
    assert deliveries.failures == {"Local: Purged in queue": [(1, 4)]}


def test_every_line_that_did_not_arrive_is_named_with_its_reason():
    told: list[str] = []
    deliveries = Deliveries(told.append)
    too_large, late = Failure(Failure.MSG_SIZE_TOO_LARGE), Failure(Failure._MSG_TIMED_OUT)
    for line in range(1, 21):
        deliveries.report(line, None if line == 3 else too_large if line % 20 else late)
    assert told == [
        f"line {line} did not arrive: Broker: Message size too large"
        for line in (1, 2, *range(4, 12))
    ]
    with pytest.raises(KafkaError) as error:
        deliveries.check()
    assert error.value.what == (
        "19 of 20 records did not arrive: lines 1-2, 4-19 (Broker: Message size too large); "
        "line 20 (Local: Message timed out)"
    )


def test_a_separator_may_be_bytes_that_are_no_text():
    lines = Lines(key_separator=b"\xff")
    [record] = lines.records([b"a\xffb"])
    assert (record.key, record.value) == (b"a", b"b")
    with pytest.raises(KafkaError, match="MS326: line 1 cannot be read, it has no key separator"):
        list(lines.records([b"ab"]))
