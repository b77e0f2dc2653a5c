"""The fields of a processor's state."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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


@pytest.mark.parametrize(
    ("hint", "default", "wrong"),
    [
        (int, "x", r"its default 'x' does not fit BIGINT"),
        (dict[int, int], defaultdict(int), "its default is a defaultdict"),
        (dict[tuple[int, int], int], {}, "has keys with parts"),
    ],
)
def test_a_default_that_a_column_cannot_have_is_refused(
    hint: Any, default: Any, wrong: str
) -> None:
    class Odd(Plain):
        state = type(
            "state",
            (),
            {"__annotations__": {"n": hint}, "n": field(default_factory=lambda: default)},
        )

    with pytest.raises(PlanError, match=f"MS130.*field 'n' of the state of Odd: .*{wrong}"):
        state_of(Odd())


@pytest.mark.parametrize("given", [int, NamedTuple("Pair", [("x", int)])])
def test_a_state_whose_values_cannot_change_is_refused(given: Any) -> None:
    class Odd(Plain):
        state = given

    with pytest.raises(PlanError, match="MS130.*whose values cannot change"):
        state_of(Odd())


def test_a_list_as_the_default_of_a_class_of_fields_is_that_of_each_key() -> None:
    class Lists(Plain):
        class state:  # noqa: N801
            items: list[int] = []  # noqa: RUF012
            tags: set[str] = {"new"}  # noqa: RUF012
            of_all: ClassVar[list[int]] = [7]

    state = state_of(Lists())
    assert state is not None
    assert [each.default for each in state.fields] == [[], ["new"]]
    one, other = state.kind(), state.kind()
    one.items.append(1)
    assert (other.items, other.of_all) == ([], [7])


def test_fields_for_keywords_only_and_those_of_a_base_are_fields() -> None:
    @dataclass
    class Base:
        first: int = 1

    class Added(Base):
        second: int = field(default=2, kw_only=True)

    class Both(Plain):
        state = Added

    state = state_of(Both())
    assert state is not None
    assert [(each.name, each.default) for each in state.fields] == [("first", 1), ("second", 2)]
    made = state.make(5, 6)
    assert (made.first, made.second) == (5, 6)
