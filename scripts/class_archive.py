"""Archives the classes that Spark loads when a job starts, for the tests: they start it many times.

Java maps the archive instead of reading and checking 15,000 classes: a third of what a short job
costs. It uses an archive only with the same Java and the same jars, and does without otherwise.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from millstream.system.java import checked_java, java_command

ROOT = Path(__file__).parents[1]
ARCHIVE = ROOT / ".cache" / "java" / "spark.jsa"
HOME = Path(pyspark.__file__).parent
PROGRAM = ROOT / "examples" / "sessions.py"
"""A streaming job, with state."""


def main() -> None:
    java = java_command(os.environ)
    if home := checked_java(os.environ):
        os.environ["JAVA_HOME"] = home
    installed = (HOME / "jars").stat().st_mtime_ns  # Java compares the times of the jars
    made_with = f"{java}\n{HOME}\n{pyspark.__version__}\n{installed}\n"
    stamp = ARCHIVE.with_suffix(".txt")
    if ARCHIVE.exists() and stamp.exists() and stamp.read_text() == made_with:
        return
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ARCHIVE.parent) as folder:
        classes, made = Path(folder, "classes"), Path(folder, ARCHIVE.name)
        options = f'-XX:TieredStopAtLevel=1 "-XX:DumpLoadedClassList={classes}"'
        run(sys.executable, str(PROGRAM), cwd=folder, SPARK_SUBMIT_OPTS=options)
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}", "-XX:+UseSerialGC"]
        run(java, *dump, f"-XX:SharedArchiveFile={made}", "-cp", classpath_of_spark(), cwd=folder)
        made.rename(ARCHIVE)
    stamp.write_text(made_with)


def classpath_of_spark() -> str:
    """The class path that Spark starts Java with: an archive is made for one."""
    ran = run(str(HOME / "bin" / "spark-submit"), "--version", SPARK_PRINT_LAUNCH_COMMAND="1")
    found = re.search(r"^Spark Command: \S+ -cp (.*?) -", ran.stderr, re.MULTILINE)
    assert found is not None, ran.stderr
    return found[1]


def run(*command: str, cwd: str | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, and captures what it prints."""
    environment = {**os.environ, **settings}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )


if __name__ == "__main__":
    main()
