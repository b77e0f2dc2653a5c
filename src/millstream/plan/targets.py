"""Where the rows of a sink go: descriptions, which travel to whoever writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

FileFormat = Literal["parquet", "json", "csv", "text"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go. ``kind`` is what the sink is called in the language of the API."""

    kind: ClassVar[str]


class Memory(Target):
    """The job keeps the rows, to hand them out."""

    kind = "collect"


@dataclass(frozen=True, slots=True)
class Files(Target):
    """A folder; each row is written there exactly once."""

    kind: ClassVar[str] = "write_files"

    path: str
    format: FileFormat
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Console(Target):
    """Standard output; of a batch with more than ``limit`` rows only the first."""

    kind: ClassVar[str] = "write_console"

    limit: int


@dataclass(frozen=True, slots=True)
class Each(Target):
    """A function of the user, called with rows, the number of the batch and that of the slice."""

    kind: ClassVar[str] = "write_each"

    function: Callable[[Any, int, int], Any]
