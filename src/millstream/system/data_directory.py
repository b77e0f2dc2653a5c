"""The data directory: what Millstream keeps for a project, such as local brokers and its jobs."""

from __future__ import annotations

import os
from pathlib import Path

DATA = "MILLSTREAM_DATA"
"""The environment variable that names another data directory."""


def data_directory(given: str | os.PathLike[str] | None = None) -> Path:
    """The given one, else that of the environment, else ``.millstream`` in the current directory.

    >>> data_directory("/srv/scores")
    PosixPath('/srv/scores')
    """
    root = given or os.environ.get(DATA) or ".millstream"
    return Path(root).expanduser().absolute()


def make_data_directory(directory: Path) -> None:
    """Creates it, if it is missing, so that version control ignores its content."""
    if not directory.exists():
        directory.mkdir(parents=True, exist_ok=True)
        (directory / ".gitignore").write_text("*\n")
