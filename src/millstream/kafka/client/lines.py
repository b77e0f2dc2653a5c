"""Lines of a file or a terminal as records to be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.kafka.client.records import Encoding, NewRecord, decoded, from_json
from millstream.model.errors import KafkaError, PlanError


@dataclass(frozen=True)
class Lines:
    """How lines are read.

    ``key_separator`` is between the key and the value, and ``null`` is the text that means null.
    With ``json`` each line is a whole record, as ``consume --json`` writes it.
    """

    key_separator: bytes | None = None
    null: bytes | None = None
    encoding: Encoding = "text"
    json: bool = False

    def records(self, lines: Iterable[bytes]) -> Iterator[NewRecord]:
        r"""The record in each line, without its end.

        >>> list(Lines(key_separator=b":").records([b"ann:5\n", b"bob:7\r\n"]))[1]
        NewRecord(value=b'7', key=b'bob', headers=(), timestamp=None, partition=None)
        """
        for number, line in enumerate(lines, 1):
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            try:
                yield from_json(text) if self.json else self._record(text)
            except (ValueError, RecursionError) as error:
                raise _line_error(number, text, error) from error

    def _record(self, line: bytes) -> NewRecord:
        if self.key_separator is None:
            return NewRecord(self._part(line))
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            shown = self.key_separator.decode(errors="replace")
            raise ValueError(f"it has no key separator {shown!r}")
        return NewRecord(self._part(value), self._part(key))

    def _part(self, data: bytes) -> bytes | None:
        return None if data == self.null else decoded(data, self.encoding)


def _line_error(number: int, line: bytes, error: ValueError | RecursionError) -> KafkaError:
    why = error.what if isinstance(error, PlanError) else error
    shown = line[:60].decode(errors="replace") + ("…" if len(line) > 60 else "")
    return KafkaError(
        "MS326",
        f"line {number} cannot be read, {why}: {shown!r}",
        fix="fix the line; the lines before it are written",
    )
