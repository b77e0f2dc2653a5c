"""Where the state of a shard is kept between batches: a document, and blobs by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from millstream.engine.operator import BucketName
from millstream.engine.state.document import Clocks, Document


class Store(Protocol):
    """Keeps blobs from batch to batch."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, blob: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


class ShardState:
    """The state of one shard of a stage: blobs in a store, and the document of all operators.

    The document is read and written once for each micro-batch.
    """

    def __init__(self, blobs: Store, document: bytes | None = None) -> None:
        self.blobs = blobs
        self.document = Document() if document is None else Document.from_json(document)

    def of(self, step: str) -> OperatorState:
        """The part of it that belongs to one operator."""
        clocks = self.document.operators.setdefault(step, Clocks())
        return OperatorState(self.blobs, step, clocks)


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The state of one operator in one shard: its clocks, and its tables and parts as blobs."""

    blobs: Store
    step: str
    clocks: Clocks

    def read(self, name: str) -> bytes:
        """A blob that must be there: the clocks say so."""
        blob = self.blobs.read(f"{self.step}/{name}")
        if blob is None:
            raise ValueError(f"the state has lost its table {self.step}/{name}")
        return blob

    def size(self, name: str) -> int:
        """How many bytes a blob has that need not be there."""
        return len(self.blobs.read(f"{self.step}/{name}") or b"")

    def write(self, name: str, blob: bytes) -> None:
        self.blobs.write(f"{self.step}/{name}", blob)

    def remove(self, name: str) -> None:
        self.blobs.remove(f"{self.step}/{name}")


def table_name(bucket: BucketName, table: str) -> str:
    """The name of the blob that a table of a bucket is.

    >>> table_name((0, 10), "panes"), table_name((3,), "panes")
    ('0:10/panes', '3/panes')
    """
    return f"{_text(bucket)}/{table}"


def part_name(bucket: BucketName, port: str, lane: int | None, number: int) -> str:
    """The name of the blob that a part beside a bucket is.

    >>> part_name((0, 10), "rows", None, 2), part_name((0, 10), "rows", 5, 0)
    ('0:10/rows+2', '0:10/rows#5+0')
    """
    lanes = "" if lane is None else f"#{lane}"
    return f"{_text(bucket)}/{port}{lanes}+{number}"


def _text(bucket: BucketName) -> str:
    return ":".join(map(str, bucket))
