"""How far a batch reads: to the ends of all partitions, or to its share of what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import topics
from millstream.kafka.admin.topics import add_partitions, create_topic, delete_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.model.errors import KafkaError
from millstream.spark.sources import kafka_ends
from millstream.spark.sources.kafka_ends import Ends, limited
from waiting import until

SIZES = st.lists(st.integers(0, 1000), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 500))
def test_a_limit_is_shared_by_what_is_left_of_each_partition(sizes, most):
    start = {("t", n): 10 * n for n in range(len(sizes))}
    ends = {place: start[place] + size for place, size in zip(start, sizes, strict=True)}
    found = limited(start, ends, most)
    shares = [found[place] - start[place] for place in start]
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    assert sum(shares) <= most + len(sizes), "a share of less than one is one"
    assert all(share > 0 for share, size in zip(shares, sizes, strict=True) if size)
    if sum(sizes) <= most:
        assert found == ends


def test_a_partition_that_is_added_is_found(broker, opened, monkeypatch):
    monkeypatch.setattr(kafka_ends, "_METADATA", 0)
    topic = topics.new_topic(broker.servers)
    topics.put(broker.servers, topic, ["a"])
    (found,) = opened(topic)
    ends = Ends(found)
    assert ends.after({}) == {(topic, 0): 1}
    add_partitions(Connection(broker.servers), topic, 2)
    topics.put(broker.servers, topic, ["b", "c"], 1)
    assert ends.after({(topic, 0): 1}) == {(topic, 0): 1, (topic, 1): 2}


def test_a_topic_that_appears_is_found_by_its_pattern(broker, opened, monkeypatch):
    monkeypatch.setattr(kafka_ends, "_METADATA", 0)
    first, other = topics.new_topic(broker.servers), topics.new_topic(broker.servers)
    (found,) = opened(None, pattern=f"{first}|{other}-later")
    ends = Ends(found)
    assert ends.after({}) == {(first, 0): 0}
    create_topic(Connection(broker.servers), f"{other}-later")
    assert ends.after({}) == {(first, 0): 0, (f"{other}-later", 0): 0}


def test_a_partition_that_ends_before_the_job_is_there_has_lost_records(broker, opened):
    topic = topics.new_topic(broker.servers)
    (strict,) = opened(topic)
    with pytest.raises(KafkaError, match="MS350"):
        Ends(strict).after({(topic, 0): 5})
    (lenient,) = opened(topic, on_data_loss="continue")
    assert Ends(lenient).after({(topic, 0): 5}) == {(topic, 0): 0}


def test_a_topic_that_is_gone_is_named(broker, opened):
    topic = topics.new_topic(broker.servers)
    (found,) = opened(topic)
    delete_topic(Connection(broker.servers), topic)
    until(lambda: topic not in topic_names(Connection(broker.servers)))
    with pytest.raises(KafkaError, match=f"MS321.*{topic}"):
        Ends(found).after({(topic, 0): 0})


def test_brokers_that_do_not_answer_are_waited_for(broker, opened, monkeypatch):
    topic = topics.new_topic(broker.servers)
    (found,) = opened(topic)
    answers = iter([KafkaError("MS320", "away", fix="wait"), KafkaError("MS320", "away", fix="w")])

    def found_later(self, start, real=Ends._found):
        for error in answers:
            raise error
        return real(self, start)

    monkeypatch.setattr(Ends, "_found", found_later)
    monkeypatch.setattr(kafka_ends, "_PAUSE", 0.01)
    assert Ends(found).after({}) == {(topic, 0): 0}
    monkeypatch.setattr(kafka_ends, "_PATIENCE", 0)
    answers = iter([KafkaError("MS320", "away", fix="wait")])
    with pytest.raises(KafkaError, match="MS320"):
        Ends(found).after({})
