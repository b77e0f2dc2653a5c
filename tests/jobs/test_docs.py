"""The commands of the document on jobs do what it shows."""

from __future__ import annotations

from pathlib import Path

from consoles import run_commands

DOCUMENT = Path(__file__).parents[2] / "docs" / "jobs.md"


def test_the_commands_of_the_document_run(tmp_path):
    run_commands(DOCUMENT.read_text(encoding="utf-8"), tmp_path)
