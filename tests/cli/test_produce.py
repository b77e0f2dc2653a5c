"""``millstream produce`` on a real broker, and against Kafka's own kafka-console-producer."""

from __future__ import annotations

import base64
import json
import signal
import time

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app


def records(run, topic, *options):
    """The records of a topic, by partition and offset."""
    lines = run("consume", topic, "--from", "beginning", "-e", "--json", *options).lines
    return sorted(
        map(json.loads, lines), key=lambda record: (record["partition"], record["offset"])
    )


def values(run, topic):
    return [record["value"] for record in records(run, topic)]


def test_lines_are_records_without_a_key(run, new_topic):
    topic = new_topic()
    produced = run("produce", topic, input="one\n\nthree\r\nfour")
    assert produced.out == ""
    assert produced.err == "produced 4 records\n"
    assert [(r["key"], r["value"]) for r in records(run, topic)] == [
        (None, "one"),
        (None, ""),
        (None, "three"),
        (None, "four"),
    ]


def test_empty_input_makes_no_records(run, produce, new_topic):
    assert produce(new_topic(), "--json").json == {
        "produced": 0,
        "failed": 0,
        "failures": {},
    }


def test_lines_may_come_from_a_file(run, produce, new_topic, tmp_path):
    topic, file = new_topic(), tmp_path / "lines.txt"
    file.write_text("naïve 🎉\n", encoding="utf-8")
    produce(topic, str(file))
    assert values(run, topic) == ["naïve 🎉"]
    produce(topic, str(tmp_path / "missing.txt"), code=2)


def test_a_separator_parts_key_and_value_and_null_is_not_empty(run, new_topic):
    topic = new_topic()
    run(
        "produce",
        topic,
        "-k",
        r"\t",
        "--null",
        "NULL",
        input="a\tb\tc\n\tx\ny\t\nNULL\tz\nt\tNULL\n",
    )
    assert [(r["key"], r["value"]) for r in records(run, topic)] == [
        ("a", "b\tc"),
        ("", "x"),
        ("y", ""),
        (None, "z"),
        ("t", None),
    ]


def test_a_line_without_its_separator_stops_after_what_was_before_it(run, produce, new_topic):
    topic = new_topic()
    failed = produce(topic, "-k", ":", input="a:1\nb2\nc:3\n", code=1)
    assert "produced 1 record\n" in failed.err
    assert "MS326: line 2 cannot be read, it has no key separator ':': 'b2'" in failed.err
    assert values(run, topic) == ["1"]


def test_key_headers_time_and_partition_may_be_the_same_for_all(run, produce, new_topic):
    topic = new_topic("-p", "3", "--set", "retention.ms=-1")
    produce(
        *[topic, "--key", "ann", "-H", "source=file", "-H", "empty=", "-p", "2"],
        *["--timestamp", "2026-07-01T14:00:00+02:00"],
        input="5\n",
    )
    [record] = records(run, topic)
    assert record["partition"] == 2
    assert record["key"] == "ann"
    assert record["headers"] == [["source", "file"], ["empty", ""]]
    assert record["timestamp"] == 1_782_907_200_000
    assert record["timestamp_type"] == "CreateTime"


def test_a_header_may_be_there_twice(run, produce, new_topic):
    topic = new_topic()
    produce(topic, "-H", "a=1", "-H", "a=2", input="x\n")
    assert records(run, topic)[0]["headers"] == [["a", "1"], ["a", "2"]]


def test_the_key_for_all_is_in_the_encoding_of_keys(run, produce, new_topic):
    topic = new_topic()
    produce(topic, "--key", "6f6b", "--encoding", "hex", input="61\n")
    [record] = records(run, topic)
    assert (record["key"], record["value"]) == ("ok", "a")


def test_any_bytes_of_the_command_line_can_be_written(run, produce, new_topic):
    topic = new_topic()
    any_byte = "\udcff"  # as Python reads the byte ff
    produce(topic, "-k", any_byte, "--null", "\udcfe", "-H", f"h={any_byte}", input=b"a\xff\xfe\n")
    produce(topic, "--key", any_byte, input=b"b\n")
    written = records(run, topic, "--encoding", "hex")
    assert [(r["key"], r["value"]) for r in written] == [("61", None), ("ff", "62")]
    assert written[0]["headers"] == [["h", "ff"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-H", "\udcff=1"], "the name '\\udcff' of a header is not text"),
        (["--key", "6g", "--encoding", "hex"], "it is not hex: Non-hexadecimal digit"),
    ],
)
def test_keys_and_headers_that_cannot_be_written_are_wrong_usage(options, message):
    used = CliRunner().invoke(app, ["produce", "scores", *options])
    assert used.exit_code == 2
    assert message in used.stderr


def test_a_time_that_the_client_would_take_for_now_is_an_error():
    used = CliRunner().invoke(app, ["produce", "scores", "--timestamp", "1970-01-01T00:00:00Z"])
    assert used.exit_code == 1
    assert "MS118: the timestamp '1970-01-01T00:00:00Z' is not 1 to" in used.stderr


def test_json_lines_are_whole_records(run, produce, new_topic):
    topic = new_topic("-p", "2", "--set", "retention.ms=-1")
    lines = [
        {"value": {"points": 5, "who": "änn"}, "key": 7, "partition": 1},
        {"value": None, "key": "gone", "partition": 1, "headers": {"why": None}},
        {"value": "AP8=", "encoding": "base64", "partition": 1},
        {"value": "late", "partition": 1, "timestamp": "1970-01-01T00:00:01Z"},
    ]
    produce(topic, "--json-lines", input="\n".join(map(json.dumps, lines)))
    written = records(run, topic)
    assert [record["value"] for record in written] == [
        '{"points":5,"who":"änn"}',
        None,
        "AP8=",
        "late",
    ]
    assert written[0]["key"] == "7"
    assert written[1]["headers"] == [["why", None]]
    assert written[2]["encoding"] == "base64"
    assert written[3]["timestamp"] == 1000


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        '{"key": "a"}',
        '{"value": "!", "encoding": "hex"}',
        '{"value": "a", "encoding": "utf-16"}',
        '{"value": "a", "partition": "0"}',
        '{"value": "a", "partition": -1}',
        '{"value": "a", "timestamp": 1.5}',
        '{"value": "a", "timestamp": "2026-07-01T12:00:00"}',
        '{"value": "a", "headers": ["h"]}',
    ],
)
def test_a_line_that_is_no_record_is_an_error_with_its_number(run, produce, new_topic, line):
    failed = produce(new_topic(), "--json-lines", input='{"value": "a"}\n' + line, code=1)
    assert "MS326: line 2 cannot be read" in failed.err


def test_what_consume_writes_produce_reads(run, produce, new_topic):
    first, second = new_topic("-p", "3"), new_topic("-p", "3")
    produce(first, "-k", ":", "-H", "h=1", input="a:1\nb:2\nc:3\n:\n")
    produce(first, "-k", ":", "--encoding", "hex", input="ff:00\n")
    lines = run("consume", first, "--from", "beginning", "-e", "--json").out
    produce(second, "--json-lines", input=lines)
    topics = {first: records(run, first), second: records(run, second)}
    for each in [*topics[first], *topics[second]]:
        del each["topic"]
    assert topics[first] == topics[second]


@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_any_bytes_can_be_written(run, produce, new_topic, encoding):
    topic = new_topic()
    data = bytes(range(256))
    text = data.hex() if encoding == "hex" else base64.b64encode(data).decode()
    produce(topic, "--encoding", encoding, input=text + "\n")
    assert run("consume", topic, "--from", "0", "-e", "--encoding", "hex").out == data.hex() + "\n"


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_the_same(run, produce, new_topic, compression):
    topic = new_topic()
    produce(topic, "-z", compression, input="a\nb\n")
    assert values(run, topic) == ["a", "b"]


def test_round_robin_takes_partitions_in_turn(run, produce, new_topic):
    topic = new_topic("-p", "3")
    produce(topic, "--partitioner", "round-robin", input="0\n1\n2\n3\n4\n")
    placed = [(r["partition"], r["value"]) for r in records(run, topic)]
    assert placed == [(0, "0"), (0, "3"), (1, "1"), (1, "4"), (2, "2")]


def test_sticky_stays_with_a_partition_for_a_while_whatever_the_key(run, produce, new_topic):
    topic = new_topic("-p", "3")
    lines = [f"{n}:{'x' * 998}" for n in range(10, 50)]
    produce(topic, "-k", ":", "--partitioner", "sticky", input="\n".join(lines))
    placed = {int(r["key"]): r["partition"] for r in records(run, topic)}
    changes = [n for n in range(11, 50) if placed[n] != placed[n - 1]]
    assert changes == [27, 44]  # 17 records of 1,000 bytes are the first to exceed 16,384


def test_records_that_do_not_arrive_are_reported_with_their_lines(run, new_topic):
    topic = new_topic("--set", "max.message.bytes=1000")
    lines = ["short", "x" * 2000, "short too"]
    failed = run("produce", topic, input="\n".join(lines), code=1)
    assert "line 2 did not arrive: Broker: Message size too large\n" in failed.err
    assert "produced 2 records\n" in failed.err
    assert "MS327: 1 of 3 records did not arrive: line 2 (Broker: Message" in failed.err
    assert values(run, topic) == ["short", "short too"]


def test_with_json_standard_error_has_nothing_but_the_error(produce, new_topic):
    lines = "\n".join(json.dumps({"value": "x", "partition": n % 2}) for n in range(5))
    failed = produce(new_topic(), "--json-lines", "--json", input=lines, code=1)
    failures = {"Local: Unknown partition": [[2, 2], [4, 4]]}
    assert failed.json == {"produced": 3, "failed": 2, "failures": failures}
    assert json.loads(failed.err)["error"]["code"] == "MS327"


def test_very_long_lines_go_as_far_as_the_topic_lets_them(run, new_topic):
    topic = new_topic("--set", "max.message.bytes=20000000")
    line = "x" * 10_000_000
    run("produce", topic, input=line)
    assert run("consume", topic, "--from", "beginning", "-n", "1").out == line + "\n"


def test_the_rate_is_a_limit(run, produce, new_topic):
    topic = new_topic()
    before = time.monotonic()
    produce(topic, "--rate", "20", input="1\n2\n3\n4\n5\n")
    assert time.monotonic() - before >= 4 / 20
    assert "more than 0" in produce(topic, "--rate", "0", code=2).err


def test_fewer_acks_are_possible(run, new_topic):
    topic = new_topic()
    for acks in ["0", "1", "all"]:
        run("produce", topic, "--acks", acks, input=f"{acks}\n")
    assert sorted(values(run, topic)) == ["0", "1", "all"]


def test_ctrl_c_leaves_nothing_behind_that_was_read(run, start, new_topic):
    topic = new_topic()
    process = start("produce", topic, stdin=-1)
    process.stdin.write(b"first\nsecond\n")
    process.stdin.flush()
    # Both lines have been read, and it continues.
    seen = run("consume", topic, "--from", "beginning", "-n", "2")
    assert seen.lines == ["first", "second"]
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, b"produced 2 records\n")


def test_keys_go_where_kafkas_own_producer_sends_them(run, new_topic, kafka_tool):
    ours, theirs = new_topic("-p", "7"), new_topic("-p", "7")
    keys = ["", "a", "b", "key", "Ωμέγα", "🎉", "x" * 300, *(f"user-{n}" for n in range(50))]
    lines = "".join(f"{key}:value of {key}\n" for key in keys)
    properties = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    kafka_tool("ConsoleProducer", "--topic", theirs, *properties, input=lines)
    run("produce", ours, "-k", ":", input=lines)
    assert placed(run, ours) == placed(run, theirs)
    assert len(placed(run, ours)) == len(keys)


def placed(run, topic):
    return {(r["key"], r["value"]): r["partition"] for r in records(run, topic)}
