"""``millstream consume`` on a real broker, and against Kafka's own kafka-console-consumer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from confluent_kafka import Producer


def with_ten_records(produce, new_topic):
    """A topic with the records 0 to 4 in partition 0, and 5 to 9 in partition 1."""
    # Its records are old: with the usual retention they would be gone soon.
    topic = new_topic("-p", "2", "--set", "retention.ms=-1")
    lines = [
        {
            "key": f"k{n}",
            "value": str(n),
            "partition": n // 5,
            "timestamp": f"2026-07-01T12:00:0{n}Z",
        }
        for n in range(10)
    ]
    produce(topic, "--json-lines", input="\n".join(map(json.dumps, lines)))
    return topic


@pytest.fixture(scope="module")
def ten(produce, new_topic):
    """For tests that only read."""
    return with_ten_records(produce, new_topic)


@pytest.fixture
def own_ten(produce, new_topic):
    """For tests that write, too."""
    return with_ten_records(produce, new_topic)


def numbers(ran):
    return sorted(map(int, ran.lines))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--from", "beginning"], range(10)),
        (["--from", "earliest", "-p", "1"], range(5, 10)),
        (["--from", "end"], []),
        ([], []),
        (["--from", "3"], [3, 4, 8, 9]),
        (["--from", "99"], []),
        (["--from", "-2"], [3, 4, 8, 9]),
        (["--from", "-99"], range(10)),
        (["--from", "-1", "-p", "0"], [4]),
        (["--from", "2026-07-01T12:00:07Z"], [7, 8, 9]),
        (["--from", "2026-07-01T14:00:03.500+02:00"], range(4, 10)),
        (["--from", "2030-01-01T00:00:00Z"], []),
        (["--from", "1970-01-01T00:00:00Z"], range(10)),
        (["--from", "1969-12-31T23:59:59.999Z"], range(10)),
        (["--from", "-0"], []),
    ],
)
def test_it_begins_at_the_given_position(run, ten, options, expected):
    assert numbers(run("consume", ten, "-e", *options)) == list(expected)


def test_the_last_records_are_counted_without_what_transactions_leave_in_a_topic(
    run, broker, new_topic
):
    topic = new_topic("-p", "2")
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions()
    for n in range(6):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, f"{partition}{n}", partition=partition)
        producer.flush()
        producer.commit_transaction() if n < 4 else producer.abort_transaction()
    committed = run("consume", topic, "--from", "-3", "--read-committed", "-e").lines
    assert sorted(committed) == ["01", "02", "03", "11", "12", "13"]
    assert run("consume", topic, "--from", "-3", "-e", "-p", "0").lines == ["03", "04", "05"]
    assert len(run("consume", topic, "--from", "-99", "-e").lines) == 12


def test_a_partition_is_read_in_its_order(run, ten):
    assert run("consume", ten, "--from", "beginning", "-p", "1", "-e").lines == list("56789")


def test_it_ends_after_a_count(run, ten):
    assert run("consume", ten, "--from", "beginning", "-p", "0", "-n", "3").lines == list("012")
    assert run("consume", ten, "--from", "beginning", "-n", "0").lines == []
    assert len(run("consume", ten, "--from", "beginning", "-e", "-n", "99").lines) == 10


@pytest.mark.parametrize("place", ["yesterday", "2026-07-01T12:00:00", "1.5"])
def test_an_invalid_position_is_an_error(run, ten, place):
    error = run("consume", ten, "--from", place, "-e", code=1).err
    assert "MS118" in error
    assert "2026-07-01T12:00:00+02:00" in error


def test_a_partition_that_is_not_there_is_an_error(run, ten):
    error = run("consume", ten, "-p", "2", code=1).err
    assert f"MS113: topic '{ten}' has no partition 2" in error
    assert "from 0 to 1" in error


def test_a_format_is_in_pythons_words(run, ten):
    text = r"{topic}-{partition}@{offset}\t{key}={value:>3} {timestamp:%H:%M:%S} {headers}"
    ran = run("consume", ten, "--from", "-1", "-p", "1", "-e", "--format", text)
    assert ran.out == f"{ten}-1@4\tk9=  9 12:00:09 NO_HEADERS\n"


@pytest.mark.parametrize("text", ["{valeu}", "{value", "{value:d}", "{0}", "{value.x}"])
def test_a_format_that_cannot_be_used_is_an_error_at_once(run, ten, text):
    error = run("consume", ten, "--format", text, code=1).err
    assert "MS113: the format cannot be used" in error


def test_bytes_are_not_changed(run, produce, start, new_topic):
    topic = new_topic()
    produce(topic, "--encoding", "hex", input="ff00fe\n")
    for options in ([], ["--format", "{value}"]):
        process = start("consume", topic, "--from", "0", "-e", *options)
        assert process.communicate(timeout=30)[0] == b"\xff\x00\xfe\n"


def test_null_differs_from_empty(run, produce, new_topic):
    topic = new_topic()
    produce(topic, "-k", ":", "--null", "-", input="-:-\n:\n")
    options = ["consume", topic, "--from", "beginning", "-e", "--show", "key"]
    assert run(*options).lines == ["null\tnull", "\t"]
    assert run(*options, "--null", "∅").lines == ["∅\t∅", "\t"]


def test_a_compacted_topic_has_gaps_and_an_end_all_the_same(run, produce, new_topic):
    topic = new_topic("--set", "cleanup.policy=compact")
    produce(topic, "-k", ":", "--null", "", input="a:1\na:2\nb:1\nb:\n")
    assert run("consume", topic, "--from", "beginning", "-e", "--null", "-").lines[-2:] == [
        "1",
        "-",
    ]


def test_open_and_aborted_transactions_are_left_out_if_asked(
    run, produce, broker, new_topic, new_name
):
    topic = new_topic()
    produce(topic, input="before\n")
    for value, end in ((b"committed", "commit"), (b"aborted", "abort"), (b"open", None)):
        settings = {"bootstrap.servers": broker.servers, "transactional.id": new_name("writer")}
        writer = Producer(settings)
        writer.init_transactions(30)
        writer.begin_transaction()
        writer.produce(topic, value)
        writer.flush(30)
        if end == "commit":
            writer.commit_transaction(30)
        elif end == "abort":
            writer.abort_transaction(30)
    everything = ["consume", topic, "--from", "beginning", "-e"]
    assert run(*everything).lines == ["before", "committed", "aborted", "open"]
    assert run(*everything, "--read-committed").lines == ["before", "committed"]
    writer.abort_transaction(30)
    produce(topic, input="after\n")
    assert run(*everything, "--read-committed").lines == ["before", "committed", "after"]


def test_a_group_continues_at_its_position(run, produce, own_ten, new_name):
    group = new_name("group")
    assert run("consume", own_ten, "-g", group, "-e").lines == []  # at the end, as Kafka's own
    produce(own_ten, "-p", "0", input="10\n11\n")
    assert run("consume", own_ten, "-g", group, "-n", "1").lines == ["10"]
    assert run("consume", own_ten, "-g", group, "--from", "beginning", "-e").lines == ["11"]
    other = new_name("group")
    assert len(run("consume", own_ten, "-g", other, "--from", "beginning", "-e").lines) == 12


@pytest.mark.parametrize("options", [["-p", "0"], ["--from", "3"], ["--from", "-1"]])
def test_a_group_cannot_have_a_start_or_partitions(run, ten, options):
    error = run("consume", ten, "-g", "some", *options, code=1).err
    assert "MS113" in error
    assert "millstream groups reset" in error


def test_a_group_without_a_name_is_an_error(run, ten):
    assert "MS113: the group has no name" in run("consume", ten, "-g", "", code=1).err


def test_a_member_that_gets_nothing_to_read_is_at_the_end(run, produce, start, new_topic, new_name):
    topic, group = new_topic(), new_name("group")
    produce(topic, input="0\n")
    # Sticky: a partition stays with the one who has it.
    sticky = ["-X", "partition.assignment.strategy=cooperative-sticky"]
    quick = ["-X", "heartbeat.interval.ms=200"]
    other = start("consume", topic, "-g", group, "--from", "beginning", *sticky, *quick)
    assert other.stdout.readline() == b"0\n"
    for _ in range(2):  # the second time shows that it has left
        assert run("consume", topic, "-g", group, "-e", *sticky).lines == []


def test_it_follows_until_ctrl_c(run, produce, start, own_ten):
    process = start("consume", own_ten, "--from", "-1", "-p", "0")
    assert process.stdout.readline() == b"4\n"
    produce(own_ten, "-p", "0", input="next\n")
    assert process.stdout.readline() == b"next\n"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (130, b"", b"consumed 2 records\n")


def test_a_partition_that_is_added_under_way_is_read(run, produce, start, own_ten):
    process = start("consume", own_ten, "--from", "-1")
    assert {process.stdout.readline() for _ in range(2)} == {b"4\n", b"9\n"}
    run("topics", "add-partitions", own_ten, "--total", "3")
    produce(own_ten, "-p", "2", input="in the third\n")
    assert process.stdout.readline() == b"in the third\n"


def test_a_reader_that_has_enough_is_no_error(run, produce, start, new_topic):
    topic = new_topic()
    produce(topic, input="x" * 100 + "\n" * 20_000)
    process = start("consume", topic, "--from", "beginning")
    process.stdout.readline()
    process.stdout.close()  # as head does
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == b""


@pytest.mark.parametrize("command", ["consume {topic} --from 0 -e", "topics list"])
def test_output_that_cannot_be_written_is_an_error(ten, broker, command):
    words = [*command.format(topic=ten).split(), "-s", broker.servers]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "millstream", *words], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"MS208: cannot write to standard output: No space left")


def test_a_topic_that_is_deleted_under_way_is_an_error(run, start, own_ten):
    process = start("consume", own_ten, "--from", "-1", "-p", "0")
    assert process.stdout.readline() == b"4\n"
    run("topics", "delete", own_ten)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"MS321: topic '{own_ten}' was deleted".encode() in error


def test_only_one_way_to_write_records_can_be_chosen(run, ten):
    assert "give one of them" in run("consume", ten, "--json", "--show", "key", code=2).err


def test_kafkas_tool_writes_the_same(run, produce, new_topic, kafka_tool):
    topic = new_topic("--set", "retention.ms=-1")
    lines = [
        {"key": "a", "value": "1", "headers": [["h", "x"], ["i", None]], "timestamp": 1000},
        {"key": None, "value": "Ω 🎉", "timestamp": 2000},
        {"key": "", "value": None, "headers": [["h", ""]], "timestamp": 3000},
        {"key": "c", "value": "", "timestamp": 4000},
    ]
    produce(topic, "--json-lines", input="\n".join(map(json.dumps, lines)))
    shown = ["timestamp", "partition", "offset", "headers", "key"]
    options = [f"print.{name}=true" for name in shown]
    theirs = kafka_tool(
        *["consumer.ConsoleConsumer", "--topic", topic, "--from-beginning", "--max-messages", "4"],
        *[word for option in options for word in ("--formatter-property", option)],
    )
    ours = run(
        *["consume", topic, "--from", "beginning", "-n", "4"],
        *[word for name in shown for word in ("--show", name)],
    )
    assert ours.out == theirs
