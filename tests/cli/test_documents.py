"""The commands in docs/cli.md do what the page shows, and it names every command and option."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from millstream.cli.main import app
from millstream.kafka import local

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a line of the page on a cluster of its own, which has no topics yet."""
    folder = tmp_path_factory.mktemp("shell")
    command = folder / "millstream"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m millstream "$@"\n')
    command.chmod(0o755)
    local.up(port=0, data=folder / "data")
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "MILLSTREAM_DATA": str(folder / "data"),
    }

    def run(line):
        return subprocess.run(
            ["bash", "-c", line],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout

    yield run
    local.down(folder / "data")


def test_the_commands_do_what_the_page_shows(shell):
    steps = re.split(r"^\$ ", "".join(BLOCKS), flags=re.M)[1:]
    assert len(steps) > 10
    for step in steps:
        line, _, expected = step.partition("\n")
        output = [each.rstrip() for each in shell(line).splitlines()]
        assert output == [each.rstrip() for each in expected.splitlines()], line


def commands(group, path=()):
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


@pytest.mark.parametrize(
    ("name", "command"),
    [each for each in commands(typer.main.get_command(app)) if not each[0].startswith("kafka ")],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_the_page_names_every_command_and_option(name, command):
    page = PAGE.read_text(encoding="utf-8")
    assert f"millstream {name}" in page or f"`{name}" in page
    for parameter in command.params:
        options = [option for option in parameter.opts if option.startswith("-")]
        assert not options or any(re.search(rf"(?<![\w-]){o}(?![\w-])", page) for o in options)
