"""``millstream pack``: what the executors of a cluster need, as an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.printing import AsJson, print_json, print_line
from millstream.jobs.packing import pack


def command(
    target: Annotated[
        Path, typer.Argument(metavar="ARCHIVE", help="The archive, such as packed.tar.gz.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", exists=True, help="Modules and packages of the program."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Packs Millstream, what it depends on and modules of yours for machines without them.

    Their Python must have the same version, and the same operating system, as this one. Then:
    `millstream run APP.PY --master spark://… --archive ARCHIVE`.
    """
    pack(target, files or [])
    size = target.stat().st_size
    if as_json:
        print_json({"archive": str(target), "bytes": size})
    else:
        print_line(f"packed {target}, {size / 1_000_000:.0f} MB")
