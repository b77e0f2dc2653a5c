"""The lines of JSON and CSV files, numbered, some at a time: a file may be larger than memory."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from millstream.plan.layouts import Layout
from millstream.spark.sources.decoding import Fields

_BLOCK = 4 << 20
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_OTHER_CODECS = (".snappy", ".lz4", ".deflate", ".lzo", ".zip", ".xz")

Line = tuple[int, bytes]
"""The number of a line, from 1, and what is in it."""


def opened_file(place: PurePosixPath, content: bytes | None) -> pa.NativeFile:
    """The bytes of a file, or of its content where Spark has read it, without compression."""
    ending = place.suffix.lower()
    if ending in _OTHER_CODECS:
        raise OSError(f"Python cannot read what is compressed as {ending}; gz, bz2 and zst it can")
    raw = pa.OSFile(str(place)) if content is None else pa.BufferReader(content)
    codec = _CODECS.get(ending)
    return raw if codec is None else pa.CompressedInputStream(raw, codec)


def lines_of(file: pa.NativeFile, encoding: str) -> Iterator[list[Line]]:
    """The lines in UTF-8, some at a time; a last one without an end is a line, too."""
    number = 1
    rest: list[bytes] = []
    for block in _blocks(file, encoding):
        head, end, tail = block.rpartition(b"\n")
        if not end:
            rest.append(tail)
            continue
        lines = b"".join([*rest, head]).split(b"\n")
        yield list(enumerate(lines, number))
        number += len(lines)
        rest = [tail]
    last = b"".join(rest)
    if last:
        yield [(number, last)]


def _blocks(file: pa.NativeFile, encoding: str) -> Iterator[bytes]:
    """The file in UTF-8, without a mark of its byte order."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    first = True
    while block := file.read(_BLOCK):
        made = block if decoder is None else decoder.decode(block).encode()
        yield made.removeprefix(codecs.BOM_UTF8) if first else made
        first = False
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode()


Cut = tuple[int, bytes, Fields]
"""The number of the line that a record of CSV begins in, its text, and its fields."""


def cut_lines(lines: Iterator[list[Line]], layout: Layout) -> Iterator[list[Cut]]:
    """The records of CSV, with their fields; some at a time, and not those without anything."""
    if layout.multi_line:
        yield from _over_lines(lines, layout)
        return
    for some in lines:
        yield [(n, line, _cut(line, layout)) for n, line in some if line.strip(b" \r")]


def _cut(line: bytes, layout: Layout) -> Fields:
    try:
        text = line.decode()
        (fields,) = csv.reader([text], **_dialect(layout))
    except (csv.Error, ValueError) as error:
        return error
    return _with_nulls(fields, text, layout)


def _over_lines(lines: Iterator[list[Line]], layout: Layout) -> Iterator[list[Cut]]:
    """Records of which one may take several lines, where there are ends of lines in quotes."""
    feed = _Feed(lines)
    reader = csv.reader(feed, **_dialect(layout))
    cuts: list[Cut] = []
    size = 0
    while True:
        feed.taken = []
        fields: Fields
        try:
            fields = next(reader)
        except StopIteration:
            break
        except (csv.Error, ValueError) as error:
            fields = error
        text = b"\n".join(line for _, line in feed.taken)
        if not text.strip(b" \r"):
            continue
        if not isinstance(fields, Exception):
            fields = _with_nulls(list(fields), text.decode(), layout)
        cuts.append((feed.taken[0][0], text, fields))
        size += len(text)
        if size > _BLOCK:
            yield cuts
            cuts, size = [], 0
    yield cuts


class _Feed:
    """Lines one by one, of which it remembers those that were ``taken``."""

    def __init__(self, lines: Iterator[list[Line]]) -> None:
        self._lines = (line for some in lines for line in some)
        self.taken: list[Line] = []

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        self.taken.append(next(self._lines))
        return self.taken[-1][1].decode() + "\n"


def _dialect(layout: Layout) -> dict[str, Any]:
    escapes = layout.escape not in ("", layout.quote)
    return {
        "delimiter": layout.sep,
        "quotechar": layout.quote or None,
        "quoting": csv.QUOTE_MINIMAL if layout.quote else csv.QUOTE_NONE,
        "escapechar": layout.escape if escapes else None,
        "doublequote": not escapes,
        "strict": True,
    }


def _with_nulls(fields: list[str], text: str, layout: Layout) -> list[str | None]:
    """The fields with None for each that is the text for null; ``""`` in quotes is an empty text.

    >>> _with_nulls(["a", "", ""], 'a,,""', Layout("csv"))
    ['a', None, '']
    """
    if layout.null not in fields:
        return list(fields)
    quoted = [False] * len(fields)
    if not layout.null and layout.quote and layout.quote * 2 in text:
        found = [each.startswith(layout.quote) for each in _field(layout).findall(text)]
        quoted = found if len(found) == len(fields) else quoted
    return [
        None if each == layout.null and not in_quotes else each
        for each, in_quotes in zip(fields, quoted, strict=True)
    ]


@lru_cache(maxsize=16)
def _field(layout: Layout) -> re.Pattern[str]:
    """A field as it is written, with its quotes."""
    sep, quote, escape = map(re.escape, (layout.sep, layout.quote, layout.escape))
    escaped = f"|{escape}." if escape and escape != quote else ""
    inside = f"(?:[^{quote}{escape}]{escaped}|{quote}{quote})*"
    return re.compile(f"(?:^|(?<={sep}))(?:{quote}{inside}{quote}|[^{sep}\n\r]*)", re.DOTALL)
