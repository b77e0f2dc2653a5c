"""The names of files in the folder of a sink.

    part-<run>-<batch>-<slice>-<token>.<ending>    what readers see, or <column>=<value>/…/part-…
    _millstream/<run>/<owner>/*.tmp                what tasks write
    _millstream/<run>/<owner>/<batch>.json         which of them become visible, and under what name

The owner is the process that owns the job's checkpoint, with its token (see ``sinks/fence.py``);
without a checkpoint there is none.
"""

from __future__ import annotations

from collections.abc import Iterable


def hidden_folder(run: str, owner: str = "") -> str:
    """Where an owner's tasks write; a job without a checkpoint has no owner."""
    return f"_millstream/{run}/{owner}".rstrip("/")


def decision_name(batch: int) -> str:
    """The file that lists what a batch makes visible."""
    return f"{batch:010}.json"


def is_decision(name: str) -> bool:
    """Whether a hidden file is the decision of a batch."""
    return name.endswith(".json")


def results_in(files: Iterable[str]) -> list[str]:
    """Of all files below a folder, those with results: part files of Millstream, Spark or others.

    >>> results_in(["part-1.json", "team=red/part-2.json", "notes.txt", "old/part-3.json"])
    ['part-1.json', 'team=red/part-2.json']
    """
    split = ((name, name.split("/")) for name in files)
    return [
        name
        for name, (*folders, file) in split
        if file.startswith("part-") and all("=" in folder for folder in folders)
    ]
