"""Makes columns of the values of records: JSON or CSV, in the types that the schema says.

A value is taken as a whole, or rejected with the reason. msgspec does the reading: it is several
times as fast as anything else that checks each value against its type, and reports what is wrong
where. (Polars' own JSON reader makes 1 of 1.7, and null of a number that is too large.)
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.engine.rows import from_arrow
from millstream.model.instants import FIRST, LAST
from millstream.plan.nodes import RecordFormat
from millstream.plan.types.values import exactly
from millstream.spark.sources.type_names import type_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = pa.timestamp("us", "UTC")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-][\d:]+)?)?", re.ASCII)
_UNREADABLE = (msgspec.MsgspecError, csv.Error, ValueError, RecursionError)
_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError)
_NOT_FINITE = Literal["NaN", "Infinity", "-Infinity"]
_BEYOND_FLOAT = 2.0**128 - 2.0**103
"""From here on, a number is nearer to infinity than to the largest FLOAT."""

Reasons = dict[int, str]
"""Why values are rejected, by their places."""


def decoded(
    values: Sequence[bytes | None], format: RecordFormat, schema: pa.Schema
) -> tuple[pl.DataFrame, Reasons]:
    """The columns of all values, null where one is rejected, and why."""
    return _decoded(values, _reader(format, schema), format, schema)


Fields = Sequence[str | None] | Exception
"""The fields of a line of CSV, or why it has none."""


def decoded_fields(
    lines: Sequence[Fields], names: tuple[str | None, ...], schema: pa.Schema
) -> tuple[pl.DataFrame, Reasons]:
    """The same of lines of CSV that have been cut; ``names`` are the columns of their fields."""
    return _decoded(lines, _field_reader(names, schema), "csv", schema)


def _decoded(
    values: Sequence[Any], read: Callable[[Any], Any], format: RecordFormat, schema: pa.Schema
) -> tuple[pl.DataFrame, Reasons]:
    rejected: Reasons = {}
    try:
        found = [read(value) for value in values]
    except (*_UNREADABLE, TypeError, AttributeError):  # the last two: there is no value
        found = list(_one_by_one(values, read, rejected, format))
    columns = [
        _column(list(map(attrgetter(f"f{i}"), found)), field, rejected)
        for i, field in enumerate(schema)
    ]
    return from_arrow(pa.Table.from_arrays(columns, schema=schema)), rejected


def _one_by_one(
    values: Sequence[Any],
    read: Callable[[Any], Any],
    rejected: Reasons,
    format: RecordFormat,
) -> Iterator[Any]:
    """The values that can be read; for the others, one without anything, and the reason."""
    nothing = _Nothing()
    for place, value in enumerate(values):
        try:
            if value is None:
                rejected[place] = "the record has no value"
                yield nothing
            else:
                yield read(value)
        except _UNREADABLE as error:
            rejected[place] = f"the value is no {format} of the schema: {_said(error)}"
            yield nothing


class _Nothing:
    def __getattr__(self, name: str) -> None:
        """Null in every column."""


def _said(error: Exception) -> str:
    return str(error).replace("`", "'")


@lru_cache(maxsize=64)
def _reader(format: RecordFormat, schema: pa.Schema) -> Callable[[bytes], Any]:
    """What reads one value."""
    if format == "json":
        return msgspec.json.Decoder(_record(schema)).decode
    convert = _field_reader(tuple(schema.names), schema)

    def read(value: bytes) -> Any:
        lines = list(csv.reader([value.decode()], strict=True))
        given = lines[0] if lines else []
        if len(lines) > 1:
            raise _miscounted(len(schema), len(given))
        return convert(given)

    return read


@lru_cache(maxsize=64)
def _field_reader(names: tuple[str | None, ...], schema: pa.Schema) -> Callable[[Fields], Any]:
    """What reads the fields of one line; those without a name are of no column."""
    record = _record(schema)
    texts = [name is not None and pa.types.is_string(schema.field(name).type) for name in names]

    def read(given: Fields) -> Any:
        if isinstance(given, Exception):
            raise given
        if len(given) != len(names):
            raise _miscounted(len(names), len(given))
        # Nothing between two commas is nothing, but for a text it is an empty one; msgspec says
        # the same of "null", though not where the type is one of several, as of timestamps.
        found = {
            name: each
            for name, each, text in zip(names, given, texts, strict=True)
            if name is not None and each is not None and (text or each.lower() not in ("", "null"))
        }
        return msgspec.convert(found, record, strict=False)

    return read


def _miscounted(wanted: int, given: int) -> ValueError:
    return ValueError(f"{wanted} fields are wanted, not {given}")


def _record(schema: pa.Schema) -> Any:
    """The type of a whole value."""
    fields = [(f"f{i}", _python(field.type) | None, None) for i, field in enumerate(schema)]
    names = {f"f{i}": field.name for i, field in enumerate(schema)}
    return msgspec.defstruct("Record", fields, rename=names, gc=False)


def _python(kind: pa.DataType) -> Any:
    """The type that msgspec decodes to."""
    is_ = pa.types
    if is_.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return Annotated[int, msgspec.Meta(ge=-most, le=most - 1)]
    if is_.is_floating(kind):
        return float | _NOT_FINITE
    if is_.is_timestamp(kind):
        return str | int | float if kind.tz else str
    if is_.is_decimal(kind):
        return Decimal
    if is_.is_list(kind):
        item: Any = _python(kind.value_type) | None
        return list[item]
    if is_.is_map(kind):
        pair: Any = (_python(kind.key_type), _python(kind.item_type) | None)
        return dict.__class_getitem__(pair)
    if is_.is_struct(kind):
        inner = {field.name: _python(field.type) | None for field in kind}
        # msgspec finds a name beyond ASCII only if that very text has been in UTF-8 before.
        msgspec.json.encode(list(inner))
        return TypedDict("Inner", inner, total=False)  # type: ignore[operator]
    simple: dict[pa.DataType, Any] = {
        pa.string(): str,
        pa.bool_(): bool,
        pa.binary(): bytes,
        pa.date32(): date,
    }
    return simple[kind]


def _column(values: list[Any], field: pa.Field, rejected: Reasons) -> pa.Array:
    """A column of values, of which some may be found not to fit after all."""
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz:
        quick = _instants(values)
        if quick is not None:
            return quick
    finish = _finisher(kind)
    try:
        return pa.array(values if finish is None else map(finish, values), kind)
    except _UNFIT:
        pass  # some do not fit: which?
    made: list[Any] = []
    for place, value in enumerate(values):
        try:
            finished = value if finish is None else finish(value)
            pa.scalar(finished, kind)
            made.append(finished)
        except _UNFIT as error:
            why = f"column {field.name!r} has no {type_name(kind)}: {_said(error)}"
            rejected.setdefault(place, why)
            made.append(None)
    return pa.array(made, kind)


def _instants(values: list[Any]) -> pa.Array | None:
    """Instants of texts in RFC 3339, all at once; None if some are something else.

    Arrow takes no text that ``_instant`` refuses: what becomes of one is no matter of the others.
    """
    try:
        texts = pa.array(values, pa.string())
    except pa.ArrowException:
        return None  # there are numbers
    found = _parsed(texts)
    if found is None:
        return None
    ends = pc.min_max(found.cast(pa.int64())).as_py().values()
    return found if all(end is None or FIRST <= end <= LAST for end in ends) else None


def _parsed(texts: pa.Array) -> pa.Array | None:
    try:
        return texts.cast(_INSTANT)
    except pa.ArrowException:
        pass  # there may be nanoseconds
    try:
        finer = texts.cast(pa.timestamp("ns", "UTC"))
    except pa.ArrowException:
        return None
    return pc.floor_temporal(finer, unit="microsecond").cast(_INSTANT)


def _finisher(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """What is left to do for Arrow to take a value of that kind; None if that is nothing."""
    is_ = pa.types
    if is_.is_float32(kind):
        return _single
    if is_.is_floating(kind):
        return lambda value: float(value) if isinstance(value, str) else value
    if is_.is_decimal(kind):
        return _exactly(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return _instant if kind.tz else _local
    if is_.is_list(kind):
        return _each(_finisher(kind.value_type))
    if is_.is_map(kind):
        return _pairs(_finisher(kind.item_type))
    if is_.is_struct(kind):
        return _fields({field.name: _finisher(field.type) for field in kind})
    return None


Finisher = Callable[[Any], Any] | None


def _each(finish: Finisher) -> Finisher:
    if finish is None:
        return None
    return lambda values: None if values is None else [finish(value) for value in values]


def _pairs(finish: Finisher) -> Finisher:
    def pairs(values: dict[Any, Any] | None) -> list[tuple[Any, Any]] | None:
        if values is None:
            return None
        return [(key, finish(each) if finish else each) for key, each in values.items()]

    return pairs


def _fields(finishers: dict[str, Finisher]) -> Finisher:
    some = {name: finish for name, finish in finishers.items() if finish is not None}
    if not some:
        return None

    def fields(value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is None:
            return None
        return {**value, **{n: finish(value[n]) for n, finish in some.items() if n in value}}

    return fields


def _single(value: float | str | None) -> float | None:
    """A FLOAT, rejected if it would be infinite and is not said to be."""
    found = float(value) if isinstance(value, str) else value
    if found is not None and _BEYOND_FLOAT <= abs(found) < math.inf:
        raise ValueError(f"{found} does not fit")
    return found


def _exactly(precision: int, scale: int) -> Finisher:
    """Decimals with that many digits, rejected if that takes any away."""
    exact = exactly(precision, scale)

    def finish(value: Decimal | None) -> Decimal | None:
        try:
            return None if value is None else exact(value)
        except ArithmeticError:
            raise ValueError(f"{value} does not fit") from None

    return finish


def _instant(value: str | float | None) -> datetime | None:
    """An instant: text in ISO 8601, in UTC if it says no zone, or seconds since 1970.

    >>> _instant("2024-05-01 12:00"), _instant(1.5)
    (datetime.datetime(2024, 5, 1, 12, 0, tzinfo=datetime.timezone.utc), \
datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.timezone.utc))
    """
    if value is None:
        return None
    if isinstance(value, str):
        found = _parsed_iso(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return _EPOCH + timedelta(seconds=value)


def _local(value: str | None) -> datetime | None:
    """A date and a time of day, wherever."""
    found = None if value is None else _parsed_iso(value)
    if found is not None and found.tzinfo is not None:
        raise ValueError(f"{value!r} has a zone")
    return found


def _parsed_iso(text: str) -> datetime:
    """What a text in ISO 8601 says, with all its hyphens.

    Python takes any sign between day and hour: for 1712123112345, it would be 1712-12-31 23:45.
    """
    if _ISO.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no time in ISO 8601")
    return datetime.fromisoformat(text)
