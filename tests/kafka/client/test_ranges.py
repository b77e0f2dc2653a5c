"""Ranges of offsets are read exactly, whatever is between, before and after their records."""

from __future__ import annotations

from itertools import count

import pytest

from millstream.kafka.admin.topics import delete_records
from millstream.kafka.client import ranges
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position
from millstream.kafka.client.ranges import Range, RangeReader, reader_of
from millstream.model.errors import KafkaError
from topics import create_again, new_topic, put
from waiting import until


@pytest.fixture
def connection(broker):
    return Connection(broker.servers)


@pytest.fixture
def reader(connection):
    return RangeReader(connection)


def values(reader, *wanted, **how):
    """The values of each range, and in which order the partitions had turns."""
    found = {each.place: [] for each in wanted}
    turns = []
    for each, messages in reader.read(wanted, **how):
        found[each.place] += [message.value().decode() for message in messages]
        turns.append(each.partition)
    return [found[each.place] for each in wanted], turns


def only(reader, wanted, **how):
    (found,), _ = values(reader, wanted, **how)
    return found


def test_a_range_ends_where_it_says_and_the_next_continues(broker, reader):
    topic = new_topic(broker.servers)
    put(broker.servers, topic, map(str, range(100)))
    assert only(reader, Range(topic, 0, 0, 10)) == [str(n) for n in range(10)]
    assert reader._positions[topic, 0].at == 10
    assert only(reader, Range(topic, 0, 10, 95)) == [str(n) for n in range(10, 95)]
    put(broker.servers, topic, ["more"])
    assert only(reader, Range(topic, 0, 95, 101)) == ["95", "96", "97", "98", "99", "more"]


def test_a_range_is_read_again_and_another_is_read_that_does_not_continue(broker, reader):
    topic = new_topic(broker.servers)
    put(broker.servers, topic, map(str, range(50)))
    for start, end in ((10, 20), (10, 20), (0, 5), (40, 50), (45, 50)):
        assert only(reader, Range(topic, 0, start, end)) == [str(n) for n in range(start, end)]


def test_what_was_fetched_ahead_is_not_fetched_again(broker, reader, connection):
    topic = new_topic(broker.servers)
    put(broker.servers, topic, map(str, range(20)))
    assert only(reader, Range(topic, 0, 0, 10)) == [str(n) for n in range(10)]
    delete_records(connection, topic, Position("offset", 20))
    assert only(reader, Range(topic, 0, 10, 20)) == [str(n) for n in range(10, 20)]


def test_several_partitions_are_read_at_once_or_one_after_another(broker, reader):
    topic = new_topic(broker.servers, 3)
    for number in range(3):
        put(broker.servers, topic, [f"{number}-{n}" for n in range(2000)], number)
    wanted = [Range(topic, number, 0, 1500) for number in range(3)]
    expected = [[f"{number}-{n}" for n in range(1500)] for number in range(3)]
    assert values(reader, *wanted)[0] == expected
    rest = [Range(topic, number, 1500, 2000) for number in (2, 0, 1)]
    found, turns = values(reader, *rest, in_turn=True)
    assert found == [[f"{number}-{n}" for n in range(1500, 2000)] for number in (2, 0, 1)]
    assert sorted(set(turns), key=turns.index) == [2, 0, 1]
    assert turns == sorted(turns, key=[2, 0, 1].index), "a partition ends before another begins"


def test_too_much_that_is_ahead_is_given_up_and_fetched_again(broker, reader, monkeypatch):
    monkeypatch.setattr(ranges, "MOST_AHEAD", 100)
    topic = new_topic(broker.servers, 2)
    for number in range(2):
        put(broker.servers, topic, [f"{number}-{n}" for n in range(3000)], number)
    found, _ = values(reader, *(Range(topic, n, 0, 3000) for n in range(2)), in_turn=True)
    assert found == [[f"{number}-{n}" for n in range(3000)] for number in range(2)]
    assert all(len(each.ahead) <= 100 for each in reader._positions.values())


@pytest.fixture
def written(connection):
    """Writes values to a topic in a transaction, and commits or aborts it."""

    def begun(topic, *values):
        producer = connection.producer({"transactional.id": f"writes-{topic}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value)
        assert producer.flush(30) == 0
        return producer

    def written(topic, *values, commit=True):
        producer = begun(topic, *values)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)

    written.begun = begun
    return written


def test_offsets_without_records_are_passed_over(broker, reader, written):
    topic = new_topic(broker.servers)
    written(topic, "a", "b")  # 0 and 1; their transaction ends at 2
    written(topic, "aborted", "too", commit=False)  # 3 to 5
    written(topic, "c")  # 6, 7
    assert only(reader, Range(topic, 0, 0, 8)) == ["a", "b", "c"]
    assert only(reader, Range(topic, 0, 0, 6)) == ["a", "b"], "it ends among aborted records"
    assert only(reader, Range(topic, 0, 6, 8)) == ["c"]
    assert only(reader, Range(topic, 0, 7, 8)) == [], "only the end of a transaction"
    written(topic, "never", commit=False)  # 8, 9
    assert only(reader, Range(topic, 0, 8, 10)) == []
    assert only(reader, Range(topic, 0, 10, 10)) == []


def test_a_range_whose_end_the_client_has_reported_before_ends_at_once(
    broker, reader, written, monkeypatch
):
    monkeypatch.setattr(ranges, "_PATIENCE", 3.0)
    first, other = new_topic(broker.servers), new_topic(broker.servers)
    written(first, "a")  # at 0; the end of its transaction is at 1
    assert only(reader, Range(first, 0, 0, 1)) == ["a"]
    offsets = count()

    def reported():  # while another partition is read, and only once
        put(broker.servers, other, ["x"])
        at = next(offsets)
        values(reader, Range(first, 0, 1, 1), Range(other, 0, at, at + 1))
        return reader._positions[first, 0].end == 2

    until(reported)
    assert only(reader, Range(first, 0, 1, 2)) == []


def test_an_open_transaction_ends_what_can_be_read(broker, reader, written):
    topic = new_topic(broker.servers)
    written(topic, "a")
    producer = written.begun(topic, "open")
    assert only(reader, Range(topic, 0, 0, 2)) == ["a"]
    producer.commit_transaction(30)
    assert only(reader, Range(topic, 0, 2, 4)) == ["open"]


def test_records_that_compaction_took_are_passed_over(broker, reader, connection):
    topic = new_topic(
        broker.servers, cleanup_policy="compact", segment_bytes="1048576",
        min_cleanable_dirty_ratio="0.001", segment_ms="100", max_compaction_lag_ms="100",
        delete_retention_ms="100",
    )  # fmt: skip
    put(broker.servers, topic, [("k", f"{n}") for n in range(20)])
    put(broker.servers, topic, [("other", "x" * 1000) for _ in range(5)])

    def compacted():
        put(broker.servers, topic, [("tick", "t")])
        fresh = RangeReader(connection)
        return len(only(fresh, Range(topic, 0, 0, 25))) < 25

    until(compacted)
    found = only(reader, Range(topic, 0, 0, 25))
    assert found[-1] in ("19", "x" * 1000)
    assert len(found) < 25


def test_records_that_are_gone_are_an_error_or_left_out(broker, connection, trimmed):
    lost = Range(trimmed, 0, 5, 15)
    with pytest.raises(KafkaError, match=r"MS350.*offsets 5 to 15.* has 10 to 20"):
        only(RangeReader(connection), lost)
    left = [str(n) for n in range(10, 15)]
    assert only(RangeReader(connection), lost, skip_lost=True) == left
    assert only(RangeReader(connection), Range(trimmed, 0, 2, 8), skip_lost=True) == []


def test_a_reader_that_has_failed_reads_on(broker, connection, trimmed):
    reader = RangeReader(connection)
    with pytest.raises(KafkaError, match="MS350"):
        only(reader, Range(trimmed, 0, 0, 5))
    assert only(reader, Range(trimmed, 0, 10, 12)) == ["10", "11"]


def test_a_topic_that_was_created_again_has_no_old_offsets(broker, reader, monkeypatch):
    monkeypatch.setattr(ranges, "_ENDED", 1.0)
    topic = new_topic(broker.servers)
    put(broker.servers, topic, map(str, range(10)))
    assert only(reader, Range(topic, 0, 0, 10)) == [str(n) for n in range(10)]
    create_again(broker.servers, topic)
    put(broker.servers, topic, ["new"])
    with pytest.raises(KafkaError, match=r"MS350|MS321"):
        only(reader, Range(topic, 0, 10, 12))


def test_a_source_has_one_reader_in_a_process_and_there_are_not_many(connection):
    first = reader_of(connection, "scores")
    assert reader_of(Connection(connection.servers), "scores") is first
    other = Connection(connection.servers, {"client.id": "another"})
    assert reader_of(other, "scores") is not first
    assert reader_of(connection, "bonus") is not first
    for number in range(8):
        reader_of(connection, f"source-{number}")
    assert reader_of(connection, "scores") is not first, "the oldest was closed"
    assert len(ranges._readers) == 8
