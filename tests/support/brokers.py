"""Brokers with settings of their own, such as passwords and rights, for as long as a test runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millstream.kafka.local.broker import (
    Broker,
    format_storage,
    new_cluster_id,
    start,
    write_settings,
)
from millstream.kafka.local.jars import jars
from ports import free_port
from waiting import until


@contextmanager
def started(
    folder: Path,
    port: int,
    settings: Callable[[Broker], Mapping[str, object]],
    takes_part: Callable[[], bool],
) -> Iterator[None]:
    """A broker with more settings, which stops at the end."""
    broker = Broker(1, port, free_port(), folder / "broker-1")
    write_settings(broker, [broker])
    with (broker.folder / "server.properties").open("a", encoding="utf-8") as file:
        # Of a name that is there twice, the last counts.
        file.writelines(f"{name}={value}\n" for name, value in settings(broker).items())
    paths = jars("broker")
    format_storage(broker, new_cluster_id(), paths)
    process = start(broker, paths)
    try:
        until(lambda: not process.runs or takes_part())
        assert process.runs, broker.output
        yield
    finally:
        process.send(signal.SIGTERM)
        until(lambda: not process.runs)
