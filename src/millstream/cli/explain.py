"""``millstream explain``: the plan of an application file, without running it."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.application import Application
from millstream.cli.connecting import pairs
from millstream.cli.printing import AsJson, print_json
from millstream.cli.run import App, Set


def command(
    app: App,
    set_: Set = None,
    physical: Annotated[
        bool, typer.Option("--physical", help="How it runs on Spark: in which stages, and where.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Shows the plan of a pipeline: its steps, and what each does."""
    pipeline = Application.parse(app).pipeline(pairs(set_, "--set"))
    if as_json:
        print_json(pipeline.to_dict())
    else:
        pipeline.explain("physical" if physical else "logical")
