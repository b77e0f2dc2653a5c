"""Functions that fail in every way that a user's function can."""

from __future__ import annotations

import threading


class WithoutTextError(Exception):
    """An exception that cannot be written."""

    def __str__(self):
        raise RuntimeError("no text")


class ExitingTextError(Exception):
    """An exception whose text ends the program."""

    def __str__(self):
        raise SystemExit(4)


class HeldError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self):
        super().__init__("held")
        self.lock = threading.Lock()


class Base(BaseException):
    """Not even an Exception."""


class Silent:
    """A value that cannot be written."""

    def __repr__(self):
        raise ValueError("no text")


FAULTS = {
    "text": (WithoutTextError(), "WithoutTextError: <WithoutTextError without text: RuntimeErr"),
    "exiting": (ExitingTextError(), "ExitingTextError: <ExitingTextError without text: SystemExit"),
    "exit": (SystemExit(3), "SystemExit: 3"),
    "base": (Base("x"), "Base: x"),
    "generator": (GeneratorExit("x"), "GeneratorExit: x"),
    "stop": (StopIteration("x"), "StopIteration: x"),
    "huge": (ValueError("x" * 10_000_000), "ValueError: xxx"),
    "memory": (MemoryError(), "MemoryError: "),
}


def fail(row):
    """Fails on each row in the way that it names, and returns what is no row on others."""
    how = row["how"]
    if how == "held":
        raise HeldError
    if how in FAULTS:
        raise FAULTS[how][0]
    if how == "silent":
        return {"how": Silent()}
    return how


def yields(row):
    """Fails after the first row that it gives."""
    yield row["how"]
    if row["how"] != "fine":
        fail(row)
        yield Silent()


HOWS = [*FAULTS, "held", "silent", "fine"]


def expected(how):
    """How the reason begins."""
    if how == "held":
        return "HeldError: held"
    if how == "silent":
        return "the result of fail has <Silent without text: ValueError in its repr> in column"
    return FAULTS[how][1]
