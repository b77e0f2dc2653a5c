"""Serves the console, until Ctrl-C or until the block that it was opened in ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from millstream.console.app import console_app
from millstream.console.cluster import Cluster
from millstream.console.settings import Settings
from millstream.model.errors import RunError

_PATIENCE = 10.0  # seconds until it must have started


class _Server(uvicorn.Server):
    """Leaves signals to the program that it is part of."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def opened_console(settings: Settings, cluster: Cluster | None = None) -> Iterator[str]:
    """The console in a thread of its own, within the block; gives its address."""
    listener = _listener(settings)
    guarded = console_app(settings, cluster)
    config = uvicorn.Config(
        guarded,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=5,
        limit_concurrency=256,
        ssl_certfile=_text(settings.cert),
        ssl_keyfile=_text(settings.key),
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="console", daemon=True)
    thread.start()
    until = time.monotonic() + _PATIENCE
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    try:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        yield f"{settings.scheme}://{host}:{listener.getsockname()[1]}"
    finally:
        guarded.app.state.closing = True
        server.should_exit = True
        thread.join(_PATIENCE)
        listener.close()


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise RunError(
            "MS331",
            f"the console cannot listen at {settings.host}:{settings.port}: {error}",
            fix="name another port: --port 0 takes a free one",
        ) from error


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
