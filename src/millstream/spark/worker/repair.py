"""A watermark that shards put back: which, and from which batch on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repair:
    """From ``batch`` on, no watermark is after ``watermark``, unless rows move it there again."""

    batch: int
    watermark: int
