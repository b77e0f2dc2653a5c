"""The DStream programs of a first course run, each by one command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from millstream.system.java import java_command

EXAMPLES = Path(__file__).parents[2] / "examples" / "dstream"

ALL = """
import runpy, sys
for file, *arguments in {runs!r}:
    print("##", file)
    sys.argv = [file, *arguments]
    runpy.run_path(file, run_name="__main__")
"""
"""They run one after the other in one process, so that Java starts only once."""

RUNS = {
    "network_word_count": ["--seconds", "4"],
    "windowed_word_count": ["--quick"],
    "stateful_word_count": [],
    "files_word_count": [],
    "to_database": [],
}


def in_order(text: str, *lines: str) -> bool:
    """Whether the text has these lines, in this order, with others between them."""
    rest = iter(text.splitlines())
    return all(line in rest for line in lines)


def test_the_examples_print_what_arithmetic_gives(spark_stops):
    runs = [(str(EXAMPLES / f"{name}.py"), *arguments) for name, arguments in RUNS.items()]
    java = {"JAVA_HOME": str(Path(java_command(os.environ)).parents[1])}
    environment = {**java, **os.environ, "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(
        [sys.executable, "-c", ALL.format(runs=runs)],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    output = dict(zip(RUNS, ran.stdout.split("## ")[1:], strict=True))
    # Every second has each of the three lines: "grain" is twice in one of them.
    assert "('grain', " in output["network_word_count"]
    assert in_order(
        output["windowed_word_count"],
        "('a', 1)", "('a', 2)", "('a', 1)", "('c', 1)", "('c', 2)", "('c', 1)",
    )  # fmt: skip
    assert in_order(
        output["stateful_word_count"],
        "all: ('a', 1)", "new: ('a', 1)",
        "all: ('a', 2) ('b', 1)", "new: ('a', 2) ('b', 1)",
        "all: ('a', 2) ('b', 2)", "new: ('b', 2)",
    )  # fmt: skip
    last = output["files_word_count"].splitlines()[-1]
    assert last.endswith(
        " ('by', 1) ('grain', 1) ('late', 1) ('mill', 1) ('stream', 2) ('the', 4) ('turns', 1)"
        " ('wheel', 1)"
    )
    assert output["to_database"].splitlines()[1:] == ["a 3", "b 2", "c 1"]
