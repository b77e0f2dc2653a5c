"""What the tests of the console share: a registry, jobs in it, and a client for its routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from millstream.console.app import console_app
from millstream.console.settings import Settings
from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.registry import Registry

ORIGIN = "http://127.0.0.1:8265"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry of its own."""
    opened = Registry(registry_file(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """Makes clients of consoles over this test's data directory, which may ask for changes."""
    clients: list[TestClient] = []

    def client(**options: object) -> TestClient:
        settings = Settings(data=tmp_path, **options)
        headers = {"origin": ORIGIN, "x-csrf-token": settings.csrf}
        clients.append(TestClient(console_app(settings), ORIGIN, headers=headers))
        return clients[-1]

    yield client
    for each in clients:
        each.close()
