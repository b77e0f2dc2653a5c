"""A slice: the part of a batch's rows that one task writes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """One attempt to write a part of a batch.

    ``run`` is the id of the job's life: it stays the same when the job is resumed, and its first
    eight characters tell it from others. ``number`` says which part of the batch; where parts have
    names, it is that of the ``name``. Two attempts at one slice may run at once; ``attempt`` tells
    them apart. ``owner`` is the process that owns the checkpoint, if there is one: another each
    time that the job is resumed.
    """

    run: str
    batch: int
    number: int
    attempt: int
    name: str = ""
    owner: str = ""


def number_of(name: str) -> int:
    """A number for a name, the same at any time, and another for any other name.

    >>> number_of("scores-3")
    157556195174953
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
