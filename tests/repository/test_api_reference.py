"""The API reference has every public name, and is what the source says now."""

from __future__ import annotations

import re

import pytest

import api_reference
import millstream
import millstream.testing
from millstream.jobs.job import Job

PAGE = api_reference.PAGE.read_text(encoding="utf-8")
CLASSES = (millstream.Stream, millstream.Pipeline, Job)


def test_the_page_is_current() -> None:
    assert api_reference.page() == PAGE, "run make docs, and commit docs/api.md"


@pytest.mark.parametrize("room", [millstream, millstream.testing])
def test_every_public_name_has_an_entry(room) -> None:
    entries = set(re.findall(r"^### (?:class |ms\.|testing\.)(\w+)$", PAGE, re.MULTILINE))
    assert set(room.__all__) - entries <= {"__version__"}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_public_method_has_an_entry(kind: type) -> None:
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    names = (name for each in kind.__mro__[:-1] for name in vars(each))
    public = {name for name in names if not name.startswith("_")} - fields
    assert public
    for name in public:
        assert f"#### {kind.__name__}.{name}\n" in PAGE or f"| `{name}` |" in PAGE, name
