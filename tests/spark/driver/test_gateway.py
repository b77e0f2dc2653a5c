"""The JVM beside a program: killed while a job runs, or while it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import java_gateway

from families import Family
from millstream.spark.driver import gateway
from waiting import until

KILLED = """
import sys, time
from pathlib import Path
import millstream as ms
from pyspark import SparkContext
from families import bound_to_its_test

def started():
    numbers = ms.read_rate(rows_per_second=20).select("value")
    job = numbers.write_files(folder / "out", format="json").run("n", checkpoint=folder / "kept")
    while not job.progress().rows:
        assert not job.progress().over
        time.sleep(0.1)
    return job

bound_to_its_test()
folder = Path(sys.argv[1])
job = started()
SparkContext._gateway.proc.kill()
try:
    job.wait()
except ms.MillstreamError as error:
    print(error)
print(started().stop().progress().state)  # in the same process
"""

STARTING = """
import millstream as ms
from families import bound_to_its_test

bound_to_its_test()
ms.read_rate().collect().run("rate")
"""


def test_java_is_in_a_group_of_its_own_so_that_a_signal_to_the_program_does_not_end_it():
    with gateway._processes() as processes:
        process = java_gateway.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        group = os.getpgid(process.pid)
        assert processes.end() == [process]
    process.communicate(b"\n")
    assert group == process.pid != os.getpgrp()


@pytest.fixture
def script(tmp_path):
    def script(text: str) -> Family:
        support = Path(__file__).parents[2] / "support"
        file = tmp_path / "program.py"
        file.write_text(f"import sys\nsys.path.append({str(support)!r})\n{text}")
        return Family(file, tmp_path, log=tmp_path / "log", scratch=tmp_path / "scratch")

    return script


def test_a_job_whose_jvm_is_killed_ends_with_a_code_and_resumes_when_it_is_run_again(
    script, tmp_path
):
    with script(KILLED) as program:
        assert program.ended(within=300) == 0, program.printed()
        text = program.printed()
    assert "MS221: Spark's JVM has ended (signal 9): it was killed" in text
    assert "Traceback" not in text
    assert text.splitlines()[-1] == "stopped"
    files = (tmp_path / "out").glob("part-*")
    lines = [line for file in files for line in file.read_text().splitlines()]
    numbers = sorted(json.loads(line)["value"] for line in lines)
    assert numbers == list(range(len(numbers)))


def test_ctrl_c_while_spark_starts_ends_the_program_at_once_and_leaves_no_java(script):
    with script(STARTING) as program:
        until(lambda: len(program.members()) > 1)  # Java has begun
        program.process.send_signal(signal.SIGINT)
        assert program.ended(within=20) == -signal.SIGINT, program.printed()
        until(lambda: program.members() == [])
        assert program.printed().splitlines()[-1] == "millstream: interrupted"
        assert "Traceback" not in program.printed()


def test_a_pyspark_of_another_release_is_refused(tmp_path):
    other = tmp_path / "pyspark"
    other.mkdir()
    (other / "__init__.py").touch()
    (other / "version.py").write_text("__version__: str = '3.5.7'\n")
    ran = subprocess.run(
        [sys.executable, "-c", "import millstream.spark"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (
        "MS222: Millstream runs on Spark 4.2, but PySpark 3.5.7 is installed, in front of 4.2.0"
        in ran.stderr
    )
