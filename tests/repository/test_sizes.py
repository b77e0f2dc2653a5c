"""Files and functions stay short enough to read: a file is one noun, a function one thought."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "src").rglob("*.py"))
MOST_LINES = 400
MOST_IN_A_FUNCTION = 60
"""Lines of a function without its docstring, which may hold examples."""


def long_functions(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                docstring = node.body[0]
                lines -= (docstring.end_lineno or 0) - docstring.lineno + 1
            if lines > MOST_IN_A_FUNCTION:
                yield f"{node.name}: {lines} lines"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_and_its_functions_are_short(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= MOST_LINES
    assert list(long_functions(file)) == []
