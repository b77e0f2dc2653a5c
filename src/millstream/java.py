"""Finds the Java that Spark and Kafka run on, before they fail to."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from millstream.model.errors import RunError


def checked_java(environment: Mapping[str, str]) -> str | None:
    """The home of the Java to use; None where the one on ``PATH`` will do.

    ``JAVA_HOME`` comes first, then what set-up put beside this Python, then ``PATH``.
    """
    home = environment.get("JAVA_HOME") or _found_by_setup()
    if home and Path(home, "bin", "java").exists():
        return home
    if not home and shutil.which("java", path=environment.get("PATH")):
        return None
    why = f"JAVA_HOME is {home!r}, where no java is" if home else "there is none on PATH"
    raise RunError(
        "MS205",
        f"Spark and Kafka need Java 17 or newer, but {why}",
        fix="install one (Debian, Ubuntu: sudo apt-get install default-jre-headless), "
        "or set JAVA_HOME to one",
    )


def java_command(environment: Mapping[str, str]) -> str:
    """What to run for Java."""
    home = checked_java(environment)
    return str(Path(home, "bin", "java")) if home else "java"


def _found_by_setup() -> str:
    found = Path(sys.prefix, "java-home")
    return found.read_text(encoding="utf-8").strip() if found.exists() else ""
