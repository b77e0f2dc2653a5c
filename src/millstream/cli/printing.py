"""How every command prints: tables for people, JSON for machines, errors on standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millstream.model.errors import MillstreamError

_JSON = "millstream.json"
_ENDLESS = 10_000  # columns: a terminal breaks long lines better than a table


def _remember(ctx: typer.Context, as_json: bool) -> bool:
    ctx.meta[_JSON] = as_json
    return as_json


AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, for machines.", callback=_remember)
]
"""The option ``--json`` of a command: an error of the command is then JSON too."""


def print_json(value: Any) -> None:
    """A value on one line of standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table on standard output, in which nothing is cut off; numbers stand to the right."""
    cells = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        right = bool(cells) and all(isinstance(row[at], int | float | None) for row in cells)
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for row in cells:
        table.add_row(*[Text("" if cell is None else str(cell)) for cell in row])
    Console(highlight=False, width=_ENDLESS).print(table)


def print_error(error: MillstreamError, ctx: Any) -> None:
    """An error on standard error: as text, or with ``--json`` as JSON."""
    told = {"error": {"code": error.code, "what": error.what, "fix": error.fix}}
    as_json = ctx.meta.get(_JSON, False)
    typer.echo(json.dumps(told, ensure_ascii=False) if as_json else str(error), err=True)


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """A function that tells what is being done, on standard error.

    In a terminal that is one line, which is gone in the end. Elsewhere it is a line for each thing,
    without how far it is: that stands behind a colon.
    """
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        said: set[str] = set()

        def say(text: str) -> None:
            doing, _, _ = text.partition(":")
            if doing not in said:
                said.add(doing)
                typer.echo(doing, err=True)

        yield say
        return
    with console.status("") as status:
        yield lambda text: status.update(Text(text))
