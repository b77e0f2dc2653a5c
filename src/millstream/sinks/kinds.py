"""The kinds of sinks: one table, from the kind of target to what writes and commits its rows.

Nothing here needs Spark: tasks and the driver call it, and so do tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millstream.plan.nodes import Sink
from millstream.plan.targets import Console, Each, Files, Kafka, Memory, Target
from millstream.sinks.protocol import SinkKind

# A kind is imported only when there is a sink of it: imports take time in each worker.


def _memory() -> type[SinkKind[Memory]]:
    from millstream.sinks.memory import MemorySink

    return MemorySink


def _files() -> type[SinkKind[Files]]:
    from millstream.sinks.files.sink import FilesSink

    return FilesSink


def _kafka() -> type[SinkKind[Kafka]]:
    from millstream.sinks.kafka import KafkaSink

    return KafkaSink


def _console() -> type[SinkKind[Console]]:
    from millstream.sinks.console.sink import ConsoleSink

    return ConsoleSink


def _each() -> type[SinkKind[Each]]:
    from millstream.sinks.each import EachSink

    return EachSink


_KINDS: dict[type[Target], Callable[[], type[SinkKind[Any]]]] = {
    Memory: _memory,
    Files: _files,
    Kafka: _kafka,
    Console: _console,
    Each: _each,
}


def sink_of(name: str, target: Target) -> SinkKind[Any]:
    """The sink of that name, of the kind of its target.

    >>> import pyarrow as pa
    >>> from millstream.sinks.slices import Slice
    >>> sink = sink_of("numbers", Memory())
    >>> writer = sink.writer(Slice("a1b2c3d4", batch=0, number=0, attempt=7))
    >>> writer.write(pa.table({"n": [1, 2]}))
    >>> committer = sink.committer()
    >>> committer.commit("a1b2c3d4", batch=0, receipts=[writer.close()])
    >>> committer.rows()
    [{'n': 1}, {'n': 2}]
    """
    kind = _KINDS.get(type(target))
    if kind is None:
        raise TypeError(f"an unknown target: {target!r}")
    return kind()(name, target)


def sinks_of(sinks: Iterable[Sink]) -> list[SinkKind[Any]]:
    """The sinks of a program."""
    return [sink_of(sink.name, sink.target) for sink in sinks]
