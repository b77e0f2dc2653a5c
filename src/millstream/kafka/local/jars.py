"""The jars of Kafka's brokers and of Spark's connector: pinned, fetched once, and checked.

Which jars there are stands in ``jars.toml``, each with its SHA-256. The Ivy inside PySpark fetches
them, and its settings apply: those of ``~/.ivy2/ivysettings.xml``, or else its own.
"""

from __future__ import annotations

import hashlib
import os
import queue
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from millstream.model.errors import KafkaError
from millstream.system.java import java_command, java_runs
from millstream.system.locking import locked

Say = Callable[[str], None]
"""Is told what is being done, for people who wait."""


@dataclass(frozen=True)
class Jar:
    """A jar in the words of Maven, and the SHA-256 that it must have."""

    organisation: str
    module: str
    revision: str
    sha256: str

    @property
    def file(self) -> str:
        """Its file name, which no other pinned jar has."""
        return f"{self.module}-{self.revision}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.module}:{self.revision}"


def pinned(kind: Literal["broker", "connector"]) -> list[Jar]:
    r"""The jars that a broker needs, or Spark to read from and write to Kafka.

    >>> print(*pinned("connector"), sep="\n")
    org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0
    org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0
    org.apache.kafka:kafka-clients:3.9.2
    org.apache.commons:commons-pool2:2.13.1
    """
    pins = tomllib.loads(files(__package__).joinpath("jars.toml").read_text(encoding="utf-8"))
    return [_jar(name, sha256) for name, sha256 in pins[kind].items()]


_AT_ONCE = 4


def _jar(name: str, sha256: str) -> Jar:
    organisation, module, revision = name.split(":")
    return Jar(organisation, module, revision, sha256)


def jars(kind: Literal["broker", "connector"], say: Say = lambda _: None) -> list[Path]:
    """Where the jars are on this machine. The network is used only for those not yet cached."""
    cache = cache_directory(os.environ)
    wanted = pinned(kind)
    try:
        if not are_cached(kind):
            cache.mkdir(parents=True, exist_ok=True)
            waiting = "waiting for another process that fetches jars"
            with locked(cache / "lock", lambda: say(waiting)):
                missing = [jar for jar in wanted if not (cache / jar.file).exists()]
                if missing:
                    _fetch(missing, cache, say)
        for jar in wanted:
            check(jar, cache / jar.file)
    except OSError as error:
        raise _no_cache(cache, str(error)) from error
    return [cache / jar.file for jar in wanted]


def are_cached(kind: Literal["broker", "connector"]) -> bool:
    """Whether all of them are on this machine."""
    cache = cache_directory(os.environ)
    return all((cache / jar.file).exists() for jar in pinned(kind))


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where the jars are kept: in the user's cache directory, as XDG has it.

    >>> cache_directory({"XDG_CACHE_HOME": "/home/ann/.cache"}).as_posix()
    '/home/ann/.cache/millstream/jars'
    """
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "millstream", "jars")


def check(jar: Jar, file: Path) -> None:
    """Makes sure that a file is the jar that is pinned."""
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != jar.sha256:
        raise KafkaError(
            "MS303",
            f"{file} is not {jar}: its SHA-256 is {found}, and should be {jar.sha256}",
            fix="delete the file and run this again, to fetch the jar anew",
        )


def _fetch(missing: list[Jar], cache: Path, say: Say) -> None:
    """Fetches jars into the cache, all of them whole and checked, or none."""
    folder = cache / "fetching"
    shutil.rmtree(folder, ignore_errors=True)  # left by one who was killed
    folder.mkdir()
    try:
        output = _run_ivies(missing, folder, say)
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


def _run_ivies(missing: list[Jar], folder: Path, say: Say) -> list[str]:
    """What Ivy says; the jars are in the folder then, as far as it could fetch them.

    Ivy fetches one after the other, and waits for the network most of the time: so there are some.
    """
    parts = [missing[i::_AT_ONCE] for i in range(min(_AT_ONCE, len(missing)))]
    told: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    output: list[str] = []
    found, fetched, running = 0, 0, len(parts)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        runs = [pool.submit(_run_ivy, p, folder, i, told.put) for i, p in enumerate(parts)]
        while running:
            line = told.get()
            if line is None:
                running -= 1
                continue
            output.append(line.strip())
            found += line.startswith("\tfound ")
            fetched += "[SUCCESSFUL ]" in line
            doing = f"fetching jars: {fetched}" if fetched else f"finding jars: {found}"
            say(f"{doing} of {len(missing)}")
    for run in runs:
        run.result()
    return output


def _run_ivy(
    jars: list[Jar], folder: Path, number: int, tell: Callable[[str | None], None]
) -> None:
    """Tells each line that Ivy says, and None at its end."""
    file = folder / f"ivy-{number}.xml"
    settings = Path.home() / ".ivy2" / "ivysettings.xml"
    try:
        file.write_bytes(_ivy_file(jars))
        with (
            java_runs(),
            subprocess.Popen(
                [
                    *(java_command(os.environ), "-jar", str(_ivy_jar())),
                    *(["-settings", str(settings)] if settings.exists() else []),
                    # Its own cache would need a lock against all others who use it.
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
                tell(line)
    finally:
        tell(None)


def _ivy_file(missing: list[Jar]) -> bytes:
    """What Ivy is to fetch: just these jars, not what they depend on."""
    module = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(module, "info", organisation="millstream", module="jars")
    dependencies = ElementTree.SubElement(module, "dependencies")
    for jar in missing:
        ElementTree.SubElement(
            dependencies,
            "dependency",
            {"org": jar.organisation, "name": jar.module, "rev": jar.revision},
            conf="default->master(default)",
            transitive="false",
        )
    return ElementTree.tostring(module)


def _ivy_jar() -> Path:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.submodule_search_locations is not None
    return next(Path(spark.submodule_search_locations[0], "jars").glob("ivy-*.jar"))


def _no_cache(cache: Path, why: str) -> KafkaError:
    return KafkaError(
        "MS303",
        f"jars cannot be kept in {cache}: {why}",
        fix="make room there, or let XDG_CACHE_HOME name a directory that you can write to",
    )


def _not_fetched(missing: list[Jar], output: list[str]) -> KafkaError:
    told = "\n".join(output)
    reason = re.search(r"^Server access error at url \S+ (\(.*\))$", told, re.MULTILINE)
    why = f" {reason[1]}" if reason else ""
    # One that is not found is enough for Ivy to fetch none.
    named = [jar for jar in missing if f"{jar.module};{jar.revision}: not found" in told] or missing
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return KafkaError(
        "MS303",
        f"{named[0]}{more} could not be fetched{why}",
        fix="connect to the network and run this again; behind a proxy, name it in "
        "JAVA_TOOL_OPTIONS or let ~/.ivy2/ivysettings.xml name your own repository",
    )
