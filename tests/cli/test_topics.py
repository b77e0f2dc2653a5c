"""``millstream topics`` on a real broker, and against Kafka's own kafka-topics."""

from __future__ import annotations

import re

import pytest


def test_a_topic_is_made_listed_described_and_deleted(run, new_name):
    name = new_name("scores")
    assert run("topics", "create", name, "-p", "3", "--set", "retention.ms=60000").lines == [
        f"created {name}"
    ]
    assert name in run("topics", "list").lines
    [topic] = run("topics", "describe", name, "--json").json
    assert topic["settings"] == {"retention.ms": "60000"}
    assert topic["partitions"] == [
        {
            "number": n,
            "leader": 1,
            "replicas": [1],
            "in_sync": [1],
            "start": 0,
            "end": 0,
            "size": None,
        }
        for n in range(3)
    ]
    assert run("topics", "delete", name).lines == [f"deleted {name}"]
    assert name not in run("topics", "list").lines


def test_a_description_shows_where_records_are(run, produce, new_topic):
    topic = new_topic("-p", "2", "--set", "cleanup.policy=compact")
    produce(topic, "-p", "1", "--key", "k", input="a\nb\nc\n")
    described = run("topics", "describe", topic).out
    assert re.search(rf"{topic}: 2 partitions, replication 1, id \S+\n", described)
    assert "  cleanup.policy=compact\n" in described
    rows = [line.split() for line in described.splitlines()[2:]]
    assert rows == [
        ["partition", "leader", "replicas", "in", "sync", "start", "end"],
        ["0", "1", "1", "1", "0", "0"],
        ["1", "1", "1", "1", "0", "3"],
    ]
    assert run("topics", "describe", topic).err == "--size shows their size on disk\n"


def test_a_description_has_the_sizes_of_partitions_on_disk(run, produce, broker, new_topic):
    topic = new_topic("-p", "2")
    produce(topic, "-p", "1", input="x" * 5000)
    [described] = run("topics", "describe", topic, "--size", "--json").json
    sizes = [partition["size"] for partition in described["partitions"]]
    folder = broker.brokers[0].data / f"{topic}-1"
    assert sizes == [0, (folder / "00000000000000000000.log").stat().st_size]
    assert sizes[1] > 5000
    output = run("topics", "describe", topic, "--size")
    assert "size" in output.lines[1]
    assert "--size" not in output.err


def test_an_existing_topic_is_not_created_again(run, new_topic):
    topic = new_topic("-p", "2")
    error = run("topics", "create", topic, code=1).err
    assert f"MS323: the cluster did not create topic '{topic}'" in error
    assert "--if-not-exists" in error
    assert run("topics", "create", topic, "-p", "5", "--if-not-exists").out == ""
    assert len(run("topics", "describe", topic, "--json").json[0]["partitions"]) == 2


def test_an_error_of_the_cluster_has_its_text_and_what_to_do(run, new_name):
    name = new_name("refused")
    error = run("topics", "create", name, "-r", "3", code=1).err
    assert "INVALID_REPLICATION_FACTOR" in error
    assert "at most as many replicas as there are brokers" in error
    error = run("topics", "create", name, "--set", "retention=1", "--json", code=1).err
    assert '"code": "MS323"' in error
    assert "Unknown topic config name: retention (INVALID_CONFIG)" in error


@pytest.mark.parametrize("number", ["200000", "9999999999"])
def test_what_the_client_cannot_send_is_an_error(run, new_name, new_topic, number):
    name, topic = new_name("refused"), new_topic()
    for command in (
        ["create", name, "-p", number],
        ["create", name, "-r", number],
        ["add-partitions", topic, "--total", number],
    ):
        error = run("topics", *command, code=1).err
        assert error.startswith("MS113: Kafka's client cannot ask the cluster to ")


def test_what_was_done_is_shown_if_the_next_fails(run, new_topic, new_name):
    there, first, second = new_topic(), new_name("new"), new_name("new")
    ran = run("topics", "create", first, there, new_name("never"), code=1)
    assert ran.lines == [f"created {first}"]
    assert "TOPIC_ALREADY_EXISTS" in ran.err
    ran = run("topics", "create", second, there, "--json", code=1)
    assert ran.json == {"created": [second]}
    assert '"code": "MS323"' in ran.err
    ran = run("topics", "delete", first, new_name("missing"), second, code=1)
    assert ran.lines == [f"deleted {first}"]
    assert second in run("topics", "list").lines


def test_everything_is_done_even_if_the_output_has_no_reader(run, start, new_name):
    names = [new_name("new"), new_name("new")]
    process = start("topics", "create", *names)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert set(names) <= set(run("topics", "list").lines)


def test_settings_are_altered_and_taken_away(run, new_topic):
    topic = new_topic("--set", "retention.ms=60000")
    run("topics", "alter", topic, "--set", "max.message.bytes=2000", "--unset", "retention.ms")
    [described] = run("topics", "describe", topic, "--json").json
    assert described["settings"] == {"max.message.bytes": "2000"}
    assert "nothing to change" in run("topics", "alter", topic, code=2).err
    assert "NAME=VALUE" in run("topics", "alter", topic, "--set", "retention.ms", code=2).err


def test_partitions_are_added_up_to_a_total(run, new_topic):
    topic = new_topic("-p", "2")
    run("topics", "add-partitions", topic, "--total", "4")
    assert len(run("topics", "describe", topic, "--json").json[0]["partitions"]) == 4
    error = run("topics", "add-partitions", topic, "--total", "3", code=1).err
    assert "3 would not be an increase" in error


def test_the_oldest_records_are_deleted(run, produce, new_topic):
    topic = new_topic("-p", "2")
    for partition in "01":
        produce(topic, "-p", partition, input="a\nb\nc\n")
    deleted = run("topics", "delete-records", topic, "--before", "2", "-p", "0", "--json")
    assert deleted.json == [{"partition": 0, "start": 2}]
    deleted = run("topics", "delete-records", topic, "--before", "-1", "--json")
    assert deleted.json == [{"partition": 0, "start": 2}, {"partition": 1, "start": 2}]
    run("topics", "delete-records", topic, "--before", "end")
    assert run("consume", topic, "--from", "beginning", "-e").out == ""
    error = run("topics", "delete-records", topic, "--before", "end", "-p", "7", code=1).err
    assert f"topic '{topic}' has no partition 7" in error


def test_kafkas_own_topics_are_hidden_unless_asked_for(run, new_topic):
    topic = new_topic()
    run("consume", topic, "-g", "makes-the-topic-of-groups", "-e")
    assert "__consumer_offsets" not in run("topics", "list").lines
    assert "__consumer_offsets" in run("topics", "list", "--internal").lines
    assert "__consumer_offsets" not in run("topics", "describe").out


def test_an_unknown_topic_is_an_error_that_names_the_nearest(run, new_topic):
    topic = new_topic()
    for command in (
        ["topics", "describe", topic + "x"],
        ["topics", "delete", topic + "x"],
        ["topics", "alter", topic + "x", "--set", "retention.ms=1"],
        ["produce", topic + "x"],
        ["consume", topic + "x", "-e"],
    ):
        error = run(*command, code=1).err
        assert f"MS321: the cluster has no topic '{topic}x'" in error
        assert "did you mean" in error
    assert run("topics", "delete", topic + "x", "--if-exists").out == ""


def test_kafkas_tool_sees_the_same(run, new_name, kafka_tool):
    ours, theirs = new_name("ours"), new_name("theirs")
    settings = ["--config", "retention.ms=60000", "--config", "cleanup.policy=compact"]
    kafka_tool("TopicCommand", "--create", "--topic", theirs, "--partitions", "3", *settings)
    run(
        *["topics", "create", ours, "-p", "3"],
        *["--set", "retention.ms=60000", "--set", "cleanup.policy=compact"],
    )
    both = run("topics", "describe", ours, theirs, "--json").json
    ids = [topic.pop("id") for topic in both]
    assert [topic.pop("name") for topic in both] == [ours, theirs]
    assert both[0] == both[1]

    output = kafka_tool("TopicCommand", "--describe", "--topic", f"{ours}|{theirs}")
    assert all(f"TopicId: {each}" in output for each in ids)
    partitions = re.findall(
        rf"Topic: {ours}\s+Partition: (\d+)\s+Leader: (\d+)\s+Replicas: (\d+)\s+Isr: (\d+)", output
    )
    assert [tuple(map(int, each)) for each in partitions] == [
        (each["number"], each["leader"], *each["replicas"], *each["in_sync"])
        for each in both[0]["partitions"]
    ]
