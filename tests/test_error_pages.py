"""Every error code has its page, every page a program that provokes it, and no code is dead."""

import ast
import doctest
import re
from pathlib import Path

import pytest

from millstream.model.errors import CODES

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "errors"
INDEX = PAGES / "README.md"
ROW = re.compile(r"^\| \[(?P<code>\w+)\]\((?P<link>[^)]*)\) \| (?P<title>.*) \|$", re.MULTILINE)


def page(code: str) -> str:
    return (PAGES / f"{code}.md").read_text(encoding="utf-8")


def provoked(text: str) -> set[str]:
    """The codes that the doctests of a page expect to be raised; pytest runs them."""
    messages = [example.exc_msg for example in doctest.DocTestParser().get_examples(text)]
    found = (re.match(r"[\w.]+Error: (MS\d{3})\b", message) for message in messages if message)
    return {match[1] for match in found if match}


def raised() -> set[str]:
    """The codes that errors are made with anywhere in the source, docstrings aside."""
    codes = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(args=[ast.Constant(str(code)), *_]) if re.fullmatch(r"MS\d{3}", code):
                    codes.add(code)
    return codes


def test_codes_and_pages_match() -> None:
    assert {file.stem for file in PAGES.glob("*.md")} - {INDEX.stem} == CODES.keys()


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_the_title_of_its_code(code: str) -> None:
    assert page(code).splitlines()[0] == f"# {code}: {CODES[code]}"


@pytest.mark.parametrize("code", CODES)
def test_a_page_shows_how_its_error_is_raised_and_what_to_do(code: str) -> None:
    _, example, advice = re.split("^## (?:Example|What to do)$", page(code), flags=re.MULTILINE)
    assert provoked(example) == {code}
    assert any(not e.exc_msg for e in doctest.DocTestParser().get_examples(advice))


def test_the_index_lists_every_code_with_its_title_and_page() -> None:
    rows = ROW.findall(INDEX.read_text(encoding="utf-8"))
    assert rows == [(code, f"{code}.md", title) for code, title in CODES.items()]


def test_every_code_is_raised_somewhere() -> None:
    assert raised() == CODES.keys()
