"""``millstream groups`` on a real broker, and against Kafka's own kafka-consumer-groups."""

from __future__ import annotations

import json
import signal
import time

import pytest


@pytest.fixture(scope="module")
def topic(produce, new_topic):
    """Four records in partition 0 and two in partition 1, one of each for every second."""
    # Its records are old: with the usual retention they would be gone soon.
    topic = new_topic("-p", "2", "--set", "retention.ms=-1")
    places = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    lines = [
        {"value": "x", "partition": partition, "timestamp": f"2026-07-01T12:00:0{second}Z"}
        for partition, second in places
    ]
    produce(topic, "--json-lines", input="\n".join(map(json.dumps, lines)))
    return topic


@pytest.fixture
def group(run, new_name, topic):
    """A group that has read all of the topic but the last record of each partition."""
    name = new_name("group")
    run("groups", "reset", name, "--topic", topic, "--to", "-1", "--execute")
    return name


def offsets(run, group):
    described = run("groups", "describe", group, "--json").json
    return {each["partition"]: each["offset"] for each in described["partitions"]}


def test_groups_are_listed_with_their_states(run, group):
    assert {"name": group, "state": "Empty", "type": "Classic"} in run(
        "groups", "list", "--json"
    ).json
    assert [group, "Empty", "Classic"] in [line.split() for line in run("groups", "list").lines]


def test_a_description_has_the_lag_of_each_partition(run, topic, group):
    described = run("groups", "describe", group)
    assert described.lines[0] == f"{group}: Empty, 0 members"
    assert [line.split() for line in described.lines[2:]] == [
        [topic, "0", "3", "4", "1"],
        [topic, "1", "1", "2", "1"],
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--to", "earliest"], {0: 0, 1: 0}),
        (["--to", "latest"], {0: 4, 1: 2}),
        (["--to", "1"], {0: 1, 1: 1}),
        (["--to", "3"], {0: 3, 1: 2}),
        (["--to", "-1"], {0: 3, 1: 1}),
        (["--to", "2026-07-01T12:00:01Z"], {0: 1, 1: 1}),
        (["--to", "2026-07-01T14:00:02+02:00"], {0: 2, 1: 2}),
        (["--shift", "-1"], {0: 2, 1: 0}),
        (["--shift", "-2"], {0: 1, 1: 0}),
        (["--shift", "1"], {0: 4, 1: 2}),
        (["--shift", "5"], {0: 4, 1: 2}),
    ],
)
def test_a_group_is_reset_only_with_execute(run, topic, group, options, expected):
    reset = ["groups", "reset", group, "--topic", topic, *options, "--json"]
    for execute in (False, True):
        output = run(*reset, *(["--execute"] if execute else [])).json
        assert output["executed"] == execute
        assert {each["partition"]: each["after"] for each in output["offsets"]} == expected
        assert offsets(run, group) == (expected if execute else {0: 3, 1: 1})


def test_some_partitions_or_all_topics_can_be_moved(run, topic, group):
    run("groups", "reset", group, "--topic", f"{topic}:1", "--to", "earliest", "--execute")
    assert offsets(run, group) == {0: 3, 1: 0}
    output = run("groups", "reset", group, "--all-topics", "--to", "2", "--execute")
    assert "nothing has changed" not in output.err
    assert offsets(run, group) == {0: 2, 1: 2}
    output = run("groups", "reset", group, "--all-topics", "--to", "earliest")
    assert "nothing has changed; --execute does it" in output.err


def test_a_topic_may_be_named_more_than_once(run, topic, group):
    reset = ["groups", "reset", group, "--execute", "--topic", f"{topic}:0", "--topic"]
    run(*reset, f"{topic}:1", "--to", "1")
    assert offsets(run, group) == {0: 1, 1: 1}
    run(*reset, topic, "--to", "2")
    assert offsets(run, group) == {0: 2, 1: 2}


def test_where_a_group_is_not_yet_there_is_nothing_to_shift(run, topic, new_name):
    name = new_name("group")
    shift = ["groups", "reset", name, "--topic", topic, "--shift", "1", "--execute"]
    assert f"MS324: the cluster has no group '{name}'" in run(*shift, code=1).err
    run("groups", "reset", name, "--topic", f"{topic}:0", "--to", "1", "--execute")
    error = run(*shift, code=1).err
    assert f"MS113: there is nothing to shift: the group has no offset in {topic}:1\n" in error
    assert offsets(run, name) == {0: 1}


def test_a_new_group_can_begin_at_a_given_position(run, topic, new_name):
    name = new_name("group")
    run("groups", "reset", name, "--topic", topic, "--to", "-1", "--execute")
    assert len(run("consume", topic, "-g", name, "-e").lines) == 2
    error = run("groups", "reset", new_name("group"), "--all-topics", "--to", "1", code=1).err
    assert "MS324" in error


@pytest.mark.parametrize(
    "options",
    [
        ["--topic", "t"],
        ["--topic", "t", "--to", "1", "--shift", "1"],
        ["--to", "1"],
        ["--to", "1", "--topic", "t", "--all-topics"],
        ["--to", "1", "--topic", "t:x"],
        ["--to", "1", "--topic", "t:"],
    ],
)
def test_a_reset_without_a_clear_aim_is_wrong_usage(run, options):
    run("groups", "reset", "g", *options, code=2)


def test_a_group_is_deleted(run, group):
    assert run("groups", "delete", group).lines == [f"deleted {group}"]
    error = run("groups", "delete", group, code=1).err
    assert f"MS324: the cluster has no group '{group}'" in error
    assert "MS324" in run("groups", "describe", group, code=1).err


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_in_use_shows_its_members_and_is_not_changed(run, start, topic, group, protocol):
    process = start("consume", topic, "-g", group, "-X", f"group.protocol={protocol}")
    while (described := run("groups", "describe", group, "--json").json)["state"] != "Stable":
        time.sleep(0.05)
    assert [each["member"]["host"] for each in described["partitions"]] == ["/127.0.0.1"] * 2
    assert len(described["members"]) == 1
    for change in (["reset", group, "--all-topics", "--to", "1"], ["delete", group]):
        error = run("groups", *change, code=1).err
        assert f"MS325: group '{group}' is in use: its state is Stable" in error
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    run("groups", "reset", group, "--all-topics", "--to", "1", "--execute")
    assert offsets(run, group) == {0: 1, 1: 1}


def test_kafkas_tool_shows_the_same(run, topic, group, kafka_tool):
    command = "consumer.group.ConsumerGroupCommand"
    theirs = [
        line.split()[1:6]
        for line in kafka_tool(command, "--describe", "--group", group).splitlines()
        if line.startswith(group)
    ]
    ours = [line.split() for line in run("groups", "describe", group).lines[2:]]
    assert sorted(theirs) == sorted(ours)

    aim = "2026-07-01T12:00:01.000"
    reset = ["--reset-offsets", "--dry-run", "--group", group, "--topic", topic]
    output = kafka_tool(command, *reset, "--to-datetime", aim)
    theirs = [line.split()[1:] for line in output.splitlines() if line.startswith(group)]
    moved = run("groups", "reset", group, "--topic", topic, "--to", f"{aim}Z", "--json").json
    ours = [
        [each["topic"], str(each["partition"]), str(each["after"])] for each in moved["offsets"]
    ]
    assert sorted(theirs) == sorted(ours)
