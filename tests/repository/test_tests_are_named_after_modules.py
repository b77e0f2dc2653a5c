"""Modules of the engine and of Spark have tests under their own names, in folders like theirs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("engine", "spark")
SHORT = 30
"""Lines up to which a module may be too small for a file of tests."""


def modules() -> set[str]:
    """The modules that are long enough to have tests of their own."""
    source = ROOT / "src" / "millstream"
    found = [path for room in ROOMS for path in (source / room).rglob("*.py")]
    long = [path for path in found if len(path.read_text("utf-8").splitlines()) > SHORT]
    return {path.relative_to(source).as_posix().removesuffix(".py") for path in long}


def with_tests() -> set[str]:
    """The modules that have a file of tests under their name."""
    tests = ROOT / "tests"
    found = [path for room in ROOMS for path in (tests / room).rglob("test_*.py")]
    places = [path.relative_to(tests) for path in found]
    return {(p.parent / p.stem.removeprefix("test_")).as_posix() for p in places}


def test_every_module_has_tests_under_its_name():
    assert sorted(modules() - with_tests()) == []
