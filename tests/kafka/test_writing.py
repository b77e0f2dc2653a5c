"""Slices are written once, whoever writes them, and a zombie writes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException

from millstream.kafka import writing
from millstream.kafka.admin.topics import add_partitions
from millstream.kafka.client.connection import Connection
from millstream.kafka.writing import (
    Place,
    Records,
    expect,
    prepare_markers,
    write_once,
    write_some,
)
from millstream.model.errors import KafkaError
from topics import new_topic, read


@pytest.fixture
def place(broker, request):
    connection = Connection(broker.servers)
    prepare_markers(connection, 8)
    return Place(connection, new_topic(broker.servers, 2), f"group-{request.node.name}", 3)


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    writing._opened.clear()
    writing._spares.clear()
    writing._expected.clear()


def values(place):
    return sorted(record.value for record in read(place.connection.servers, place.topic))


def test_a_slice_that_is_written_again_is_left(place):
    assert write_once(place, 0, [Records(["a", "b"])])
    assert not write_once(place, 0, [Records(["a", "b"])])
    assert write_once(place, 1, [Records(["c"], keys=["k"])])
    writing._opened.clear()  # another process, later
    assert not write_once(place, 1, [Records(["c"], keys=["k"])])
    assert write_once(place, 2, [Records([None], headers=[[("kind", "-"), ("n", None)]])])
    assert [r.value for r in read(place.connection.servers, place.topic)].count(None) == 1
    assert sorted(filter(None, (r.value for r in read(place.connection.servers, place.topic)))) == [
        "a", "b", "c",
    ]  # fmt: skip


def test_records_have_any_of_keys_headers_and_partitions(place):
    some = [
        Records(["a", "b"], hashes=[1, 0]),
        Records(["c", "d"], keys=["k", "l"], hashes=[5, 7]),
        Records(["e", "f"], headers=[[("n", "1")], [("n", "2")]]),
    ]
    assert write_once(place, 0, some)
    assert values(place) == list("abcdef")
    found = {r.value: r.partition for r in read(place.connection.servers, place.topic)}
    assert [found[each] for each in "abcd"] == [1, 0, 1, 1]


def test_a_hash_chooses_among_the_partitions_that_are_there_when_it_is_written(place):
    assert write_once(place, 0, [Records(["a"], hashes=[2])])
    add_partitions(place.connection, place.topic, 3)
    assert write_once(place, 1, [Records(["b"], hashes=[2])])
    write_some(place.connection, place.topic, [Records(["c"], hashes=[2])])
    found = {r.value: r.partition for r in read(place.connection.servers, place.topic)}
    assert found == {"a": 0, "b": 2, "c": 2}


def test_a_group_in_the_settings_of_two_sinks_does_not_make_one_of_them(broker, place):
    theirs = Connection(broker.servers, {"group.id": "theirs", "transactional.id": "theirs"})
    for name in ("one", "other"):
        sink = Place(theirs, place.topic, f"{place.group}-{name}", 0)
        assert write_once(sink, 0, [Records([name])])
    write_some(theirs, place.topic, [Records(["simple"])])
    assert values(place) == ["one", "other", "simple"]


class SlowProducer:
    """Stands in for one whose brokers take what is ``left`` bit by bit, a bit for each try."""

    def __init__(self, *left: int) -> None:
        self.left = list(left)

    def __len__(self) -> int:
        return self.left[0]

    def commit_transaction(self, _seconds: float) -> None:
        if len(self.left) > 1:
            self.left.pop(0)
            raise KafkaException(Failure(Failure._TIMED_OUT, "some are left", retriable=True))


def test_a_commit_goes_on_for_as_long_as_records_arrive():
    slow = SlowProducer(100, 60, 20, 0)
    writing._commit(slow)
    assert len(slow) == 0


def test_a_commit_is_given_up_when_nothing_arrives():
    stuck = SlowProducer(100, 60, 60, 0)
    with pytest.raises(KafkaException, match="some are left"):
        writing._commit(stuck)


def test_one_who_dies_before_the_commit_leaves_nothing_that_readers_see(place):
    dead = writing._open(place)
    dead.producer.begin_transaction()
    dead.producer.produce(place.topic, "half")
    dead.producer.flush(10)
    writing._opened.clear()
    assert write_once(place, 0, [Records(["whole"])])
    assert values(place) == ["whole"]


def test_a_zombie_that_wakes_up_cannot_write(place):
    assert write_once(place, 0, [Records(["first"])])
    zombie = writing._opened.pop(place.id)
    assert write_once(place, 1, [Records(["second"])])  # by the one who took its place
    with pytest.raises(Exception, match="fenced|FENCED|epoch"):
        writing._transact(place, zombie, 1, [Records(["second, by a zombie"])])
    assert values(place) == ["first", "second"]
    # It may come back by the door: then it finds what was written, and leaves it.
    writing._opened[place.id] = zombie
    assert not write_once(place, 1, [Records(["second, by a zombie"])])
    assert values(place) == ["first", "second"]


@pytest.mark.parametrize("told_before", [False, True])
def test_slices_that_go_to_and_fro_are_written_once_by_whoever_has_them(
    place, monkeypatch, told_before
):
    slices = [place, replace(place, number=4)]
    workers: list[dict] = [{}, {}]
    for batch, swapped in enumerate([False, True, False, False, True, True, False]):
        for slice, worker in zip(slices, workers[:: -1 if swapped else 1], strict=True):
            for name in ("_opened", "_spares", "_expected"):
                monkeypatch.setattr(writing, name, worker.setdefault(name, {}))
            spare = writing._spares.get(slice.id)
            if told_before:
                expect(slice, batch)
                # Who has had it last need not open it, and who has no spare does so in its time.
                assert (slice.id in writing._expected) == (spare is not None)
            assert write_once(slice, batch, [Records([f"{slice.number}, {batch}"])])
            mine = writing._opened[slice.id].producer
            assert spare is None or spare.result() is mine
            assert not write_once(slice, batch, [Records(["again"])])
            # Whoever had the other slice the last time is connected for when it comes back.
            assert set(writing._spares) == set(writing._opened) - {slice.id}
    assert values(place) == sorted(f"{s.number}, {b}" for s in slices for b in range(7))


def test_a_slice_that_is_expected_is_taken_from_who_had_it_before_its_rows_are_there(place):
    assert write_once(place, 0, [Records(["first"])])
    before = writing._opened[place.id]
    writing._spares[place.id] = writing._background().submit(writing._connected, place)
    before.marker = 0  # as if another had written the batch
    expect(place, 1)
    writing._expected[place.id].result()
    with pytest.raises(Exception, match="fenced|FENCED|epoch"):
        writing._transact(place, before, 1, [Records(["by a zombie"])])
    assert write_once(place, 1, [Records(["second"])])
    assert values(place) == ["first", "second"]


def test_what_was_expected_in_vain_does_not_keep_a_slice_from_being_written(place):
    def unreachable() -> None:
        raise KafkaException(Failure(Failure._TRANSPORT))

    writing._expected[place.id] = writing._background().submit(unreachable)
    assert write_once(place, 0, [Records(["a"])])
    assert values(place) == ["a"]


def test_a_zombie_that_was_left_far_behind_is_told(place):
    for batch in range(3):
        assert write_once(place, batch, [Records([str(batch)])])
    writing._opened.clear()
    with pytest.raises(KafkaError, match="MS351: batch 1 .* which has batch 2 of this job"):
        write_once(place, 1, [Records(["1, by a zombie"])])
    assert not write_once(place, 2, [Records(["2"])])
    assert values(place) == ["0", "1", "2"]


def test_markers_grow_with_the_slices(broker):
    connection = Connection(broker.servers)
    prepare_markers(connection, 8)
    prepare_markers(connection, 60)
    there = connection.admin.list_topics(timeout=10).topics[writing.MARKERS].partitions
    assert len(there) >= 60


def test_a_record_that_is_too_long_is_told_with_what_to_do(broker, place):
    topic = new_topic(broker.servers, max_message_bytes="1000")
    long = Place(place.connection, topic, "group-long", 0)
    with pytest.raises(KafkaError, match="MS327.*(?s:.)*millstream topics alter"):
        write_once(long, 0, [Records(["x" * 5000])])
    with pytest.raises(KafkaError, match="MS327"):
        write_some(place.connection, topic, [Records(["x" * 5000])])
    assert read(broker.servers, topic) == []


def test_records_are_written_at_least_once_without_transactions(broker, place):
    write_some(place.connection, place.topic, [Records(["a"], keys=["k"]), Records(["b"])])
    assert values(place) == ["a", "b"]


def test_many_records_fit_into_a_slice(place):
    many = [str(number) for number in range(150_000)]
    assert write_once(place, 0, [Records(many, keys=many)])
    assert values(place) == sorted(many)
