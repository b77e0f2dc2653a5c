"""Hashes that stay the same on every machine and in every version: of keys, and of any value.

State outlives the process that wrote it, so neither Python's hash nor Polars' will do: the one
changes with each process, the other may with each release. So these are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

_Numbers: TypeAlias = npt.NDArray[np.uint64]
_Next: TypeAlias = Callable[[_Numbers, _Numbers], _Numbers]
"""The hash of a sequence and one more number, from that of the sequence and the number."""
_PRIME = np.uint64(1_099_511_628_211)
_NULL = np.uint64(0x9E37_79B9_7F4A_7C15)
"""What stands for null within a value that has a fingerprint."""
_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def hashed(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """A number for each row that depends on its keys alone: which shard it belongs to.

    >>> hashed(pl.DataFrame({"team": ["red", "blau", None]}), ["team"]).to_list()
    [5020103052987547095, 17753648138507818328, 0]
    """
    total = np.zeros(table.height, np.uint64)
    for key in keys:
        total = _added(total, _hash_of(table[key], _added))
    return pl.Series("hash", total)


def fingerprints(values: pl.Series) -> pl.Series:
    """A number for each value, null for null; different values have different ones.

    That is certain for numbers and times, and else as likely as 64 random bits make it: texts that
    differ in few places do not meet, as they may in ``hashed``, for which that is good enough.

    >>> red, blau, none, again = fingerprints(pl.Series(["red", "blau", None, "red"]))
    >>> red == again, red == blau, none
    (True, False, None)
    """
    numbers = pl.Series(values.name, _hash_of(_without_scale(values), _mixed_in))
    return numbers.set(values.is_null(), None)


def _without_scale(values: pl.Series) -> pl.Series:
    """Decimals as texts without zeros at the end: equal ones may have different scales."""
    if not isinstance(values.dtype, pl.Decimal) or not values.dtype.scale:
        return values
    return values.cast(pl.String).str.strip_chars_end("0").str.strip_chars_end(".")


def _hash_of(values: pl.Series, next: _Next) -> _Numbers:
    # Zero is the hash of the number 0, too: that only costs time where keys are hashed.
    null = np.uint64(0) if next is _added else _NULL
    if values.dtype == pl.Null:
        return np.full(len(values), null)
    return np.where(values.is_not_null().to_numpy(), _mixed(_of_values(values, next)), null)


def _of_values(values: pl.Series, next: _Next) -> _Numbers:
    if isinstance(values.dtype, pl.Struct):
        return _of_structs(values, next)
    if isinstance(values.dtype, pl.List):
        return _of_lists(values, next)
    numbers = _numbers(values)
    return _of_texts(values, next) if numbers is None else numbers


def _numbers(values: pl.Series) -> _Numbers | None:
    """The values as 64 bits each, if they are of a type that has so many."""
    kind = values.dtype
    if kind == pl.Boolean or kind.is_integer():
        return values.fill_null(0).cast(pl.Int64).to_numpy().view(np.uint64)
    if kind.is_float():
        # Spark makes one of both zeros, and one of all NaNs, before it compares keys.
        numbers = values.cast(pl.Float64).fill_null(0.0).fill_nan(np.nan).to_numpy() + 0.0
        return numbers.view(np.uint64)
    if kind.is_temporal():
        return values.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    return None


def _of_structs(values: pl.Series, next: _Next) -> _Numbers:
    """A sequence of the fields."""
    totals = np.zeros(len(values), np.uint64)
    for field in values.struct.fields:
        totals = next(totals, _hash_of(values.struct.field(field), next))
    return totals


def _of_lists(values: pl.Series, next: _Next) -> _Numbers:
    """A sequence of the items, which begins with how many they are."""
    lengths = values.list.len().fill_null(0).to_numpy()
    totals = lengths.astype(np.uint64)
    for place in range(int(lengths.max(initial=0))):
        live = lengths > place
        items = _hash_of(values.filter(live).list.get(place), next)
        totals[live] = next(totals[live], items)
    return totals


def _of_texts(values: pl.Series, next: _Next) -> _Numbers:
    """A sequence of the words of eight bytes that each text is made of; it begins with its length.

    Decimals are texts, too: those of a column have all the same number of digits after the point.
    """
    if values.dtype not in (pl.Binary, pl.String):
        values = values.cast(pl.String)
    array = values.fill_null(b"" if values.dtype == pl.Binary else "").rechunk().to_arrow()
    array = array.cast(pa.large_binary())
    _, ends, content = array.buffers()
    bounds = np.frombuffer(ends, np.int64)[array.offset : array.offset + len(array) + 1]
    # Zeros at the end, so that the last word of a text may be read beyond it.
    data = np.frombuffer((content or pa.py_buffer(b"")).to_pybytes() + bytes(8), np.uint8)
    words = np.lib.stride_tricks.sliding_window_view(data, 8)
    starts, lengths = bounds[:-1], np.diff(bounds)
    totals = lengths.astype(np.uint64)
    live = np.arange(len(lengths))
    for read in range(0, int(lengths.max(initial=0)), 8):
        live = live[lengths[live] > read]
        word = words[starts[live] + read].view("<u8")[:, 0]
        beyond = 8 * np.clip(8 - (lengths[live] - read), 0, 8).astype(np.uint64)
        totals[live] = next(totals[live], word & (_ONES >> beyond))
    return totals


def _added(total: _Numbers, number: _Numbers) -> _Numbers:
    """A polynomial over the numbers."""
    return total * _PRIME + number


def _mixed_in(total: _Numbers, number: _Numbers) -> _Numbers:
    return _mixed(_added(total, number))


def _mixed(numbers: _Numbers) -> _Numbers:
    """Spreads the differences of numbers over all of their bits (the finish of MurmurHash3)."""
    numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return numbers ^ (numbers >> np.uint64(33))
