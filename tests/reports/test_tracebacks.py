"""What a user sees of an error: the lines of the program and the message, and little else."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

import millstream as ms


def parse(row: dict[str, Any]) -> dict[str, int]:
    return {"n": int(row["text"])}


def shown() -> list[str]:
    """The lines that Python prints of a program in which a function fails."""
    program = ms.from_rows([("x",)], schema="text string").map(parse, schema="n int").collect()
    with pytest.raises(ms.RunError) as caught:
        program.run()
    return "".join(traceback.format_exception(caught.value)).splitlines()


def test_a_traceback_begins_with_the_users_lines_and_is_short() -> None:
    lines = shown()
    assert f'File "{__file__}"' in lines[1]
    assert lines[2].strip() == 'return {"n": int(row["text"])}'
    assert len(lines) <= 30
    assert "MS201 in step 'map-1'" in lines[-3]


def test_the_environment_asks_for_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    short = shown()
    monkeypatch.setenv("MILLSTREAM_TRACEBACK", "full")
    assert len(shown()) > len(short)


def test_of_ctrl_c_python_prints_a_line_and_of_other_errors_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(row: dict[str, Any]) -> dict[str, int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(KeyboardInterrupt) as caught:
        ms.from_rows([("x",)], schema="text string").map(interrupted, "n int").collect().run()
    sys.excepthook(KeyboardInterrupt, caught.value, caught.tb)
    assert capsys.readouterr().err == "millstream: interrupted\n"
    sys.excepthook(ValueError, ValueError("x"), None)
    assert capsys.readouterr().err == "ValueError: x\n"
