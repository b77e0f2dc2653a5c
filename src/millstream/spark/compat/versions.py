"""Which Spark this room works with: it reaches behind PySpark's public names in several places."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from millstream.model.errors import RunError

SPARK = "4.2"
"""The release of Spark and PySpark that is needed, whatever comes behind it."""


def check_pyspark() -> None:
    """MS222: the installed PySpark is of another release, or there is none."""
    found = installed_pyspark()
    if found is None:
        raise _wrong("no PySpark is installed")
    if not fits(found):
        raise _wrong(f"PySpark {found} is installed{_also(found)}")


def installed_pyspark() -> str | None:
    """The version that ``import pyspark`` would give: without importing it, for writers need none.

    The version of the package is not always that: PYTHONPATH may have another one in front of it.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    loader: Any = spec.loader  # Spark's workers import PySpark from a zip
    text = loader.get_data(str(Path(spec.origin).with_name("version.py"))).decode()
    said = re.search(r"^__version__[^=]*= *[\"']([^\"']+)", text, re.MULTILINE)
    return said[1] if said else "of an unknown version"


def check_spark(found: str) -> None:
    """MS222: the Spark that a session belongs to is of another release."""
    if not fits(found):
        raise _wrong(f"the session is of Spark {found}")


def fits(found: str) -> bool:
    """Whether a version is of the release that is needed.

    >>> fits("4.2.0"), fits("4.2.1.dev0"), fits("4.20.0"), fits("3.5.7")
    (True, True, False, False)
    """
    return f"{found}.".startswith(f"{SPARK}.")


def _also(found: str) -> str:
    """Where PYTHONPATH hides the package that is installed, what that is."""
    try:
        installed = version("pyspark")
    except PackageNotFoundError:
        return ""
    return f", in front of {installed}" if installed != found else ""


def _wrong(what: str) -> RunError:
    return RunError(
        "MS222",
        f"Millstream runs on Spark {SPARK}, but {what}",
        fix=f"pip install 'pyspark=={SPARK}.*'; if PYTHONPATH or SPARK_HOME names another Spark, "
        "unset it. A cluster or a server of Spark Connect must be of that release, too",
    )
