"""``millstream kafka`` as people and scripts use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.kafka import local
from millstream.kafka.local.registry import STATE


def run(*arguments, **more):
    return CliRunner().invoke(app, ["kafka", *map(str, arguments)], **more)


@pytest.fixture(autouse=True)
def own_registry(tmp_path, monkeypatch):
    """A registry without the brokers of other tests."""
    monkeypatch.setenv(STATE, str(tmp_path / "state-of-user"))


@pytest.fixture
def data(broker):
    """The data directory of the broker of all tests."""
    return broker.folder.parent


@pytest.fixture
def stopped(tmp_path):
    """The data directory of a broker that has been stopped."""
    folder = tmp_path / "kafka"
    (folder / "broker-1").mkdir(parents=True)
    one = {"id": 1, "port": 9092, "controller_port": 9093, "process": None}
    (folder / "cluster.json").write_text(json.dumps({"id": "M", "brokers": [one]}))
    return tmp_path


def test_up_and_status_show_where_the_brokers_are(broker, data):
    [one] = broker.brokers
    for command in ("up", "status"):
        ran = run(command, "--data", data)
        assert ran.exit_code == 0
        heading, line = ran.stdout.splitlines()
        assert heading.split() == ["broker", "address", "state", "pid", "log"]
        assert line.split() == ["1", broker.servers, "running", str(one.pid), str(one.log)]


def test_json_is_for_machines(broker, data):
    [one] = broker.brokers
    expected = {
        "servers": broker.servers,
        "data": str(broker.folder),
        "brokers": [{"id": 1, "address": one.address, "pid": one.pid, "log": str(one.log)}],
    }
    for command in ("up", "status"):
        assert json.loads(run(command, "--json", "--data", data).stdout) == expected


def test_with_json_nothing_but_an_error_goes_to_standard_error(stopped, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    for progress, options in (("formatting the storage\n", []), ("", ["--json"])):
        ran = run("up", "--port", "0", "--data", stopped, *options)
        assert ran.exit_code == 1
        error = ran.stderr.removeprefix(progress)
        assert error.startswith("MS205" if progress else '{"error": {"code": "MS205"')
    assert run("down", "--data", stopped).stderr == "stopping the brokers\n"
    assert run("down", "--json", "--data", stopped).stderr == ""


def test_the_data_directory_may_come_from_the_environment(broker, data):
    ran = run("status", "--json", env={"MILLSTREAM_DATA": str(data)})
    assert json.loads(ran.stdout)["servers"] == broker.servers


def test_status_ends_with_1_where_brokers_are_stopped(stopped):
    ran = run("status", "--data", stopped)
    assert ran.exit_code == 1
    assert "stopped" in ran.stdout


def test_an_error_goes_to_standard_error_with_its_code_and_what_to_do(tmp_path):
    ran = run("status", "--data", tmp_path)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("MS308: there are no local brokers in ")
    assert "What to do: start some: millstream kafka up" in ran.stderr


def test_an_error_is_json_where_json_is_asked_for(tmp_path):
    ran = run("status", "--json", "--data", tmp_path)
    assert (ran.exit_code, ran.stdout) == (1, "")
    error = json.loads(ran.stderr)["error"]
    assert error["code"] == "MS308"
    assert error["fix"].startswith("start some")


@pytest.mark.parametrize(
    "wrong", [["up", "--brokers", "4"], ["up", "--port", "x"], ["upp"], ["logs", "--lines", "-1"]]
)
def test_wrong_usage_ends_with_2(wrong):
    assert run(*wrong).exit_code == 2


def test_logs_shows_the_last_lines_of_the_brokers(broker, data):
    shown = subprocess.run(
        [sys.executable, "-m", "millstream", "kafka", "logs", "-n", "3", "--data", data],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(shown) == 3
    assert set(shown) <= set(broker.brokers[0].log.read_text().splitlines())


@pytest.mark.parametrize(
    ("printed", "shown"),
    [("", ("", "there are no logs yet\n")), ("Invalid heap size\n", ("Invalid heap size\n", ""))],
)
def test_logs_shows_what_java_has_printed_and_reads_nothing(stopped, printed, shown):
    (stopped / "kafka" / "broker-1" / "output.log").write_text(printed)
    silent, _open = os.pipe()
    ran = subprocess.run(
        [sys.executable, "-m", "millstream", "kafka", "logs", "--data", stopped],
        stdin=silent,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (ran.stdout, ran.stderr) == shown


def test_logs_of_a_broker_that_is_not_there_is_an_error(data):
    ran = run("logs", "--broker", 2, "--data", data)
    assert ran.exit_code == 1
    assert "MS113: there is no broker 2" in ran.stderr


def test_down_without_brokers_reports_that(tmp_path):
    ran = run("down", "--data", tmp_path)
    assert (ran.exit_code, ran.stdout) == (0, f"There were no brokers in {tmp_path}/kafka.\n")


def test_wiping_asks_first(stopped):
    for answer in ("n\n", "\n", ""):
        ran = run("down", "--wipe", "--data", stopped, input=answer)
        assert ran.exit_code == 1
        assert "Delete all topics and messages" in ran.stderr
        assert local.known(stopped)
    assert run("down", "--wipe", "--data", stopped, input="y\n").exit_code == 0
    assert local.known(stopped) is None


def test_wiping_need_not_ask(stopped):
    ran = run("down", "--wipe", "--yes", "--json", "--data", stopped)
    assert json.loads(ran.stdout) == {"stopped": []}  # it did not run
    assert local.known(stopped) is None


def test_every_command_and_option_has_a_help_text():
    for command in ("up", "status", "down", "logs"):
        ran = run(command, "--help", env={"TERM": "dumb", "COLUMNS": "200"})
        assert ran.exit_code == 0
        options = [line for line in ran.stdout.splitlines() if line.startswith("│ --")]
        assert options
        assert all(len(line.strip("│ ").split("  ")) > 1 for line in options)


def test_a_shell_completes_commands():
    completing = {"_MILLSTREAM_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    ran = subprocess.run(
        [sys.executable, "-m", "millstream"],
        env={**os.environ, **completing, "COMP_WORDS": "millstream kafka "},
        capture_output=True,
        text=True,
    )
    assert set(ran.stdout.split()) >= {"up", "status", "down", "logs"}
