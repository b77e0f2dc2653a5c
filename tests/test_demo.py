"""The demo runs as a user runs it, without a terminal, on a broker that it starts itself."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
EQUATION = re.compile(r"(\d+) produced = (\d+) counted \+ (\d+) late \+ (\d+) rejected")
PANE = re.compile(r"\S+ ([+-]) (\w+) +(\S+) +(\d+) points, .*")


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The demo, in a process group of its own; what it leaves behind is in ``tmp``."""
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "examples.demo", "--svg", str(folder / "demo.svg"), *arguments],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(folder / "tmp")}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it still says. ``communicate`` would lose what was read ahead of a line before it."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process, ThreadPoolExecutor() as both:
        output, errors = both.map(lambda pipe: pipe.read(), (process.stdout, process.stderr))
    return output, errors


def test_all_records_are_accounted_for_and_ctrl_c_leaves_nothing_behind(tmp_path):
    process = started(tmp_path, "--forever")
    assert process.stdout is not None
    lines = []
    while not any(" - " in line for line in lines):  # until a pane was retracted
        lines.append(process.stdout.readline())
        assert lines[-1], ended(process)
    os.killpg(process.pid, signal.SIGINT)
    rest, errors = ended(process)
    assert process.returncode == 0, errors
    output = "".join(lines) + rest

    *_, equation = EQUATION.finditer(output.replace(",", ""))
    produced, counted, late, rejected = map(int, equation.groups())
    assert produced == counted + late + rejected
    assert min(counted, rejected) > 0
    check_panes(output)
    assert (tmp_path / "demo.svg").read_text(encoding="utf-8").startswith("<svg")

    console = re.search(r"See it in a browser: http://127\.0\.0\.1:\d+\n", output)
    assert console is not None
    assert list((tmp_path / "tmp").iterdir()) == []
    port = re.search(r"Kafka is at 127\.0\.0\.1:(\d+)", output)
    assert port is not None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port[1]))) != 0


def check_panes(output: str) -> None:
    """Only current totals are retracted, and nothing is emitted twice."""
    current: dict[tuple[str, str], str] = {}
    for kind, team, window, total in PANE.findall(output):
        if kind == "-":
            assert current.pop((team, window)) == total
        else:
            assert (team, window) not in current
            current[team, window] = total
    assert current


def test_ctrl_c_while_it_starts_ends_it_quietly(tmp_path):
    process = started(tmp_path)
    assert process.stderr is not None
    while process.stderr.readline() != "starting Spark\n":
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    output, errors = ended(process)
    assert (process.returncode, output, errors) == (130, "", "")
    assert list((tmp_path / "tmp").iterdir()) == []
