"""An open slice is written in one transaction, by the last producer that opened it."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException

from millstream.kafka.delivery.open_slice import commit, connect, open_slice
from millstream.kafka.delivery.records import Records
from topics import values


class SlowProducer:
    """Takes the place of one whose brokers take what is ``left`` bit by bit, one for each try."""

    def __init__(self, *left: int) -> None:
        self.left = list(left)

    def __len__(self) -> int:
        return self.left[0]

    def commit_transaction(self, _seconds: float) -> None:
        if len(self.left) > 1:
            self.left.pop(0)
            raise KafkaException(Failure(Failure._TIMED_OUT, "some are left", retriable=True))


def test_a_commit_continues_for_as_long_as_records_arrive():
    slow = SlowProducer(100, 60, 20, 0)
    commit(slow)
    assert len(slow) == 0


def test_a_commit_fails_when_no_more_records_arrive():
    stuck = SlowProducer(100, 60, 60, 0)
    with pytest.raises(KafkaException, match="some are left"):
        commit(stuck)


def test_the_marker_of_a_slice_is_the_batch_to_write_next(slice, markers):
    first = open_slice(slice, connect(slice), markers)
    assert first.marker == 0
    first.write(6, [Records(["a"])], markers)
    assert first.marker == 7
    assert open_slice(slice, connect(slice), markers).marker == 7


def test_a_producer_that_ends_before_the_commit_leaves_nothing_that_readers_see(slice, markers):
    dead = open_slice(slice, connect(slice), markers)
    dead.producer.begin_transaction()
    dead.producer.produce(slice.topic, "half")
    dead.producer.flush(10)
    open_slice(slice, connect(slice), markers).write(0, [Records(["whole"])], markers)
    assert values(slice) == ["whole"]


def test_a_producer_that_was_fenced_off_cannot_write(slice, markers):
    fenced = open_slice(slice, connect(slice), markers)
    fenced.write(0, [Records(["first"])], markers)
    open_slice(slice, connect(slice), markers).write(1, [Records(["second"])], markers)
    with pytest.raises(KafkaException, match="(?i)fenced|epoch"):
        fenced.write(1, [Records(["second, by the fenced one"])], markers)
    assert values(slice) == ["first", "second"]
