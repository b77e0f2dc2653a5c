"""The commands of the document on Kafka do what it describes."""

from __future__ import annotations

from pathlib import Path

from consoles import run_commands
from millstream.kafka import local
from ports import free_port

DOCUMENT = Path(__file__).parents[2] / "docs" / "kafka.md"


def test_the_commands_of_the_document_run(tmp_path):
    port = free_port()  # the default one may be in use
    text = DOCUMENT.read_text(encoding="utf-8")
    text = text.replace("millstream kafka up\n", "millstream kafka up --port 9092\n")
    try:
        run_commands(text.replace("9092", str(port)), tmp_path)
    finally:
        local.down(tmp_path / ".millstream")
