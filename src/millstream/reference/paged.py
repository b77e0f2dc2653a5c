"""The value of a field whose elements are kept in pages: a large list, dict or set of one key.

A page is read when a callback needs one of its elements, and written when one of them has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zlib import crc32

from millstream.plan.types.fields import Elements

LARGE = 4096
"""A list, dict or set with more elements is kept in pages; with half of them, whole again."""
PAGE = 1024
"""How many elements a page of a list has, and on average one of a map."""

Page = Any
"""Values as columns have them. Of a list: a list. Of a map: a dict of (number, value) by key."""


@dataclass(frozen=True, slots=True, eq=False)
class Paged:
    """A list, map or set in pages. ``changed`` are the pages that differ from what is stored.

    The elements of a list have positions, from ``begin`` up to ``end``; position p is in page
    p // PAGE. The entries of a map have numbers in the order in which they came, all below ``end``;
    in which of the ``pages`` an entry is follows from its key.
    """

    size: int
    end: int
    begin: int = 0
    pages: int = 0
    changed: Mapping[int, Page] = field(default_factory=dict)
    read: Callable[[int], Page] | None = None
    id: int | None = None
    """The number under which its pages are stored, if they are."""

    def page(self, number: int) -> Page:
        """A page of it."""
        if number in self.changed:
            return self.changed[number]
        assert self.read is not None
        return self.read(number)

    @property
    def numbers(self) -> range:
        """The numbers of all its pages."""
        if self.pages:
            return range(self.pages)
        return range(self.begin // PAGE, -(-self.end // PAGE))

    def after(self, changed: Mapping[int, Page], **settings: Any) -> Paged:
        """What it is after a change."""
        return replace(self, changed={**self.changed, **changed}, **settings)


def paged(values: Any, elements: Elements) -> Paged:
    """A value of a column in pages, all of which are new."""
    if elements.kind == "list":
        cuts = range(0, len(values), PAGE)
        pages = {i // PAGE: values[i : i + PAGE] for i in cuts}
        return Paged(len(values), len(values), changed=pages)
    entries = values.items() if elements.kind == "map" else ((each, None) for each in values)
    count = -(-len(values) // PAGE)
    changed: dict[int, dict[Any, Any]] = {number: {} for number in range(count)}
    for number, (key, value) in enumerate(entries):
        changed[page_of(key, count)][key] = (number, value)
    return Paged(len(values), len(values), pages=count, changed=changed)


def page_of(key: Any, pages: int) -> int:
    """The page of a key where there are so many pages.

    This is linear hashing: one page more takes keys of one other page only.

    >>> [page_of("a", pages) for pages in (1, 2, 3, 4)]
    [0, 1, 1, 3]
    """
    half = 1 << (pages.bit_length() - 1)
    spread = crc32(_text(key))
    page = spread % (2 * half)
    return page if page < pages else spread % half


def _text(key: Any) -> bytes:
    """Keys that are equal have the same text, in every process."""
    if isinstance(key, str):
        return key.encode(errors="surrogatepass")
    if isinstance(key, bytes):
        return key
    if isinstance(key, (int, float, Decimal)):
        return b"%d" % hash(key)
    if isinstance(key, datetime) and key.tzinfo is not None:
        key = key.astimezone(UTC)
    return key.isoformat().encode() if isinstance(key, date) else b""
