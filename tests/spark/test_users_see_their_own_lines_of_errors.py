"""What a user sees on the screen when a function fails in a worker of Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import traceback

import millstream as ms

rows = ms.from_rows([("12",), ("x",)], schema="text string")


def second_letter(row) -> str:
    return row["text"][1]


def save(rows, batch, slice):
    raise ConnectionError(f"no database for {len(rows)} rows")


def parse(row):
    return {"n": int(row["text"])}


def fail(name, program):
    try:
        program.run(name, mode="streaming")
    except ms.MillstreamError:
        traceback.print_exc()
    print("-----", file=sys.stderr, flush=True)


fail("keys", rows.key_by(second_letter).aggregate(n=ms.count()).collect())
fail("saved", rows.write_each(save))
rows.map(parse, schema="n int").collect().run("numbers", mode="streaming")
"""
CHATTER = (
    "py4j", "Py4J", "pyspark", "JVM", "\tat ", "java.", "scala", "BrokenPipe", "TransformWithState",
    "state server", "Exception ignored", "WARN", "ERROR",
)  # fmt: skip


def test_the_users_lines_come_first_then_the_message_and_nothing_of_spark(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240)

    assert ended.returncode == 1
    assert ended.stdout == ""
    seen = ended.stderr.split("-----\n")
    expected = [
        ('return row["text"][1]', "MS201 in step 'aggregate-1': the key function second_letter"),
        ("raise ConnectionError(", "MS201 in step 'write_each-1': save failed on batch 0, slice 0"),
        ('return {"n": int(row["text"])}', "MS201 in step 'map-1': parse failed on the record"),
    ]
    assert len(seen) == len(expected)
    for text, (line, message) in zip(seen, expected, strict=True):
        lines = text.splitlines()
        (place,) = (n for n, each in enumerate(lines) if line in each)
        assert f'File "{file}"' in lines[place - 1]
        assert message in lines[-3], text
        assert lines[-2].startswith("  What to do: ")
        assert lines[-1] == "  More: millstream help MS201"
        assert place < len(lines) - 3
        assert len(lines) <= 30
        assert [word for word in CHATTER if word in text] == []
