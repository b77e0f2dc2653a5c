"""What tests of local brokers and of their jars share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.kafka.local.registry import STATE


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test starts, another does not find."""
    monkeypatch.setenv(STATE, str(tmp_path / "state-of-user"))


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a disk of its own, of a megabyte."""
    folder = tmp_path_factory.mktemp("disk")
    if os.geteuid() != 0:  # no other way makes a disk that is really full
        pytest.skip("only root can mount a small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)
