"""The cells of a printed batch: short texts for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import pyarrow as pa

from millstream.engine.python_rows import python_rows

_MIDNIGHT = time()
# A line break or an escape sequence in a text would break the table.
_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160))}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a printed table. ``number``: aligned right; ``breaks``: lines may be wrapped.

    ``taken_back`` is true for each row that retracts another.
    """

    title: str
    cells: list[str]
    number: bool
    breaks: bool
    taken_back: list[bool]


def columns_of(table: pa.Table, retracts: bool) -> list[Column]:
    """The columns of a table as text; if it ``retracts``, some rows retract others."""
    rows = python_rows(table)
    taken_back = [retracts and row.get("kind") == "-" for row in rows]
    return [_column(field, [row[field.name] for row in rows], taken_back) for field in table.schema]


def _column(field: pa.Field, values: list[Any], taken_back: list[bool]) -> Column:
    type, title = field.type, brief(field.name)
    text: Callable[[Any], str] = brief
    if _is_struct_of(type, "start", "end") or _is_struct_of(type, "start", "end", "index"):
        title, text = _windows(title, values)
    elif _is_struct_of(type, "timing", "index", "first", "last"):
        text = _pane
    number = pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)
    breaks = pa.types.is_nested(type) or not (number or pa.types.is_temporal(type))
    return Column(
        title, [text(value) for value in values], number, breaks and text is brief, taken_back
    )


def brief(value: Any) -> str:
    """A value in a few characters, and in one line.

    >>> brief({"at": datetime(2024, 5, 1, 12), "tags": ["a", None], "ok": True})
    '{at: 2024-05-01 12:00:00, tags: [a, null], ok: true}'
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime():
            return f"{value:%Y-%m-%d} {_clock(value)}"
        case bytes():
            return f"0x{value.hex()}"
        case list():
            return f"[{', '.join(map(brief, value))}]"
        case dict():
            return f"{{{', '.join(f'{brief(key)}: {brief(of)}' for key, of in value.items())}}}"
    return str(value).translate(_CONTROLS)


def _windows(title: str, windows: list[Any]) -> tuple[str, Callable[[Any], str]]:
    """A title and how to write windows: if all are in one day, the title has the day."""
    bounds = [window[name] for window in windows if window for name in ("start", "end")]
    days = {bound and bound.date() for bound in bounds}
    (day,) = days if len(days) == 1 else (None,)
    return (f"{title} {day}", _times) if day else (title, _days_and_times)


def _times(window: dict[str, Any] | None) -> str:
    if window is None:
        return "null"
    return f"{_number(window)}{_clock(window['start'])}–{_clock(window['end'])}"


def _days_and_times(window: dict[str, Any] | None) -> str:
    if window is None:
        return "null"
    start, end = window["start"], window["end"]
    if start is None and end is None:
        return _number(window).strip() or "all of time"
    whole_days = all(bound is None or bound.time() == _MIDNIGHT for bound in (start, end))
    if start and end and start.date() == end.date():
        return f"{_number(window)}{brief(start)}–{_clock(end)}"
    return f"{_number(window)}{_bound(start, whole_days)}–{_bound(end, whole_days)}"


def _number(window: dict[str, Any]) -> str:
    """The index of a window that has one, before its bounds."""
    return f"#{window['index']} " if "index" in window else ""


def _bound(bound: datetime | None, whole_days: bool) -> str:
    if bound is None:
        return "…"
    return brief(bound.date() if whole_days else bound)


def _pane(pane: dict[str, Any] | None) -> str:
    return "null" if pane is None else f"{pane['timing']} {pane['index']}"


def _clock(at: datetime) -> str:
    """The time of day, no finer than needed."""
    return f"{at:%H:%M:%S.%f}".rstrip("0").rstrip(".") if at.microsecond else f"{at:%H:%M:%S}"


def _is_struct_of(type: pa.DataType, *names: str) -> bool:
    return pa.types.is_struct(type) and [field.name for field in type] == list(names)
