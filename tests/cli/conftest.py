"""The command line on the broker of all tests, and Kafka's own tools beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.kafka.local.cluster import Cluster
from millstream.kafka.local.jars import jars
from millstream.system.java import java_command

_numbers = count(1)


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def run(broker: Cluster) -> Run:
    """Runs a command in this process, and expects its exit code."""

    def run(*arguments: str, input: str | bytes = b"", code: int = 0) -> Ran:
        result = CliRunner().invoke(app, [*arguments, "--servers", broker.servers], input=input)
        ran = Ran(result.exit_code, result.stdout, result.stderr)
        assert ran.code == code, (ran, result.exception)
        return ran

    return run


@pytest.fixture(scope="session")
def produce(run: Run) -> Run:
    """Produces lines, without the half second that an idempotent producer takes to begin."""
    return partial(run, "produce", "-X", "enable.idempotence=false")


@pytest.fixture
def start(broker: Cluster) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a command as a process of its own, which ends with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "millstream", *arguments, "--servers", broker.servers]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def kafka_tool(broker: Cluster) -> Callable[..., str]:
    """Runs a main class of Kafka's own tools, and gives what it prints."""

    def tool(name: str, *arguments: str, input: str = "") -> str:
        path = os.pathsep.join(map(str, jars("broker")))
        java = [java_command(os.environ), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path]
        main = f"org.apache.kafka.tools.{name}"
        done = subprocess.run(
            [*java, main, "--bootstrap-server", broker.servers, *arguments],
            input=input,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return tool


@pytest.fixture(scope="session")
def new_name() -> Callable[[str], str]:
    """Names that no other test has: all tests share a broker."""
    return lambda word: f"{word}-{next(_numbers)}"


@pytest.fixture(scope="session")
def new_topic(run: Run, new_name: Callable[[str], str]) -> Callable[..., str]:
    """Makes a topic with the options, and gives its name."""

    def make(*options: str) -> str:
        name = new_name("topic")
        run("topics", "create", name, *options)
        return name

    return make
