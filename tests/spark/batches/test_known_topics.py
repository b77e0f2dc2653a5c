"""A topic that is created again is another topic, whatever offsets a job has in the old one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaException

import millstream as ms
import topics
from checkpoints import noted
from millstream.kafka.client.connection import Connection
from millstream.model.errors import KafkaError, RunError
from millstream.spark.batches import known_topics
from millstream.spark.batches.known_topics import KnownTopics
from millstream.spark.sources.kafka import Topics
from millstream.spark.sources.kafka_starts import starts_of


def noted_ends(folder: Path, batch: int) -> list:
    return list(map(json.loads, (folder / f"spark/offsets/{batch}").read_text().splitlines()[2:]))


def test_a_job_that_is_to_continue_forgets_where_it_was_in_a_topic_that_was_created_again(
    tmp_path, broker, opened
):
    one, two = topics.new_topic(broker.servers), topics.new_topic(broker.servers)
    read = opened(one, two, on_data_loss="continue")
    ends = [[{one: {"0": end}}, {two: {"0": 7}}] for end in (2, 5, 9)]
    checkpoint = noted(tmp_path, *ends)
    for batch in (0, 1):  # and 2 was begun, but not committed
        (tmp_path / "spark/commits").mkdir(exist_ok=True)
        (tmp_path / f"spark/commits/{batch}").touch()
    (tmp_path / "spark/offsets/.2.crc").touch()
    assert KnownTopics(read, checkpoint).resume() == {}
    topics.create_again(broker.servers, one)
    with (
        pytest.raises(KafkaError, match="MS350(?s:.*)run the job again"),
        KnownTopics(read, checkpoint).unchanged(2),
    ):
        pytest.fail("the batch was begun")
    assert KnownTopics(read, checkpoint).resume() == {one: 4}, "what batch 2 had begun to read"
    assert [noted_ends(tmp_path, batch) for batch in (0, 1, 2)] == [
        ends[0], [{}, {two: {"0": 7}}], [{}, {two: {"0": 7}}],
    ]  # fmt: skip
    assert not (tmp_path / "spark/offsets/.2.crc").exists()
    assert KnownTopics(read, checkpoint).resume() == {}


def test_a_job_is_not_resumed_in_a_topic_that_was_created_again(tmp_path, broker, opened):
    topic = topics.new_topic(broker.servers)
    KnownTopics(opened(topic), str(tmp_path)).resume()
    topics.create_again(broker.servers, topic)
    for _ in range(2):  # it does not take the new topic for the one that it knows
        with pytest.raises(KafkaError, match="MS350.*(?s:.*)on_data_loss='continue'"):
            KnownTopics(opened(topic), str(tmp_path)).resume()


def test_a_job_that_has_read_nothing_forgets_where_it_was_to_begin(tmp_path, broker, opened):
    topic = topics.new_topic(broker.servers)
    read = opened(topic, start="latest", on_data_loss="continue")
    KnownTopics(read, str(tmp_path)).resume()
    topics.put(broker.servers, topic, ["a", "b"])
    named = {each.source.name: each for each in read}
    assert starts_of(named, str(tmp_path)) == {topic: {(topic, 0): 2}}
    topics.create_again(broker.servers, topic)
    KnownTopics(read, str(tmp_path)).resume()
    assert starts_of(named, str(tmp_path)) == {topic: {}}, "the new one is read from its beginning"


def test_a_damaged_file_of_topics_is_refused(tmp_path, broker, opened):
    (tmp_path / "topics.json").write_text('{"scores": ')
    with pytest.raises(RunError, match="MS210.*topics.json.*cannot be read"):
        KnownTopics(opened(topics.new_topic(broker.servers)), str(tmp_path)).resume()


@pytest.fixture(params=["fail"])
def scores(monkeypatch, tmp_path, request):
    """A topic whose id a test sets, and a job that knows it."""
    how = {"servers": "x:1", "on_data_loss": request.param}
    source = ms.read_kafka("scores", "n int", name="scores", **how).node
    read = [Topics(source, Connection("x:1"), {"scores": 1}, {"scores": "first"})]
    ids = {"scores": "first"}
    monkeypatch.setattr(known_topics, "topic_ids", lambda connection, names: dict(ids))
    known = KnownTopics(read, str(tmp_path))
    known.resume()
    return SimpleNamespace(known=known, ids=ids)


def test_a_short_batch_is_checked_when_it_begins_and_a_long_one_at_its_end_too(scores, monkeypatch):
    with scores.known.unchanged(0):
        scores.ids["scores"] = "second"
    scores.ids["scores"] = "first"
    monkeypatch.setattr(known_topics, "_LONG", -1)
    with (
        pytest.raises(KafkaError, match="MS350.*with id first, and the id is second now"),
        scores.known.unchanged(1),
    ):
        scores.ids["scores"] = "second"


def test_a_batch_runs_though_kafka_does_not_answer_whether_topics_are_the_same(
    scores, monkeypatch, caplog
):
    def no_answer(connection, names):
        raise KafkaException("no answer")

    monkeypatch.setattr(known_topics, "topic_ids", no_answer)
    with scores.known.unchanged(0):
        pass
    assert "could not be checked: no answer" in caplog.text


CREATED_AGAIN = KafkaError("MS350", "created again", fix="run it again")


@pytest.mark.parametrize("scores", ["continue"], indirect=True)
def test_a_job_continues_with_a_topic_that_was_created_again_after_that_error_alone(scores):
    assert scores.known.renew(CREATED_AGAIN) is None, "the topic is the same"
    scores.ids["scores"] = "second"
    assert scores.known.renew(ValueError()) is None
    assert scores.known.renew(KafkaError("MS321", "no topic", fix="make it")) is None
    assert scores.known.renew(CREATED_AGAIN) == {"scores": 0}


def test_a_job_that_is_to_fail_does_not_continue(scores):
    scores.ids["scores"] = "second"
    assert scores.known.renew(CREATED_AGAIN) is None
