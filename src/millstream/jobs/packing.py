"""Packs what executors of a cluster need, for machines that have only Python and Spark.

The archive has Millstream and what it depends on, as they are installed here, but for PySpark,
which Spark brings along. Spark unpacks it beside each executor.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from millstream.model.errors import RunError

FOLDER = "packed"
"""The folder beside an executor in which Spark unpacks it."""
_MILLSTREAM = Path(__file__).parents[1]
_BROUGHT_ALONG = frozenset({"pyspark", "py4j"})
_LEFT_OUT = frozenset({"__pycache__", "tests"})


def pack(target: Path, files: Iterable[Path] = ()) -> None:
    """Writes the archive; ``files`` are modules and packages of the program itself."""
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = target.with_name(f"{target.name}.tmp")
    with tarfile.open(begun, "w:gz", compresslevel=1) as archive:
        for name, path in _contents(files).items():
            archive.add(path, str(name), recursive=False)
    begun.replace(target)


def settings_of(archive: str) -> dict[str, str]:
    """The settings of Spark with which executors use an archive; MS237 if it cannot be read."""
    if "://" not in archive and not Path(archive).is_file():
        raise RunError(
            "MS237",
            f"there is no archive {archive!r} for the executors",
            fix="make it first: millstream pack packed.tar.gz",
        )
    return {"spark.archives": f"{archive}#{FOLDER}", "spark.executorEnv.PYTHONPATH": FOLDER}


def _needed(name: str, known: set[str] | None = None) -> Iterator[Distribution]:
    """A distribution and all that it needs, each once."""
    known = set(_BROUGHT_ALONG) if known is None else known
    if name in known:
        return
    known.add(name)
    try:
        found = distribution(name)
    except PackageNotFoundError:  # for another platform
        return
    yield found
    for requirement in found.requires or ():
        wanted, _, marker = requirement.partition(";")
        if "extra ==" not in marker:
            yield from _needed(_normal(wanted), known)


def _normal(requirement: str) -> str:
    """The name in a requirement.

    >>> _normal("Typing_Extensions>=4.5 "), _normal("pyarrow")
    ('typing-extensions', 'pyarrow')
    """
    found = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[1]).lower()


def _contents(files: Iterable[Path]) -> dict[PurePosixPath, Path]:
    """The files of the archive by their names in it."""
    found: dict[PurePosixPath, Path] = {}
    for each in _needed("millstream"):
        for file in each.files or ():
            if ".." not in file.parts and not file.is_absolute():
                found[PurePosixPath(file)] = Path(str(each.locate_file(file)))
    # Installed from a clone, Millstream is not among the installed files.
    for path in (_MILLSTREAM, *files):
        below = path.rglob("*") if path.is_dir() else [path]
        found |= {PurePosixPath(each.relative_to(path.parent)): each for each in below}
    return {
        name: path
        for name, path in sorted(found.items())
        if path.is_file() and not _LEFT_OUT.intersection(name.parts)
    }
