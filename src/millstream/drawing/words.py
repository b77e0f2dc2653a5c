"""Values as short texts, and the width of texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

MINUS = "\N{MINUS SIGN}"

_MOST = 160
_SLIM = frozenset("ijl.,:;'|! ()[]tfrI-/\"")
_BROAD = frozenset("mwMW@%…—")
_NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?")


def shown(value: Any) -> str:
    r"""A value as one line of text.

    >>> shown((1, 2)), shown(0.1 + 0.2), shown({"total": 3}), shown(()), shown("a\nb")
    ('1, 2', '0.3', 'total 3', '∅', 'a b')
    """
    if isinstance(value, float):
        return repr(value) if not math.isfinite(value) else _rounded(value)
    if isinstance(value, Mapping):
        return _listed(f"{shown(name)} {shown(part)}" for name, part in value.items())
    if isinstance(value, (tuple, list)):
        return _listed(shown(part) for part in value)
    if isinstance(value, (set, frozenset)):
        return _listed(sorted(shown(part) for part in value))
    return shortened(" ".join(str(value).split()) or "''", _MOST)


def taken_back(words: str) -> str:
    """The same text as a retraction.

    >>> taken_back("7") == MINUS + "7", taken_back("1, 2") == MINUS + "(1, 2)"
    (True, True)
    """
    return f"{MINUS}({words})" if ", " in words or words.startswith("-") else MINUS + words


def is_number(words: str) -> bool:
    """Whether cutting the text would make it another number.

    >>> is_number("-1.5"), is_number("1, 2")
    (True, False)
    """
    return _NUMBER.fullmatch(words) is not None


def shortened(words: str, most: int) -> str:
    """At most so many characters, the last one … where some are missing.

    >>> shortened("1, 2, 3", 5)
    '1, 2…'
    """
    return words if len(words) <= most else words[: most - 1].rstrip(", ") + "…"


def fitted(words: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, shortened until it is no wider than ``width`` pixels."""
    short = words
    while len(short) > 1 and wide(short, size, bold=bold) > width:
        short = shortened(words, len(short) - 1)
    return short


def wide(words: str, size: float, *, bold: bool = False) -> float:
    """About how many pixels wide the text is; a little too many rather than too few."""
    return sum(map(_em, words)) * size * (1.06 if bold else 1.0)


def _em(letter: str) -> float:
    if letter in _SLIM:
        return 0.36
    if letter in _BROAD:
        return 0.94
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.04
    return 0.72 if letter.isupper() else 0.6


def _rounded(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def _listed(parts: Iterable[str]) -> str:
    text = ", ".join(islice(parts, _MOST))
    return shortened(text, _MOST) or "∅"
