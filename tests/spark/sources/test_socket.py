"""Lines of a server: read no faster than they are processed, and a server that goes is an error."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream.model.errors import RunError
from millstream.spark.sources import socket as socket_source
from millstream.spark.sources.socket import LinesReader
from ports import free_port
from waiting import until

LINE = b"x" * 1023 + b"\n"
MANY = 64 * 1024
"""Lines, of a kilobyte each: far more than a batch, and all that TCP keeps, takes."""


class Flood:
    """A server that sends numbered lines as fast as it may to the first that connects."""

    def __init__(self, lines: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.sent = 0
        self.blocked = threading.Event()
        self._lines = lines
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        client, _ = self._server.accept()
        client.settimeout(1)
        with client:
            while self.sent < self._lines:
                line = f"{self.sent} ".encode()
                self._send(client, line + LINE[len(line) :])
                self.sent += 1

    def _send(self, client: socket.socket, left: bytes) -> None:
        while left:
            try:
                left = left[client.send(left) :]
            except TimeoutError:
                self.blocked.set()

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def flood() -> Iterator[Flood]:
    server = Flood(MANY)
    yield server
    server.close()


def serving(content: bytes) -> int:
    """The port of a server that sends this, and closes the connection."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server, server.accept()[0] as client:
            client.sendall(content)

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])


def all_of(reader: LinesReader) -> list[str]:
    """The lines until the server closes the connection."""
    lines: list[str] = []

    def read_on() -> None:
        while True:
            some, offset = reader.read({"lines": len(lines)})
            lines.extend(line for (line,) in some)
            assert offset == {"lines": len(lines)}

    with pytest.raises(RunError, match="MS216 in step 'in': the server at .* has closed"):
        read_on()
    return lines


def test_a_reader_takes_no_more_than_a_batch_and_tcp_holds_the_server_back(flood: Flood) -> None:
    reader = LinesReader("127.0.0.1", flood.port, "in")
    first: list[str] = []
    until(lambda: first.extend(line for (line,) in reader.read({"lines": 0})[0]) or first)
    until(flood.blocked.is_set)
    assert len(first) * 1024 <= socket_source._MOST_BYTES
    assert flood.sent < MANY / 2
    lines = [*first, *all_of(reader)]
    assert [int(line.split()[0]) for line in lines] == list(range(MANY))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]), (b"a\r\n\r\nb", ["a", "", "b"]), (b"\n", [""]), (b"", []),
        ("größe ✓".encode(), ["größe ✓"]), (b"\xff\n", ["\ufffd"]),
    ],
)  # fmt: skip
def test_lines_end_in_many_ways(content: bytes, lines: list[str]) -> None:
    assert all_of(LinesReader("127.0.0.1", serving(content), "in")) == lines


def test_a_server_that_is_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = LinesReader("127.0.0.1", server.getsockname()[1], "in")
        assert list(reader.read({"lines": 0})[0]) == []
        with server.accept()[0] as client:
            client.sendall(b"half")
            assert list(reader.read({"lines": 0})[0]) == []
            client.sendall(b" a line\n")
            found: list[tuple[str]] = []
            until(lambda: found.extend(reader.read({"lines": 0})[0]) or found)
            assert found == [("half a line",)]
    assert all_of(reader) == []


def test_a_line_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_source, "_MOST_BYTES", 100)
    reader = LinesReader("127.0.0.1", serving(b"a\n" + b"x" * 1000), "in")
    found: list[tuple[str]] = []
    until(lambda: found.extend(reader.read({"lines": 0})[0]) or found)
    assert found == [("a",)]
    with pytest.raises(RunError, match="has sent 100 bytes without the end of a line"):
        until(lambda: list(reader.read({"lines": 1})[0]))


def test_a_server_that_is_not_there_is_an_error() -> None:
    port = free_port()
    with pytest.raises(RunError) as error:
        LinesReader("127.0.0.1", port, "in").read({"lines": 0})
    assert str(error.value) == (
        f"MS216 in step 'in': the server at 127.0.0.1:{port} cannot be reached: "
        "[Errno 111] Connection refused\n"
        "  What to do: see that a server listens there, such as nc -lk 9999, and run the job again"
        "\n  More: millstream help MS216"
    )


def test_a_job_that_is_busy_holds_the_server_back_and_loses_no_line(
    spark: SparkSession, tmp_path: Path, flood: Flood
) -> None:
    go = tmp_path / "go"

    def first(row: dict) -> tuple[int]:
        while not go.exists():
            time.sleep(0.01)
        return (int(row["value"].split()[0]),)

    numbers = ms.read_socket("127.0.0.1", flood.port, name="in").map(first, "n int")
    counts = numbers.trigger(ms.repeatedly(ms.after_count(1))).refine(ms.accumulating)
    results = counts.aggregate(n=ms.count(), least=ms.min("n"), most=ms.max("n"))
    job = results.collect("counts").run("busy", spark=spark)
    until(flood.blocked.is_set, job)
    assert job.rows() == []
    assert flood.sent < MANY / 2
    go.touch()
    with pytest.raises(RunError, match="MS216 in step 'in': the server at .* has closed"):
        job.wait()
    last = job._rows("counts")[-1]
    assert (last["n"], last["least"], last["most"]) == (MANY, 0, MANY - 1)
