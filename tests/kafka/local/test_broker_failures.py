"""Why a broker did not start, from its output."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.kafka.local.broker_failures import down_command, not_started, port_taken

FOLDER = Path("/data/kafka/broker-1")


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("java.io.IOException: No space left on device", "MS307"),
        ("java.net.BindException: Address already in use", "MS304"),
        ("Error: Invalid heap size", "MS306"),
    ],
)
def test_the_output_of_a_broker_decides_which_error_it_is(output, code):
    assert not_started(1, FOLDER, "it ended", output).code == code


def test_the_last_lines_of_the_output_are_shown_without_the_stack():
    output = "".join(f"line {n}\n" for n in range(20)) + "\tat kafka.Kafka.main(Kafka.scala)\n\n"
    shown = not_started(1, FOLDER, "it ended", output).what.splitlines()
    assert shown == [
        "broker 1 did not start: it ended. Its last output:",
        *(f"  | line {n}" for n in range(12, 20)),
    ]


def test_a_port_of_own_brokers_is_an_error_that_names_their_folder():
    assert "another process" in port_taken(9092).what
    assert (
        "the local brokers in /home/ann/.millstream"
        in port_taken(9092, Path("/home/ann/.millstream")).what
    )


def test_brokers_are_stopped_where_their_data_is(tmp_path, monkeypatch):
    assert not_started(1, FOLDER, "it ended", "").fix.endswith("down --data /data --wipe")
    monkeypatch.delenv("MILLSTREAM_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert down_command(Path(".millstream/kafka")) == "millstream kafka down"
    assert down_command(tmp_path / "my data/kafka").endswith(f"--data '{tmp_path}/my data'")
    monkeypatch.setenv("MILLSTREAM_DATA", "/data")
    assert down_command(Path("/data/kafka")) == "millstream kafka down"
