"""A registry of its own for each test, and a job that needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.recorder import Recorder
from millstream.jobs.registry.registry import Registry
from millstream.reports.tracker import Tracker
from millstream.system.data_directory import DATA

PLAN = {"steps": [{"id": "scores"}, {"id": "sink:totals"}]}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory."""
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def registry(data: Path) -> Iterator[Registry]:
    """The registry of that data directory."""
    opened = Registry(registry_file())
    yield opened
    opened.close()


@pytest.fixture
def record(data: Path) -> Iterator[Callable[..., tuple[Tracker, Recorder]]]:
    """Begins to record a job, which has finished at the end of the test at the latest."""
    trackers: list[tuple[Tracker, Recorder]] = []

    def record(name: str = "totals") -> tuple[Tracker, Recorder]:
        tracker = Tracker()
        trackers.append((tracker, Recorder(name, f"/checkpoints/{name}", PLAN, tracker)))
        return trackers[-1]

    yield record
    for tracker, recorder in trackers:
        tracker.state("finished")
        recorder.close()
