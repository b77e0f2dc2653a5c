"""Lines that a server sends, read no faster than batches take them.

Spark's own source for sockets reads without bound, into the memory of its driver. This one reads
when a batch begins, and no more than a batch is to have. What is not read stays with TCP, which
holds the server back. It runs in a Python process next to Spark's driver.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from millstream.model.errors import RunError
from millstream.plan.nodes import SocketSource

_MOST_BYTES = 8 << 20
_WAITS = 10.0  # seconds for a server to answer
_LOOKS = 0.01  # seconds for something to come, in a batch that has nothing yet

Offset = dict[str, int]
"""How many lines have come since the job began."""


def lines_sent(spark: SparkSession, source: SocketSource) -> DataFrame:
    """The lines of a server, as a stream."""
    spark.dataSource.register(Lines)
    reading = spark.readStream.format(Lines.name())
    return reading.options(host=source.host, port=source.port, step=source.name).load()


class Lines(DataSource):
    """What Spark asks for a reader."""

    @classmethod
    def name(cls) -> str:
        return "millstream_lines"

    def schema(self) -> str:
        return "value string"

    def simpleStreamReader(self, schema: Any) -> LinesReader:  # noqa: N802 - as Spark calls it
        options = self.options
        return LinesReader(options["host"], int(options["port"]), options["step"])


class LinesReader(SimpleDataSourceStreamReader):
    """Reads the lines, from the one process that the reader lives in as long as the query runs.

    Lines cannot be read twice: of a batch that is replayed in another life of the job, they are
    gone.
    """

    def __init__(self, host: str, port: int, step: str) -> None:
        self._at = (host, port)
        self._step = step
        self._socket: socket.socket | None = None
        self._rest = b""
        self._closed = False

    def initialOffset(self) -> Offset:  # noqa: N802 - as Spark calls it
        return {"lines": 0}

    def read(self, start: Offset) -> tuple[Iterator[tuple[str]], Offset]:
        lines = self._lines()
        return iter(lines), {"lines": start["lines"] + len(lines)}

    def readBetweenOffsets(  # noqa: N802 - as Spark calls it
        self, start: Offset, end: Offset
    ) -> Iterator[tuple[str]]:
        return iter(())

    def _lines(self) -> list[tuple[str]]:
        """The lines that have come: no more than a batch is to have."""
        if not self._closed:
            self._rest += self._received()
        whole, end, rest = self._rest.rpartition(b"\n")
        if self._closed:
            whole, rest = self._rest, b""
        elif len(rest) >= _MOST_BYTES:
            raise self._failure(
                f"has sent {len(rest)} bytes without the end of a line",
                "let the server end each line with a newline",
            )
        self._rest = rest
        if self._closed and not whole:
            raise self._failure(
                "has closed the connection: no more lines can come",
                "start the server again, and run the job again; to read what has an end, write "
                "it to a file, for read_files(…, format='text')",
            )
        texts = whole.decode(errors="replace").removesuffix("\n").split("\n")
        return [(text.removesuffix("\r"),) for text in texts] if end or whole else []

    def _received(self) -> bytes:
        if self._socket is None:
            self._socket = self._connected()
        parts = []
        room = _MOST_BYTES - len(self._rest)
        select.select([self._socket], [], [], _LOOKS)
        try:
            while room > 0:
                some = self._socket.recv(min(room, 1 << 20))
                self._closed = not some
                if self._closed:
                    self._socket.close()
                    break
                parts.append(some)
                room -= len(some)
        except BlockingIOError:
            pass  # that is all for now
        except OSError as error:
            raise self._failure(f"cannot be read from: {error}", _SERVER) from error
        return b"".join(parts)

    def _connected(self) -> socket.socket:
        try:
            connected = socket.create_connection(self._at, timeout=_WAITS)
        except OSError as error:
            raise self._failure(f"cannot be reached: {error}", _SERVER) from error
        connected.setblocking(False)
        return connected

    def _failure(self, what: str, fix: str) -> RunError:
        if self._socket is not None:
            self._socket.close()
        host, port = self._at
        return RunError("MS216", f"the server at {host}:{port} {what}", fix=fix, step=self._step)


_SERVER = "see that a server listens there, such as nc -lk 9999, and run the job again"
