"""MS120: files hold columns of some types only: csv values without parts, text one line a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from millstream.model.errors import PlanError
from millstream.plan.targets import FileFormat, Files
from millstream.plan.types.result_types import base_type
from millstream.plan.types.schema import Field, Schema, quoted

_WITH_PARTS = ("ARRAY", "MAP", "STRUCT", "VARIANT")
# Spark writes bytes to csv as a list of numbers, which is not what it then reads.
_NOT_IN_CSV = (*_WITH_PARTS, "BINARY")
_FIXED_TEXT = re.compile(r"\b(VAR)?CHAR\(")


def check_readable(schema: Schema, format: FileFormat) -> None:
    """The columns are of types that Spark reads from files of that format."""
    for field in schema:
        if _FIXED_TEXT.search(field.type or ""):
            raise PlanError(
                "MS120",
                f"Spark reads no {field.type} from files: {field.name!r}",
                fix=f"write STRING: {re.sub(r'(VAR)?CHAR[(][0-9]+[)]', 'STRING', str(field))!r}",
            )
        if format == "csv" and _base(field) in _WITH_PARTS:
            parsed = f"from_json({quoted(field.name)}, '{field.type}')"
            raise PlanError(
                "MS120",
                f"csv files cannot hold {_listed([field])}",
                fix=f"read it as STRING, then .with_columns({field.name}={parsed!r})",
            )


def check_writable(schema: Schema, target: Files) -> None:
    """The columns are of types that files of that format can hold, and names of folders.

    What has no known type passes here, and is judged by Spark when the plan is lowered.
    """
    _check_folders([field for field in schema if field.name in target.partition_by])
    schema = Schema(tuple(field for field in schema if field.name not in target.partition_by))
    if target.format == "text":
        _check_line(schema)
    is_csv = target.format == "csv"
    misfits = [field for field in schema if is_csv and _base(field) in _NOT_IN_CSV]
    if misfits:
        raise PlanError(
            "MS120",
            f"csv files cannot hold {_listed(misfits)}",
            fix=f"write {', or '.join(_ways_out(schema, misfits))}, or format='json'",
        )


def _check_folders(fields: list[Field]) -> None:
    for field in fields:
        if _base(field) in _NOT_IN_CSV:
            parts = _flat_parts(field)
            part = f"{quoted(field.name)}.{quoted(parts[0])}" if parts else _as_text(field)
            raise PlanError(
                "MS120",
                f"folders cannot be named after {_listed([field])}",
                fix=f"partition by a column made of it: .with_columns(part={part!r})",
            )


def _check_line(schema: Schema) -> None:
    names = schema.names
    if len(names) == 1 and schema.fields[0].type in (None, "STRING"):
        return
    lines = f"to_json(struct({', '.join(map(quoted, names))}))"
    what = f"there are {len(names)}: {', '.join(names)}"
    if len(names) == 1:
        (field,) = schema
        lines, what = _as_text(field), f"{field.name!r} is {field.type}"
    raise PlanError(
        "MS120",
        f"text files hold one column of STRING, but {what}",
        fix=f"write .select(value={lines!r}), or format='json'",
    )


def _ways_out(schema: Schema, misfits: list[Field]) -> Iterator[str]:
    flat = [field.name for field in schema if field not in misfits]
    yield f".select({', '.join(map(repr, [*flat, *_instead(schema, misfits)]))})"
    if flat:
        yield f".drop({', '.join(repr(field.name) for field in misfits)})"


def _instead(schema: Schema, misfits: list[Field]) -> Iterator[str]:
    """What of each column csv could hold: of a window the start, of an array its text."""
    taken = {name.lower() for name in schema.names}
    for field in misfits:
        part = next((name for name in _flat_parts(field) if name.lower() not in taken), None)
        if part is None:
            yield f"{_as_text(field)} AS {quoted(field.name)}"
        else:
            taken.add(part.lower())
            yield f"{quoted(field.name)}.{quoted(part)} AS {quoted(part)}"


def _flat_parts(field: Field) -> list[str]:
    # sqlglot costs most of an import of millstream: only programs with schemas pay it.
    from millstream.plan.types.ddl import inner_types

    inner = inner_types(str(field.type)) if _base(field) == "STRUCT" else []
    return [name for name, type in inner if base_type(type) not in _NOT_IN_CSV]


def _as_text(field: Field) -> str:
    name = quoted(field.name)
    if _base(field) == "BINARY":
        return f"base64({name})"
    return f"to_json({name})" if _base(field) in _WITH_PARTS else f"cast({name} AS STRING)"


def _listed(fields: list[Field]) -> str:
    return ", ".join(f"{field.name!r} ({_base(field)})" for field in fields)


def _base(field: Field) -> str | None:
    return None if field.type is None else base_type(field.type)
