"""The programs of the cookbook print what it says, on the Spark that all tests share."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from consoles import commands, files

COOKBOOK = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text(encoding="utf-8")
PROGRAMS = files(COOKBOOK)


@pytest.mark.parametrize(("command", "expected"), commands(COOKBOOK))
def test_a_program_of_the_cookbook_prints_what_it_says(
    spark, command, expected, tmp_path, monkeypatch, capsys
):
    name = command.removeprefix("python ")
    program = tmp_path / name
    program.write_text(PROGRAMS[name], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="__main__")
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected.splitlines())


def test_every_program_of_the_cookbook_runs():
    assert [f"python {name}" for name in PROGRAMS] == [command for command, _ in commands(COOKBOOK)]
