"""The documents name what there is, and nothing that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import millstream
import millstream.testing
from millstream.model.errors import CODES
from millstream.testing import load

ROOT = Path(__file__).parents[1]
USER_DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = [*USER_DOCUMENTS, ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/errors/*.md"))]
PUBLIC_NAMES = sorted({*millstream.__all__, *millstream.testing.__all__})

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def code_of(document: Path) -> str:
    """The text of code blocks and between backquotes."""
    text = text_of(document)
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose_of(document))
    return "\n".join([*blocks, *spans])


def prose_of(document: Path) -> str:
    """The text without its code blocks."""
    return re.sub(r"^```.*?^```", "", text_of(document), flags=re.MULTILINE | re.DOTALL)


def headings_of(document: Path) -> set[str]:
    """The anchors of the headings: lower case, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", prose_of(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_a_public_name_is_in_the_documents(name):
    code = "\n".join(map(code_of, USER_DOCUMENTS))
    assert re.search(rf"(?<!\w){name}(?!\w)", code)


@each_document
def test_relative_links_lead_to_files_and_headings(document):
    links = re.findall(r"\]\(([^)\s]+)\)", prose_of(document))
    for link in links:
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in headings_of(target), link


@each_document
def test_lines_of_prose_have_at_most_120_characters(document):
    lines = [line for line in prose_of(document).splitlines() if not line.lstrip().startswith("|")]
    assert [line for line in lines if len(line) > 120] == []


@each_document
def test_make_targets_exist(document):
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z]+)", code_of(document), re.MULTILINE)) <= targets


def test_transcripts_that_the_semantics_name_exist():
    names = {t.name for file in (ROOT / "tests/transcripts").glob("*.yaml") for t in load(file)}
    semantics = " ".join(text_of(ROOT / "docs/semantics.md").split())
    lists = re.findall(r'Shown by: ((?:"[^"]+"(?:, )?)+)', semantics)
    named = {name for each in lists for name in re.findall(r'"([^"]+)"', each)}
    assert len(named) > 50
    assert named <= names


def test_the_index_lists_every_error():
    index = text_of(ROOT / "docs/README.md")
    for code, about in CODES.items():
        assert f"| [{code}](errors/{code}.md) | {about} |" in index
