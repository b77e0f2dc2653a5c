"""The outputs of a ``branch``: streams by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from millstream.model.errors import did_you_mean

_Stream = TypeVar("_Stream")


class Branches(Generic[_Stream]):
    """The streams that ``branch`` returns: each is an attribute, and all can be unpacked in order.

    >>> import millstream as ms
    >>> numbers = ms.from_rows([(1,), (2,), (3,)], schema="n int")
    >>> parts = numbers.branch(big="n > 2", rest=True)
    >>> parts.big.collect().run().rows()
    [{'n': 3}]
    >>> big, rest = parts
    >>> rest.collect().run().rows()
    [{'n': 1}, {'n': 2}]
    """

    def __init__(self, streams: Mapping[str, _Stream]) -> None:
        self._streams = dict(streams)

    def __getattr__(self, name: str) -> _Stream:
        """The stream of that name."""
        if name.startswith("_") or name not in self._streams:
            streams = self.__dict__.get("_streams", {})
            raise AttributeError(f"there is no branch {name!r}: {did_you_mean(name, streams)}")
        return self._streams[name]

    def __iter__(self) -> Iterator[_Stream]:
        return iter(self._streams.values())

    def __dir__(self) -> list[str]:
        return list(self._streams)

    def __repr__(self) -> str:
        return f"<Branches: {', '.join(self._streams)}>"
