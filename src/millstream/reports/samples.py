"""A few rows of a batch for people to look at: panes, late rows and rejected records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

SampleKind = Literal["pane", "late", "rejected"]

MOST_TEXT = 200
"""Characters of a value that are kept."""
EXACT = 2**53
"""Beyond this, JavaScript rounds whole numbers; as microseconds, it is beyond the year 2255."""


@dataclass(frozen=True)
class Sample:
    """A pane, a late row or a rejected record of a step.

    A pane has its ``key`` and ``values``, its window from ``start`` to ``end`` in microseconds,
    None at the ends of time, its ``timing``, ``index``, ``first`` and ``last``, and its ``kind``:
    ``-`` for a retraction. A late row has its ``key``, its event ``time`` unless rows were
    combined, its window, a ``reason``, and if the program reads late rows the ``record``. A
    rejected record has a ``reason`` and the ``record``.
    """

    step: str
    kind: SampleKind
    values: Mapping[str, Any]


def sample_value(value: Any) -> Any:
    """A value as JSON can have it, and no longer than people read.

    >>> sample_value(5), sample_value(None), sample_value(2**60), sample_value(float("nan"))
    (5, None, '1152921504606846976', 'nan')
    >>> sample_value({"team": "red", "points": None})
    '{"team": "red", "points": null}'
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= EXACT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
