"""``millstream help``, ``--help`` and ``--version``, from a clone and from an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.model.error_pages import error_page
from millstream.model.errors import CODES

ROOT = Path(__file__).parents[2]


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    return result.output


def test_help_lists_the_codes_and_shows_the_page_of_one():
    listed = run("help").splitlines()[1:]
    assert [line.split()[0] for line in listed] == [*CODES]
    for written in ("MS320", "ms320", "320"):
        assert run("help", written) == error_page("MS320")


def test_an_unknown_code_gets_a_suggestion():
    output = " ".join(run("help", "MS32", code=2).replace("│", "").split())
    assert "there is no error code 'MS32'; did you mean MS320 or MS321 or MS322?" in output
    output = " ".join(run("help", "nonsense", code=2).replace("│", "").split())
    assert "see all codes: millstream help" in output


def test_the_version_is_that_of_the_package():
    assert run("--version") == f"millstream {version('millstream')}\n"


@pytest.mark.parametrize("command", ["", "consume", "kafka", "kafka down", "help"])
def test_help_shows_no_value_for_flags(command):
    assert "bool" not in run(*command.split(), "--help")


def test_an_installed_wheel_has_the_pages(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "installed")
    shown = subprocess.run(
        [sys.executable, "-m", "millstream", "help", "MS320"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == error_page("MS320")
    pages = {file.stem for file in tmp_path.glob("installed/millstream/error_pages/MS*.md")}
    assert pages == CODES.keys()
