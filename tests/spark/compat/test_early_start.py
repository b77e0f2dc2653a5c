"""A process that Spark waits for connects before it imports anything."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys

import pytest

from millstream.spark.compat import early_start

WAITED_FOR = ["-m", "pyspark.sql.streaming.transform_with_state_driver_worker"]
PLACE = "PYTHON_WORKER_FACTORY_SOCK_PATH"


@pytest.fixture
def spark_waits(monkeypatch):
    """A socket on which Spark waits; its path may not be long."""
    path = f"/tmp/millstream-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        server.settimeout(30)
        monkeypatch.setenv(PLACE, path)
        yield server
    os.unlink(path)


def test_the_worker_that_is_waited_for_is_connected_with_its_process(spark_waits):
    python, *module, number = early_start.command(WAITED_FOR)
    connection, _ = spark_waits.accept()
    assert (python, module) == (sys.executable, ["-m", "millstream.spark.compat.driver_worker"])
    assert struct.unpack("!i", connection.recv(4)) == (os.getpid(),)
    assert os.get_inheritable(int(number))
    with socket.socket(fileno=int(number)) as inherited, connection:
        inherited.sendall(b"x")
        assert connection.recv(1) == b"x"


def test_any_other_python_runs_as_it_is(monkeypatch):
    monkeypatch.delenv(PLACE, raising=False)
    for arguments in (["-m", "pyspark.daemon"], WAITED_FOR):
        assert early_start.command(arguments) == [sys.executable, *arguments]


def test_it_needs_no_installed_package():
    command = [sys.executable, "-I", "-S", early_start.__file__, "-c", "print(5)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "5\n"
