"""``millstream state``: looks at what a job keeps, without changing it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from millstream.cli.printing import AsJson, print_json, print_line, print_note, print_table
from millstream.jobs.registry.registry import opened_registry

app = typer.Typer(help="The state of jobs.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps this a group, however few commands it has."""


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="JOB", help="The name or id of a job.", show_default=False)
    ],
    step: Annotated[str | None, typer.Option(metavar="STEP", help="Only of this step.")] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE", help="The rows of this key. Repeat it if a step has several keys."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What the steps of a job keep, as of its last committed batch; or the rows of one key.

    The job may run meanwhile. Spark is started to read it.
    """
    from millstream.jobs.stored_state import rows_of_key, state_of

    with opened_registry() as registry:
        job = registry.job(name)
    if key:
        found = rows_of_key(job, key, step)
        if as_json:
            print_json(found)
            return
        if not found:
            print_note(f"job {job.name!r} keeps no rows of the key {', '.join(key)}")
        for each in found:
            print_line(f"{each['step']}: {each['table']} of bucket {each['bucket']}")
            columns = list(each["rows"][0])
            print_table(columns, ([_cell(row[c]) for c in columns] for row in each["rows"]))
        return
    steps = state_of(job, step)
    if as_json:
        print_json(steps)
    elif steps:
        columns = ["step", "rows", "bytes", "shards", "oldest window", "watermark"]
        print_table(columns, (each.values() for each in steps))
    else:
        print_note(f"job {job.name!r} has no step that keeps state")


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, int | float) else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
