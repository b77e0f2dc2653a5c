"""The fields of a processor's state."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.types.fields import state_of


class Plain(ms.Processor):
    class state:  # noqa: N801
        n: int = 0
        tags: set[str] = field(default_factory=set)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def test_a_class_of_fields_has_their_types_and_defaults() -> None:
    state = state_of(Plain())
    assert state is not None
    assert list(map(str, state.fields)) == ["n BIGINT", "tags ARRAY<STRING>"]
    assert [each.default for each in state.fields] == [0, []]


def test_a_class_of_fields_is_made_in_a_process_that_imports_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import millstream as ms\n"
        "class Mine(ms.Processor):\n"
        "    class state:\n"
        "        n: int = 0\n"
        "    def on_row(self, row, state, timers, out): pass\n"
    )
    make = (
        "import pickle, sys, mine; from millstream.plan.types.fields import state_of; "
        "sys.stdout.buffer.write(pickle.dumps(state_of(mine.Mine())))"
    )
    read = "import pickle, sys; print(pickle.load(sys.stdin.buffer).kind(5).n)"
    made = _ran(make, tmp_path)
    assert _ran(read, tmp_path, made) == b"5\n"


def _ran(program: str, folder: Path, given: bytes = b"") -> bytes:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("hint", "wrong"),
    [
        ("object", "field 'n' of the state of Odd: <class 'object'> has no Spark type"),
        ("list[set[int]]", "has sets inside"),
        ("int | str", "has no Spark type"),
    ],
)
def test_a_field_without_a_type_of_columns_is_refused(hint: str, wrong: str) -> None:
    class Odd(Plain):
        state = type("state", (), {"__annotations__": {"n": eval(hint)}, "n": None})

    with pytest.raises(PlanError, match=f"MS130.*{wrong}"):
        state_of(Odd())
