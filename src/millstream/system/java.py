"""Finds the Java that Spark and Kafka run on, before they start."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millstream.model.errors import RunError


def checked_java(environment: Mapping[str, str]) -> str | None:
    """The home of the Java to use; None for the one on ``PATH``.

    ``JAVA_HOME`` is first, then the one that set-up has found or installed, then ``PATH``.
    """
    home = environment.get("JAVA_HOME") or _found_by_setup()
    if home and shutil.which(Path(home, "bin", "java")):
        return home
    if not home and shutil.which("java", path=environment.get("PATH")):
        return None
    raise _no_java(
        f"JAVA_HOME is {home!r}, which has no java that can be run"
        if home
        else "there is none on PATH"
    )


def java_command(environment: Mapping[str, str]) -> str:
    """The command for Java."""
    home = checked_java(environment)
    return str(Path(home, "bin", "java")) if home else "java"


@contextmanager
def java_runs() -> Iterator[None]:
    """Surrounds the start of a Java, which may be built for another kind of machine."""
    try:
        yield
    except OSError as error:
        raise _no_java(f"the system cannot run the one that is there: {error}") from error


def _no_java(why: str) -> RunError:
    return RunError(
        "MS205",
        f"Spark and Kafka need Java 17 or newer, but {why}",
        fix="install one (Debian, Ubuntu: sudo apt-get install default-jre-headless), "
        "or set JAVA_HOME to one",
    )


def _found_by_setup() -> str:
    found = Path(sys.prefix, "java-home")
    return found.read_text(encoding="utf-8").strip() if found.exists() else ""
