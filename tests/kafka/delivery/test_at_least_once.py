"""Records are written at least once, without transactions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.kafka.delivery.at_least_once import PlainProducers, plain_producers
from millstream.kafka.delivery.records import Records
from millstream.model.errors import KafkaError
from topics import new_topic, read, values


def test_a_process_has_its_producers_once():
    assert plain_producers() is plain_producers()


def test_records_have_arrived_when_the_call_returns(slice):
    some = [Records(["a"], keys=["k"]), Records(["b"])]
    PlainProducers().write(slice.connection, slice.topic, some)
    assert values(slice) == ["a", "b"]


def test_settings_of_transactions_have_no_effect(slice):
    theirs = {"group.id": "theirs", "transactional.id": "theirs"}
    connection = replace(slice.connection, settings=theirs)
    PlainProducers().write(connection, slice.topic, [Records(["a"])])
    assert values(slice) == ["a"]


def test_after_a_failure_the_next_records_are_written_by_another_producer(broker, slice):
    producers, topic = PlainProducers(), new_topic(broker.servers, max_message_bytes="1000")
    with pytest.raises(KafkaError, match="MS327.*(?s:.)*millstream topics alter"):
        producers.write(slice.connection, topic, [Records(["x" * 5000])])
    producers.write(slice.connection, topic, [Records(["short"])])
    assert [record.value for record in read(broker.servers, topic)] == ["short"]
