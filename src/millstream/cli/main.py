"""The command ``millstream`` and its groups of commands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from millstream.cli import (
    checkpoint,
    console,
    consume,
    explain,
    groups,
    help,
    jobs,
    kafka,
    pack,
    produce,
    run,
    state,
    topics,
)
from millstream.cli.printing import discard_output, print_error, print_line
from millstream.model.errors import MillstreamError


class _Millstream(TyperGroup):
    """Handles errors of commands.

    An error of Millstream is shown without a traceback: its message has what to do. Exit code 1.
    """

    def get_params(self, ctx: Any) -> Any:
        return _with_plain_flags(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for each in (command, *getattr(command, "commands", {}).values()):
            if each is not None:
                _with_plain_flags(each.get_params(ctx))
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MillstreamError as error:
            print_error(error, ctx)
            raise typer.Exit(1) from error
        except BrokenPipeError:  # the reader has ended, as in "consume | head"
            discard_output()


def _with_plain_flags(parameters: list[Any]) -> list[Any]:
    """Flags take no value, so help shows none: Typer would write ``<bool>`` after each."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


app = typer.Typer(
    cls=_Millstream,
    help="The Dataflow model for Python, on Spark, over Kafka.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("run")(run.command)
app.add_typer(jobs.app, name="jobs")
app.command("console")(console.command)
app.command("explain")(explain.command)
app.command("pack")(pack.command)
app.add_typer(kafka.app, name="kafka")
app.add_typer(topics.app, name="topics")
app.command("produce")(produce.command)
app.command("consume")(consume.command)
app.add_typer(groups.app, name="groups")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(state.app, name="state")
app.command("help")(help.command)


def _print_version(asked: bool) -> None:
    if asked:
        print_line(f"millstream {version('millstream')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """The Dataflow model for Python, on Spark, over Kafka."""


def main() -> None:
    """Runs the command line of this process."""
    app(prog_name="millstream")
