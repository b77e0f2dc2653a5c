"""The layout of a printed batch: a table if it fits, else several lines for each row."""

from __future__ import annotations

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from millstream.sinks.console.cells import Column

_ENOUGH = 24
"""How narrow a column of texts may get before its lines are too short to read."""
_AROUND = 3
"""The width of a column in addition to its cells: the spaces around them."""


def fitting(columns: list[Column], console: Console) -> RenderableType:
    """The rows, as wide as the console is; nothing is ever cut off.

    In a file or a pipe, lines are as long as needed.
    """
    widths = [_width(column) for column in columns]
    least = [
        min(width, _ENOUGH) if column.breaks else width
        for width, column in zip(widths, columns, strict=True)
    ]
    if not console.is_terminal:
        console.width = max(80, sum(widths) + _AROUND * len(widths))
    if sum(least) + _AROUND * len(least) <= console.width:
        return _table(columns, least)
    return _records(columns)


def _table(columns: list[Column], least: list[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column, width in zip(columns, least, strict=True):
        table.add_column(
            Text(column.title),
            justify="right" if column.number else "left",
            no_wrap=not column.breaks,
            overflow="fold",
            min_width=width,
        )
    for cells in zip(*map(_texts, columns), strict=True):
        table.add_row(*cells)
    return table


def _records(columns: list[Column]) -> RenderableType:
    records = zip(*map(_texts, columns), strict=True)
    return Group(*(Padding(_record(columns, cells), (0, 0, 1, 2)) for cells in records))


def _record(columns: list[Column], cells: tuple[Text, ...]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for column, cell in zip(columns, cells, strict=True):
        grid.add_row(Text(column.title, "bold"), cell)
    return grid


def _texts(column: Column) -> list[Text]:
    return [
        Text.assemble((cell, "red strike" if taken_back else "dim" if cell == "null" else ""))
        for cell, taken_back in zip(column.cells, column.taken_back, strict=True)
    ]


def _width(column: Column) -> int:
    return max(cell_len(text) for text in (column.title, *column.cells))
