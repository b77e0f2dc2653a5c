"""The table that is printed at the end."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.results import Result
from benchmarks.spec import ENGINES, TITLES


def print_table(console: Console, results: list[Result]) -> None:
    """Prints the results, side by side."""
    table = Table(show_lines=True)
    table.add_column("measured")
    for engine in ENGINES:
        table.add_column(TITLES[engine], justify="right", no_wrap=True)
    table.add_column("ratio", justify="right")
    table.add_column("to reach", justify="right")
    table.add_column("reached")
    for result in results:
        table.add_row(
            f"{result.title}\n[dim]{result.name}[/dim]",
            *(result.cells.get(engine, "") for engine in ENGINES),
            result.target.shown(result.value),
            str(result.target),
            "[green]yes[/green]" if result.reached else "[red]no[/red]",
        )
    console.print(table)
