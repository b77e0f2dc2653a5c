"""The command ``millstream`` and its groups of commands."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from millstream.cli import consume, groups, kafka, produce, topics
from millstream.cli.printing import discard_output, print_error
from millstream.model.errors import MillstreamError


class _Millstream(TyperGroup):
    """How commands end that do not come to their end.

    An error of Millstream's is told, not traced: its message says what to do. Exit code 1.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MillstreamError as error:
            print_error(error, ctx)
            raise typer.Exit(1) from error
        except BrokenPipeError:  # who reads has enough, as in "consume | head"
            discard_output()


app = typer.Typer(
    cls=_Millstream,
    help="The Dataflow model for Python, on Spark, over Kafka.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.add_typer(kafka.app, name="kafka")
app.add_typer(topics.app, name="topics")
app.command("produce")(produce.command)
app.command("consume")(consume.command)
app.add_typer(groups.app, name="groups")


@app.callback()
def _group() -> None:
    """Keeps ``millstream`` a group, however few commands it has."""


def main() -> None:
    """Runs the command line of this process."""
    app(prog_name="millstream")
