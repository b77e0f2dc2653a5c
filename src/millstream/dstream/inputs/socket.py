"""``socketTextStream``: lines from a server."""

from __future__ import annotations

import logging
import socket
import threading
import time as clock
from typing import Any

from pyspark import RDD

from millstream.dstream.hadoop import Files
from millstream.dstream.inputs.input import Info, Input, Tell
from millstream.dstream.listener import ReceiverEvent, ReceiverInfo

_log = logging.getLogger(__name__)
_BLOCK = 0.2
"""Seconds of lines in one block, which is one partition; as in Spark."""
_RETRY = 2.0
"""Seconds until the next attempt to connect; as in Spark."""


class SocketInput(Input):
    """Receives in a thread of the driver. What was taken is a range of blocks.

    A block is some whole lines, as bytes. With a folder, it is in a file before any batch may
    take it, so that a retried batch finds it there.
    """

    def __init__(self, slide: int, host: str, port: int) -> None:
        super().__init__(slide)
        self._address = host, port
        self._taken_to = 0
        self._allocated: dict[int, tuple[int, int]] = {}

    def open(self, folder: str | None, tell: Tell) -> None:
        self._tell = tell
        self._blocks: dict[int, bytes] = {}
        self._next = self._oldest = self._taken_to
        self._folder = folder and f"{folder}/received/{self.number}"
        self._closed = threading.Event()
        if self._folder:
            names = Files(self.graph.context).names(self._folder)
            numbers = [int(name) for name in names if name.isdigit()]
            self._next = max([self._next, *(number + 1 for number in numbers)])
            self._oldest = min([self._oldest, *numbers])
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.name = f"millstream-socket-{self.number}"
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(timeout=5)

    def allocate(self, time: int) -> None:
        if time not in self.taken and time not in self._allocated:
            self._allocated[time] = self._taken_to, self._next
            self._taken_to = self._next

    def take(self, time: int) -> Any:
        return self._allocated.pop(time, (self._taken_to, self._taken_to))

    def described(self, taken: Any) -> Info:
        return sum(self._block(number).count(b"\n") + 1 for number in range(*taken)), {}

    def read(self, taken: Any) -> RDD[Any]:
        blocks = [self._block(number) for number in range(*taken)]
        if not blocks:
            return self.graph.context.emptyRDD()
        packed = self.graph.context.parallelize(blocks, len(blocks))
        return packed.flatMap(lambda block: block.decode("utf-8", "replace").split("\n"))

    def position(self) -> Any:
        return self._taken_to

    def resume(self, position: Any) -> None:
        self._taken_to = position

    def forget(self, now: int) -> None:
        super().forget(now)
        for time in [time for time in self._allocated if time <= now]:
            del self._allocated[time]  # no output needs them
        oldest = min([begin for begin, _ in self.taken.values()], default=self._taken_to)
        for number in range(self._oldest, oldest):
            self._blocks.pop(number, None)
            if self._folder:
                Files(self.graph.context).delete(f"{self._folder}/{number}")
        self._oldest = max(self._oldest, oldest)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            self._blocks[number] = Files(self.graph.context).read(f"{self._folder}/{number}")
        return self._blocks[number]

    def _receive(self) -> None:
        while not self._closed.is_set():
            self._report("onReceiverStarted")
            why = "the server has closed the connection"
            try:
                with socket.create_connection(self._address, timeout=_BLOCK) as connection:
                    self._read(connection)
            except Exception as error:  # no server is there, or a block cannot be written
                why = str(error)
            if self._closed.is_set():
                why = "the program has stopped"
            else:
                host, port = self._address
                _log.warning("%s:%s: %s; connects again in %s s", host, port, why, _RETRY)
            self._report("onReceiverStopped", why)
            self._closed.wait(_RETRY)

    def _report(self, method: str, error: str = "") -> None:
        """Has listeners know that the receiver begins, or ends and why."""
        at = int(clock.time() * 1000) if error else -1
        info = ReceiverInfo(self.number, self._thread.name, not error, error, at)
        self._tell(method, ReceiverEvent(info))

    def _read(self, connection: socket.socket) -> None:
        """Reads until the server closes the connection, a block at a time."""
        rest, arrived, ends = b"", [], False
        while not ends and not self._closed.is_set():
            until = clock.monotonic() + _BLOCK
            while not ends and clock.monotonic() < until:
                try:
                    chunk = connection.recv(1 << 16)
                except TimeoutError:
                    break
                except OSError:  # the server has gone: what it sent before is not lost
                    chunk = b""
                arrived.append(chunk)
                ends = not chunk
            data = rest + b"".join(arrived)
            whole, newline, rest = data.rpartition(b"\n")
            if newline:
                self._store(whole)
            arrived = []
        if rest:
            self._store(rest)

    def _store(self, block: bytes) -> None:
        if self._folder:
            Files(self.graph.context).write(f"{self._folder}/{self._next}", block)
        self._blocks[self._next] = block
        self._next += 1

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in ("_blocks", "_folder", "_closed", "_thread", "_next", "_oldest", "_tell"):
            state.pop(name, None)
        return {**state, "_allocated": {}}
