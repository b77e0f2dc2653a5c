"""A standalone cluster of Spark: a master and workers, each of them a process.

Its machines have Java, Spark and a Python of the same version as this one, without any packages.
All of it listens on loopback alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyspark

import bound
from families import Family
from millstream.system.java import checked_java
from ports import free_port
from waiting import until

_SPARK = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_QUICKLY = "-XX:TieredStopAtLevel=1"


class SparkCluster:
    """A master and its workers, which have a core each. Leaving the ``with`` block ends them."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._started = ExitStack()
        self.python = bare_python(folder / "python")
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        with self._started:
            place = ("--host", "127.0.0.1", "--webui-port", "0")
            self._begun("master", f"{_DEPLOY}.master.Master", *place, "--port", port)
            self.workers = [
                self._begun(
                    f"worker-{n}", f"{_DEPLOY}.worker.Worker", *place, "--cores", 1,
                    "--memory", "1g", "--work-dir", folder / f"work-{n}", self.master,
                )
                for n in range(workers)
            ]  # fmt: skip
            for worker in self.workers:
                until(lambda worker=worker: "Successfully registered" in worker.printed())
            self._started = self._started.pop_all()

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *error: object) -> None:
        self._started.close()

    def worker_with(self, process: int) -> Family:
        """The worker that has started a process, such as a Python worker of a task."""
        (found,) = [each for each in self.workers if process in each.members()]
        return found

    def _begun(self, name: str, *arguments: object) -> Family:
        machine = Family(
            Path(bound.__file__),
            _SPARK / "bin" / "spark-class",
            *arguments,
            log=self._folder / f"{name}.log",
            scratch=self._folder / f"scratch-{name}",
            environment=self._environment(),
        )
        return self._started.enter_context(machine)

    def _environment(self) -> dict[str, str]:
        """That of a machine on which nobody has set up anything but Spark and Java."""
        return {
            "PATH": "/usr/bin:/bin",
            "JAVA_HOME": checked_java(os.environ) or os.environ["JAVA_HOME"],
            "SPARK_HOME": str(_SPARK),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": _QUICKLY,
            "SPARK_DAEMON_MEMORY": "256m",
        }


def bare_python(folder: Path) -> str:
    """A Python of the version of this one that finds no packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = str(folder / "bin" / "python")
    find = "from importlib.util import find_spec as f; print(f('millstream'), f('polars'))"
    command = [python, "-c", find]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout == "None None\n"
    return python
