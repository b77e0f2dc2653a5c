"""Runs the commands that a document shows, and compares what they print."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FILE = re.compile(r"^```python (\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a text with what it is said to print."""
    return [pair for block in _BLOCK.findall(text) for pair in _COMMAND.findall(block)]


def files(text: str) -> dict[str, str]:
    """The blocks of Python that have the name of a file."""
    return dict(_FILE.findall(text))


def run_commands(text: str, directory: Path) -> None:
    """Runs them one after the other; each must succeed, and print what it is said to print.

    A block of Python that has the name of a file is that file.
    """
    python = shlex.quote(sys.executable)
    program = f'python() {{ {python} "$@"; }}\nmillstream() {{ {python} -m millstream "$@"; }}\n'
    for name, source in files(text).items():
        file = directory / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(source, encoding="utf-8")
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("MILLSTREAM_")}
    for command, expected in commands(text):
        ran = subprocess.run(
            ["bash", "-o", "pipefail", "-c", program + command],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, f"$ {command}\n{ran.stdout}{ran.stderr}"
        fits = doctest.OutputChecker().check_output(expected, ran.stdout, _FLAGS)
        assert fits, f"$ {command}\n{ran.stdout}\n-- and not, as the document says:\n{expected}"
