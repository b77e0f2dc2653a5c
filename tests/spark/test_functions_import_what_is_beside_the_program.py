"""The program of the document on functions imports what is beside it, on workers too."""

from __future__ import annotations

from pathlib import Path

from consoles import run_commands

DOCUMENT = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_program_of_the_document_runs_from_another_folder(tmp_path):
    run_commands(DOCUMENT.read_text(encoding="utf-8"), tmp_path)
