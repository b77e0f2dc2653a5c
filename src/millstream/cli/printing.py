"""How every command prints: tables for people, JSON for machines, errors on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millstream.model.errors import MillstreamError, RunError

_JSON = "millstream.json"
_ENDLESS = 10_000  # columns: a terminal wraps long lines better than a table


def _remember(ctx: typer.Context, as_json: bool) -> bool:
    ctx.meta[_JSON] = as_json
    return as_json


AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, for machines.", callback=_remember)
]
"""The option ``--json`` of a command: an error of the command is then JSON too."""


def print_json(value: Any) -> None:
    """A value on one line of standard output."""
    _print(json.dumps(value, ensure_ascii=False) + "\n")


def print_done(what: str, names: Iterable[str], do: Callable[[str], None], as_json: bool) -> None:
    """Does something to each, and prints those that succeeded, also if one fails."""
    done: list[str] = []
    try:
        for name in names:
            do(name)
            done.append(name)
            if not as_json:
                _print(f"{what} {name}\n")
    finally:
        if as_json:
            print_json({what: done})


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table on standard output, in which nothing is cut off; numbers are aligned right."""
    cells = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        right = bool(cells) and all(isinstance(row[at], int | float | None) for row in cells)
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for row in cells:
        table.add_row(*[Text("" if cell is None else str(cell)) for cell in row])
    console = Console(highlight=False, width=_ENDLESS)
    with console.capture() as printed:
        console.print(table)
    _print("".join(f"{line.rstrip()}\n" for line in printed.get().splitlines()))


def print_line(line: str = "") -> None:
    """A line on standard output. If its reader has ended, the command ends."""
    with writing_output():
        typer.echo(line)


def print_note(line: str) -> None:
    """A line for people on standard error, where standard output has none."""
    typer.echo(line, err=True)


def _print(text: str) -> None:
    """Text on standard output. If its reader has ended, the exit code does not change."""
    try:
        with writing_output():
            typer.echo(text, nl=False)
    except BrokenPipeError:
        discard_output()


@contextmanager
def writing_output() -> Iterator[None]:
    """Surrounds writing to standard output and flushing it: a failure is an error."""
    try:
        yield
    except BrokenPipeError:  # the reader has ended
        raise
    except OSError as error:
        discard_output()
        raise RunError(
            "MS208",
            f"cannot write to standard output: {error.strerror}",
            fix="free some space there, or write it elsewhere",
        ) from error


def discard_output() -> None:
    """Discards standard output, including what would be flushed at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(error: MillstreamError, ctx: Any) -> None:
    """An error on standard error: as text, or with ``--json`` as JSON."""
    shown = {"error": {"code": error.code, "what": error.what, "fix": error.fix}}
    as_json = ctx.meta.get(_JSON, False)
    typer.echo(json.dumps(shown, ensure_ascii=False) if as_json else str(error), err=True)


@contextmanager
def progress_line(silent: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that shows what is being done, on standard error.

    In a terminal this is one line, which is removed at the end. Elsewhere it is a line for each
    action, without its progress, which follows a colon. With ``silent`` nothing is shown.
    """
    if silent:
        yield lambda _: None
        return
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        printed: set[str] = set()

        def say(text: str) -> None:
            doing, _, _ = text.partition(":")
            if doing not in printed:
                printed.add(doing)
                typer.echo(doing, err=True)

        yield say
        return
    with console.status("") as status:
        yield lambda text: status.update(Text(text))
