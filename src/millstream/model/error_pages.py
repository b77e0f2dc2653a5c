"""The page of each error code: in an installed package beside the code, in a clone in ``docs``."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from millstream.model.errors import CODES

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "error_pages"  # where a wheel has them, see pyproject.toml
_CLONE = _PACKAGE.parents[1] / "docs" / "errors"


def error_page(code: str) -> str:
    """The page of a code, as Markdown.

    >>> print(error_page("MS101").splitlines()[0])
    # MS101: an invalid duration
    """
    folder = _INSTALLED if _INSTALLED.is_dir() else _CLONE
    return (folder / f"{code}.md").read_text(encoding="utf-8")


def known_code(given: str) -> str | None:
    """The code that somebody means: small letters will do, and so will the number alone.

    >>> known_code("ms320"), known_code("320"), known_code("MS999")
    ('MS320', 'MS320', None)
    """
    code = given.strip().upper()
    code = code if code.startswith("MS") else f"MS{code}"
    return code if code in CODES else None


def similar_codes(given: str) -> list[str]:
    """Codes that somebody may have meant, also by a word that they are about.

    >>> similar_codes("MS32"), similar_codes("calendar")
    (['MS320', 'MS321', 'MS322'], ['MS114'])
    """
    begun = [code for code in CODES if code.startswith(given.upper())]
    about = [code for code, words in CODES.items() if given.lower() in words.lower()]
    return (begun or about or sorted(get_close_matches(given.upper(), CODES)))[:3]
