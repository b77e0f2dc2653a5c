"""``millstream checkpoint``: changes to the checkpoint of a job that is not running."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.printing import print_line
from millstream.model.instants import instant

app = typer.Typer(help="Checkpoints of jobs.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps this a group, however few commands it has."""


@app.command()
def repair(
    folder: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The folder given to run().")],
    job: Annotated[str, typer.Argument(metavar="JOB", help="The name of the job.")],
    watermark: Annotated[str, typer.Option(metavar="TIME", help="Such as '2026-11-17T12:00:00Z'.")],
) -> None:
    """Moves the watermark of a job back, after a wrong event time has moved it too far."""
    from millstream.spark.driver.repairs import repair as request_repair

    made = request_repair(folder, job, instant(watermark, what="watermark"))
    print_line(f"the watermark of {job!r} is moved back to {watermark} in batch {made.batch}")
