"""Files of Java properties, in which Kafka's own tools keep the settings of clients."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from millstream.model.errors import KafkaError

# A line of a file, other than comments and blanks: a key, a separator, a value.
_PROPERTY = re.compile(r"(?P<key>(?:\\.|[^\\\s=:])+)\s*[=:\s]?\s*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(file: Path) -> dict[str, str]:
    """The settings in a file; MS322 if it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KafkaError(
            "MS322",
            f"the file of client settings {file} cannot be read: {error}",
            fix="name a file of lines such as security.protocol=SASL_SSL",
        ) from error
    return dict(map(_property, _logical_lines(text)))


def escaped(value: str) -> str:
    r"""A value as it is written in a file.

    >>> print(escaped("C:\\new"), escaped("é"))
    C:\\new \u00e9
    """
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "".join(
        character if character.isascii() else _in_digits(character) for character in text
    )


def _logical_lines(text: str) -> Iterable[str]:
    """The lines without blanks and comments, each joined with those that continue it."""
    joined = ""
    for line in text.splitlines():
        line = line.lstrip()
        if not joined and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield joined + line
        joined = ""
    if joined:
        yield joined


def _property(line: str) -> tuple[str, str]:
    found = _PROPERTY.match(line)
    # A line that begins with a separator has an empty name, as in Java; the client rejects it.
    key, value = (found["key"], found["value"]) if found else ("", line)
    return _unescaped(key), _unescaped(value).strip()


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        character = found[1]
        return (
            chr(int(character[1:], 16))
            if len(character) > 1
            else _CONTROL.get(character, character)
        )

    # Java writes characters beyond its 16 bits as two.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _in_digits(character: str) -> str:
    return re.sub("(....)", r"\\u\1", character.encode("utf-16-be").hex())
