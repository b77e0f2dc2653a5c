"""Where a job begins, has come to and ends in its topics, and what was gone by then: no Spark."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import millstream as ms
import topics
from millstream.kafka.admin.groups import describe_group
from millstream.kafka.admin.topics import create_topic, delete_records, delete_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.kafka.client.positions import Position
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS, prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions
from millstream.model.errors import KafkaError, PlanError, RunError
from millstream.spark.batches.kafka_losses import Losses
from millstream.spark.batches.known_topics import KnownTopics
from millstream.spark.sources.kafka import Positions, Topics, _options, opened_topics


@pytest.fixture
def opened(broker):
    """Opens sources that read these topics, or topics like a pattern."""

    def opened(*given: str | None, **options: object) -> list[Topics]:
        options["servers"] = broker.servers
        read = [ms.read_kafka(each, name=f"{each}", **options) for each in given]
        return list(opened_topics(stream.node for stream in read).values())

    return opened


def noted(folder: Path, *batches: list[dict]) -> str:
    """A checkpoint in which Spark has noted where batches end, source by source."""
    (folder / "spark/offsets").mkdir(parents=True)
    for number, told in enumerate(batches):
        lines = ["v1", "{}", *map(json.dumps, told)]
        (folder / f"spark/offsets/{number}").write_text("\n".join(lines))
    return str(folder)


@pytest.fixture
def trimmed(broker):
    """A topic of 20 records of which the first 10 are gone."""
    name = topics.new_topic(broker.servers)
    topics.put(broker.servers, name, map(str, range(20)))
    delete_records(Connection(broker.servers), name, Position("offset", 10))
    return name


def test_a_pattern_is_not_for_the_topics_that_kafka_and_millstream_keep(broker, opened):
    connection, own = Connection(broker.servers), topics.new_topic(broker.servers)
    prepare_markers(connection, 1)
    slice = KafkaSlice(connection, own, f"group-{own}", 0)
    transactions().write(slice, 0, [Records(["in a transaction"])])
    assert {MARKERS, "__transaction_state"} <= {*topic_names(connection, internal=True)}
    (found,) = opened(None, pattern=".*")
    assert own in found.partitions
    assert not [name for name in found.partitions if name.startswith("__") or name == MARKERS]


@pytest.mark.parametrize("what", ["start", "until"])
def test_an_offset_beyond_the_end_is_refused_with_what_is_there(broker, opened, what):
    topic = topics.new_topic(broker.servers, 2)
    topics.put(broker.servers, topic, ["a", "b"], 0)
    opened(topic, **{what: {0: 2, 1: 0}})
    with pytest.raises(PlanError, match=f"MS113.*{what} has offset 5.*which ends at 2"):
        opened(topic, **{what: {0: 5}})


def test_options_do_not_say_what_a_source_decides(broker, opened):
    topic = topics.new_topic(broker.servers)
    theirs = {"group.id": "theirs", "isolation.level": "read_uncommitted", "client.id": "theirs"}
    (found,) = opened(topic, options=theirs | {"auto.offset.reset": "latest"})
    told = _options(found, streaming=True)
    assert told["kafka.isolation.level"] == "read_committed"
    assert told["kafka.client.id"] == "theirs"
    assert not {"kafka.group.id", "kafka.auto.offset.reset"} & told.keys()


def test_the_group_tells_of_its_own_topics_though_a_frame_reads_others(broker, opened):
    ours, others = topics.new_topic(broker.servers), topics.new_topic(broker.servers)
    topics.put(broker.servers, ours, ["a", "b", "c"])
    reports = [{others: {"0": 7}}, {"logOffset": 4}, {ours: {"0": 2}}, {others: {"0": 8}}]
    done = SimpleNamespace(
        batchId=0, sources=[SimpleNamespace(endOffset=json.dumps(each)) for each in reports]
    )
    positions = Positions(f"job-of-{ours}", opened(ours))
    positions.follow(SimpleNamespace(lastProgress=done), 0)
    positions.close()
    (told,) = describe_group(Connection(broker.servers), f"job-of-{ours}").partitions
    assert (told.topic, told.offset, told.lag) == (ours, 2, 1)


def test_each_record_that_is_gone_is_counted_once(tmp_path, opened, trimmed):
    ends = [{trimmed: {"0": end}} for end in (3, 7, 12, 20)]
    losses = Losses(opened(trimmed, on_data_loss="continue"), noted(tmp_path, *([e] for e in ends)))
    assert [losses.of(batch) for batch in range(1, 4)] == [{trimmed: 4}, {trimmed: 3}, {}]


def test_what_is_gone_counts_from_where_the_job_begins(tmp_path, opened, trimmed):
    checkpoint = noted(tmp_path, [{trimmed: {"0": 20}}])
    for start, lost in [({0: 6}, {trimmed: 4}), ("latest", {}), ("earliest", {})]:
        source = opened(trimmed, on_data_loss="continue", start=start)
        assert Losses(source, checkpoint).of(0) == lost


def test_what_is_gone_where_that_fails_the_job_is_not_counted(tmp_path, opened, trimmed):
    assert Losses(opened(trimmed), str(tmp_path / "nothing")).of(1) == {}


def test_a_topic_that_is_deleted_does_not_end_a_job_that_is_to_go_on(
    tmp_path, broker, opened, trimmed, caplog
):
    connection, gone = Connection(broker.servers), f"{trimmed}-gone"
    create_topic(connection, gone, partitions=1)
    (both,) = opened(None, pattern=f"{trimmed}.*", on_data_loss="continue")
    delete_topic(connection, gone)
    before, after = {trimmed: {"0": 5}, gone: {"0": 5}}, {trimmed: {"0": 12}}
    checkpoint = noted(tmp_path, [before], [after], [after | {gone: {"0": 6}}])
    assert Losses([both], checkpoint).of(1) == {"None": 5}
    (tmp_path / "spark/offsets/1").write_text(f"v1\n{{}}\n{json.dumps(before)}")
    assert Losses([both], checkpoint).of(2) == {}, "Spark had not heard of it when it began"
    assert "is not counted" in caplog.text


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
    start = tmp_path / "spark/sources/0/0"
    start.parent.mkdir(parents=True)
    start.write_text(f'\0v1\n{{"{topic}":{{"0":5}}}}')
    topics.create_again(broker.servers, topic)
    KnownTopics(read, str(tmp_path)).resume()
    assert start.read_text() == "\0v1\n{}"


def test_a_damaged_file_of_topics_is_refused(tmp_path, broker, opened):
    (tmp_path / "topics.json").write_text('{"scores": ')
    with pytest.raises(RunError, match="MS210.*topics.json.*cannot be read"):
        KnownTopics(opened(topics.new_topic(broker.servers)), str(tmp_path)).resume()
