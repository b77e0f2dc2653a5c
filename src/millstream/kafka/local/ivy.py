"""Ivy, the tool inside PySpark that fetches jars.

Its settings apply: those of ``~/.ivy2/ivysettings.xml``, or else its own.
"""

from __future__ import annotations

import os
import queue
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from millstream.kafka.local.jar import Jar
from millstream.system.java import java_command, java_runs

_AT_ONCE = 4


def fetch(jars: list[Jar], folder: Path, say: Callable[[str], None]) -> list[str]:
    """Fetches into the folder those of the jars that are found; returns what Ivy has printed.

    One Ivy fetches one jar after the other, and waits for the network most of the time, so several
    run at once.
    """
    parts = [jars[i::_AT_ONCE] for i in range(min(_AT_ONCE, len(jars)))]
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    output: list[str] = []
    found, fetched, running = 0, 0, len(parts)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        runs = [pool.submit(_run, p, folder, i, lines.put) for i, p in enumerate(parts)]
        while running:
            line = lines.get()
            if line is None:
                running -= 1
                continue
            output.append(line.strip())
            found += line.startswith("\tfound ")
            fetched += "[SUCCESSFUL ]" in line
            doing = f"fetching jars: {fetched}" if fetched else f"finding jars: {found}"
            say(f"{doing} of {len(jars)}")
    for run in runs:
        run.result()
    return output


def _run(jars: list[Jar], folder: Path, number: int, put: Callable[[str | None], None]) -> None:
    """Runs one Ivy; puts each line that it prints, and None at its end."""
    file = folder / f"ivy-{number}.xml"
    settings = Path.home() / ".ivy2" / "ivysettings.xml"
    try:
        file.write_bytes(_description(jars))
        with (
            java_runs(),
            subprocess.Popen(
                [
                    *(java_command(os.environ), "-jar", str(_jar())),
                    *(["-settings", str(settings)] if settings.exists() else []),
                    # Its shared cache would need a lock against all other processes that use it.
                    *("-cache", str(folder / f"cache-{number}")),
                    *("-ivy", str(file)),
                    *("-retrieve", f"{folder}/[artifact]-[revision].[ext]"),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                put(line)
    finally:
        put(None)


def _description(jars: list[Jar]) -> bytes:
    """The file that lists what Ivy is to fetch: these jars without their dependencies."""
    module = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(module, "info", organisation="millstream", module="jars")
    dependencies = ElementTree.SubElement(module, "dependencies")
    for jar in jars:
        ElementTree.SubElement(
            dependencies,
            "dependency",
            {"org": jar.organisation, "name": jar.module, "rev": jar.revision},
            conf="default->master(default)",
            transitive="false",
        )
    return ElementTree.tostring(module)


def _jar() -> Path:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.submodule_search_locations is not None
    return next(Path(spark.submodule_search_locations[0], "jars").glob("ivy-*.jar"))
