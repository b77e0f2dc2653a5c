"""A slice: the part of a batch's rows that one task writes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """One attempt to write a part of a batch.

    ``run`` is the id of the job's life: it stays the same when the job is resumed, and its first
    eight characters are unique. ``number`` identifies the slice in the batch; for slices with names
    it is computed from the ``name``. Two attempts at one slice may run at the same time, with a
    different ``attempt``. ``owner`` is the process that owns the checkpoint, if there is one: a
    different one each time that the job is resumed.
    """

    run: str
    batch: int
    number: int
    attempt: int
    name: str = ""
    owner: str = ""


def number_of(name: str) -> int:
    """A number for a name: always the same, and different for any other name.

    >>> number_of("scores-3")
    157556195174953
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
