"""Slices are written once, whichever process writes them, and a fenced process writes nothing."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException

from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.open_slice import connect
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import Transactions, transactions
from millstream.model.errors import KafkaError
from topics import new_topic, read, values


@pytest.fixture
def process() -> Transactions:
    """The transactions of one worker process."""
    return Transactions()


def test_a_process_has_its_transactions_once():
    assert transactions() is transactions()


def test_a_slice_that_is_written_again_is_left_as_it_is(process, slice):
    assert process.write(slice, 0, [Records(["a", "b"])])
    assert not process.write(slice, 0, [Records(["a", "b"])])
    assert process.write(slice, 1, [Records(["c"], keys=["k"])])
    later = Transactions()
    assert not later.write(slice, 1, [Records(["c"], keys=["k"])])
    assert later.write(slice, 2, [Records(["d"])])
    assert values(slice) == ["a", "b", "c", "d"]


def test_a_group_in_the_settings_of_two_sinks_does_not_make_them_one(process, slice):
    settings = {"group.id": "theirs", "transactional.id": "theirs"}
    theirs = replace(slice.connection, settings=settings)
    for name in ("one", "other"):
        sink = KafkaSlice(theirs, slice.topic, f"{slice.group}-{name}", 0)
        assert process.write(sink, 0, [Records([name])])
    assert values(slice) == ["one", "other"]


def test_a_fenced_process_that_writes_its_batch_again_finds_it_written(process, slice):
    assert process.write(slice, 0, [Records(["first"])])
    assert Transactions().write(slice, 1, [Records(["second"])])
    assert not process.write(slice, 1, [Records(["second, by a fenced process"])])
    assert values(slice) == ["first", "second"]


@pytest.mark.parametrize("expected", [False, True])
def test_slices_that_change_places_are_written_once_by_whoever_has_them(slice, expected):
    slices = [slice, replace(slice, number=4)]
    workers = [Transactions(), Transactions()]
    for batch, swapped in enumerate([False, True, False, False, True, True, False]):
        for each, worker in zip(slices, workers[:: -1 if swapped else 1], strict=True):
            id = each.transactional_id
            spare = worker._spares.get(id)
            if expected:
                worker.expect(each, batch)
                # Who has had it last need not open it, and without a spare it is opened later.
                assert (id in worker._expected) == (spare is not None)
            assert worker.write(each, batch, [Records([f"{each.number}, {batch}"])])
            assert spare is None or spare.result() is worker._open[id].producer
            assert not worker.write(each, batch, [Records(["again"])])
            # Whoever had the other slice the last time is connected for when it comes back.
            assert set(worker._spares) == set(worker._open) - {id}
    assert values(slice) == sorted(f"{each.number}, {b}" for each in slices for b in range(7))


def test_an_expected_slice_is_taken_from_who_had_it_before_its_rows_are_there(
    process, slice, markers
):
    other = Transactions()
    assert process.write(slice, 0, [Records(["first"])])
    before = process._open[slice.transactional_id]
    other._spares[slice.transactional_id] = spare = Future()
    spare.set_result(connect(slice))
    other.expect(slice, 1)
    other._expected[slice.transactional_id].result()
    with pytest.raises(KafkaException, match="(?i)fenced|epoch"):
        before.write(1, [Records(["by a fenced process"])], markers)
    assert other.write(slice, 1, [Records(["second"])])
    assert values(slice) == ["first", "second"]


def test_a_failure_to_open_an_expected_slice_does_not_keep_it_from_being_written(process, slice):
    process._expected[slice.transactional_id] = unreachable = Future()
    unreachable.set_exception(KafkaException(Failure(Failure._TRANSPORT)))
    assert process.write(slice, 0, [Records(["a"])])
    assert values(slice) == ["a"]


def test_a_process_that_was_left_far_behind_is_refused(process, slice):
    for batch in range(3):
        assert process.write(slice, batch, [Records([str(batch)])])
    with pytest.raises(KafkaError, match="MS351: batch 1 .* which has batch 2 of this job"):
        Transactions().write(slice, 1, [Records(["1, by a fenced process"])])
    assert not Transactions().write(slice, 2, [Records(["2"])])
    assert values(slice) == ["0", "1", "2"]


def test_a_record_that_is_too_long_is_an_error_that_names_the_setting(process, broker, slice):
    topic = new_topic(broker.servers, max_message_bytes="1000")
    with pytest.raises(KafkaError, match="MS327.*(?s:.)*millstream topics alter"):
        process.write(replace(slice, topic=topic), 0, [Records(["x" * 5000])])
    assert read(broker.servers, topic) == []


def test_after_a_failure_the_slice_is_opened_again_and_written_once(process, slice):
    assert process.write(slice, 0, [Records(["first"])])
    mine = process._open[slice.transactional_id]
    mine.producer.begin_transaction()  # so that beginning again fails
    assert process.write(slice, 1, [Records(["second"])])
    assert process._open[slice.transactional_id] is not mine
    assert values(slice) == ["first", "second"]
