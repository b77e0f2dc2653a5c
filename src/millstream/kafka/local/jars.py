"""The jars on this machine: fetched once into a cache, and checked each time they are used."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from millstream.kafka.local.ivy import fetch
from millstream.kafka.local.jar import Jar, JarKind, pinned
from millstream.model.errors import KafkaError
from millstream.system.locking import locked

Say = Callable[[str], None]
"""Gets a short text for people who wait: what is being done now."""


def jars(kind: JarKind, say: Say = lambda _: None) -> list[Path]:
    """Where the jars are on this machine. The network is used only for those not yet cached."""
    cache = cache_directory(os.environ)
    needed = pinned(kind)
    try:
        if not all((cache / jar.file).exists() for jar in needed):
            cache.mkdir(parents=True, exist_ok=True)
            waiting = "waiting for another process that fetches jars"
            with locked(cache / "lock", lambda: say(waiting)):
                missing = [jar for jar in needed if not (cache / jar.file).exists()]
                if missing:
                    _fetch(missing, cache, say)
        for jar in needed:
            check(jar, cache / jar.file)
    except OSError as error:
        raise _no_cache(cache, str(error)) from error
    return [cache / jar.file for jar in needed]


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where the jars are kept: in the user's cache directory, as XDG has it.

    >>> cache_directory({"XDG_CACHE_HOME": "/home/ann/.cache"}).as_posix()
    '/home/ann/.cache/millstream/jars'
    """
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "millstream", "jars")


def check(jar: Jar, file: Path) -> None:
    """MS303 if a file is not the jar that is pinned."""
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != jar.sha256:
        raise KafkaError(
            "MS303",
            f"{file} is not {jar}: its SHA-256 is {found}, and should be {jar.sha256}",
            fix="delete the file and run this again, to fetch the jar again",
        )


def _fetch(missing: list[Jar], cache: Path, say: Say) -> None:
    """Fetches jars into the cache, all of them whole and checked, or none."""
    folder = cache / "fetching"
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
    folder.mkdir()
    try:
        output = fetch(missing, folder, say)
        absent = [jar for jar in missing if not (folder / jar.file).exists()]
        if absent and any("No space left on device" in line for line in output):
            raise _no_cache(cache, "No space left on device")
        if absent:
            raise _not_fetched(absent, output)
        for jar in missing:
            check(jar, folder / jar.file)
        for jar in missing:
            (folder / jar.file).rename(cache / jar.file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _no_cache(cache: Path, why: str) -> KafkaError:
    return KafkaError(
        "MS303",
        f"jars cannot be kept in {cache}: {why}",
        fix="make room there, or set XDG_CACHE_HOME to a directory that you can write to",
    )


def _not_fetched(missing: list[Jar], output: list[str]) -> KafkaError:
    text = "\n".join(output)
    reason = re.search(r"^Server access error at url \S+ (\(.*\))$", text, re.MULTILINE)
    why = f" {reason[1]}" if reason else ""
    # Ivy fetches none if one is not found.
    named = [jar for jar in missing if f"{jar.module};{jar.revision}: not found" in text] or missing
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return KafkaError(
        "MS303",
        f"{named[0]}{more} could not be fetched{why}",
        fix="connect to the network and run this again; behind a proxy, name it in "
        "JAVA_TOOL_OPTIONS or name your own repository in ~/.ivy2/ivysettings.xml",
    )
