"""The files of a source, as Spark would find them on this machine, before a job reads them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from millstream.model.errors import RunError
from millstream.plan.layouts import Options

_WILD = "*?[{\\"
_CHOOSING = ("modifiedbefore", "modifiedafter", "maxfileage", "basepath")


def listed(path: str, options: Options) -> list[Path] | None:
    """The files at a path, newest first; None if only Spark knows which it would choose."""
    given = {name.lower(): value for name, value in options}
    if "{" in path or "\\" in path or any(name in given for name in _CHOOSING):
        return None
    everywhere = given.get("recursivefilelookup", "").lower() == "true"
    like = given.get("pathglobfilter", "*")
    places = map(Path, glob.glob(plain(path)))
    found = {file for place in places for file in _files(place, everywhere)}
    return sorted((f for f in found if fnmatchcase(f.name, like)), key=_age)


def plain(path: str) -> str:
    """A path of this machine, without a scheme.

    >>> plain("file:///data/x"), plain("/data/x")
    ('/data/x', '/data/x')
    """
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def check_there(path: str, bounded: bool, step: str | None = None) -> None:
    """MS215: there is something at the path.

    To a pattern that is read without end, something may come that fits: only what is before its
    first wildcard must be there.
    """
    place = plain(path)
    if "{" in place or "\\" in place:
        return  # what that fits, Spark knows
    wild = any(sign in place for sign in _WILD)
    before = Path(*(p for p in _until_wild(Path(place)))) if wild else Path(place)
    if not before.exists():
        raise _missing(before, path, step)
    if wild and bounded and not glob.glob(place):
        raise RunError(
            "MS215",
            f"nothing fits the pattern {path!r}{_beside(before)}",
            fix="write a pattern that fits, or put the files there before the job starts",
            step=step,
        )


def _until_wild(path: Path) -> Iterator[str]:
    for part in path.parts:
        if any(sign in part for sign in _WILD):
            return
        yield part


def _missing(place: Path, path: str, step: str | None) -> RunError:
    known = next(parent for parent in place.parents if parent.exists())
    missing = place.parts[len(known.parts)]
    names = sorted(os.listdir(known)) if known.is_dir() and os.access(known, os.R_OK) else []
    close = get_close_matches(missing, names, n=1)
    hint = f"did you mean {str(known / close[0])!r}? Else make" if close else "make"
    return RunError(
        "MS215",
        f"there is no file or folder {path!r}: {str(known)!r} has no {missing!r}",
        fix=f"{hint} the folder before the job starts: mkdir -p {place}",
        step=step,
    )


def _beside(folder: Path) -> str:
    names = sorted(os.listdir(folder))[:5] if folder.is_dir() else []
    return f"; in {str(folder)!r} there are: {', '.join(names)}, …" if names else ""


def _files(place: Path, everywhere: bool) -> Iterator[Path]:
    """The files in a folder, and in folders below it whose names say a value, such as ``day=1``."""
    if place.is_file():
        yield place
        return
    for entry in os.scandir(place):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_file():
            yield Path(entry.path)
        elif everywhere or "=" in entry.name:
            yield from _files(Path(entry.path), everywhere)


def _age(file: Path) -> tuple[float, str]:
    with suppress(FileNotFoundError):  # it was there a moment ago
        return -file.stat().st_mtime, str(file)
    return 0.0, str(file)
