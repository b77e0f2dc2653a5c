"""Set-up on a machine without a Python that is new enough says so in one line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH that has what set-up needs of the system, except Python."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("bash", "cat", "dirname", "env", "sed"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def command(path: Path, script: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{script}\n")
    path.chmod(0o755)


def set_up(clone: Path, tools: Path) -> subprocess.CompletedProcess[str]:
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    return subprocess.run(
        [clone / "scripts" / "setup"],
        env={"PATH": os.fspath(tools)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_python_at_all_is_said_in_one_line(tmp_path: Path, tools: Path) -> None:
    result = set_up(tmp_path / "a clone", tools)
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "Python 3.11 or newer is needed, but python3 is missing." in line
    assert "apt-get install python3" in line


def test_a_python_that_is_too_old_is_named(tmp_path: Path, tools: Path) -> None:
    command(tools / "python3", '[ "$1" = -V ] && echo Python 3.9.2')
    result = set_up(tmp_path / "a clone", tools)
    (line,) = result.stderr.splitlines()
    assert "but python3 is Python 3.9.2." in line
