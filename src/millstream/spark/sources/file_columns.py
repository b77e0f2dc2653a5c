"""What columns the files of a source have, looked up before a job reads them.

A column that no file has would be null in every row, and nobody would know why. So the names of a
schema are looked for in the files that are there: in the footers of parquet, the headers of csv and
the records of json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.model.errors import PlanError, RunError, did_you_mean
from millstream.physical.reading import is_on_disk
from millstream.plan.layouts import Layout, Options
from millstream.plan.nodes import FilesSource, Source
from millstream.plan.types.result_types import base_type
from millstream.plan.types.schema import Field, Schema
from millstream.spark.sources.lines import cut_lines, lines_of, opened_file
from millstream.spark.sources.listing import check_there, listed
from millstream.spark.sources.loading import depth, folders_say, is_alike, wrong_type
from millstream.spark.sources.type_names import type_name

_MOST_FILES = 1000
_MOST_BYTES = 64 << 20
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIKE = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"), pa.int64()),
    "DECIMAL": pa.decimal128(38, 0),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ"), pa.timestamp("us")),
    "ARRAY": pa.list_(pa.null()),
    "MAP": pa.map_(pa.string(), pa.null()),
    "STRUCT": pa.struct([]),
}
"""A type of Arrow that is like one of SQL: Spark, which knows them all, may not have started."""
_WHOLE = re.compile(r"-?\d{1,9}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def check_files(sources: Sequence[Source]) -> list[Source]:
    """MS213, MS214, MS215: the files on this machine are those that the program describes.

    Returns the sources of which no file has a row yet: these are to be checked again.
    """
    mine = [source for source in sources if isinstance(source, FilesSource) and is_on_disk(source)]
    return [source for source in mine if not _is_checked(source)]


def _is_checked(source: FilesSource) -> bool:
    """Whether there was something to check."""
    check_there(source.path, source.bounded, source.name)
    names = _names_in(source)
    files = listed(source.path, source.options)
    if names is None or files is None:
        return True
    seen: dict[str, None] = {}
    some = False
    missing = [name for name in source.schema.names if name not in source.optional]
    for file in files[:_MOST_FILES]:
        said = folders_say(file.parts[depth(source.path) : -1])
        with suppress(OSError, pa.ArrowException, ValueError):  # what is wrong, the job reports
            for each in names(file):
                some = True
                seen.update(dict.fromkeys([*each, *said]))
                missing = [name for name in missing if not _is_in(name, seen, source)]
                if not missing:
                    return True
    if some:
        raise _unknown(source, missing[0], list(seen))
    return False


def _is_in(name: str, seen: Iterable[str], source: FilesSource) -> bool:
    if name in seen:
        return True
    return source.format != "json" and name.lower() in map(str.lower, seen)


def _unknown(source: FilesSource, name: str, seen: list[str]) -> RunError:
    what = {"json": "record", "csv": "header"}.get(source.format, "file")
    return RunError(
        "MS213",
        f"no {what} of the {source.format} files in {source.path} has a column {name!r}",
        fix=f"{did_you_mean(name, seen)}. If files may do without it: optional=[{name!r}]",
        step=source.name,
    )


def _names_in(source: FilesSource) -> Callable[[Path], Iterator[Iterable[str]]] | None:
    """What finds names of columns in a file; None where columns have no names in files."""
    if source.format == "parquet":
        return lambda file: _in_footer(file, source)
    if source.format == "json":
        left = [_MOST_BYTES]
        return lambda file: _in_records(file, source.layout or Layout("json"), left)
    if source.layout is not None and source.layout.header:
        layout = source.layout
        return lambda file: _in_header(file, layout)
    return None


def _in_footer(file: Path, source: FilesSource) -> Iterator[Iterable[str]]:
    found = pq.read_schema(file)
    has = {name.lower(): name for name in found.names} | {name: name for name in found.names}
    for field in source.schema:
        name = has.get(field.name) or has.get(field.name.lower())
        wanted = _LIKE.get(base_type(str(field.type)))
        if name is not None and wanted is not None:
            kind = found.field(name).type
            if not is_alike(wanted, kind):
                text = type_name(kind)
                raise wrong_type(source.name, str(file), field.name, text, str(field.type))
    yield found.names


def _in_header(file: Path, layout: Layout) -> Iterator[Iterable[str]]:
    with opened_file(PurePosixPath(file), None) as stream:
        for cuts in cut_lines(lines_of(stream, layout.encoding), layout):
            for _, _, fields in cuts[:1]:
                if not isinstance(fields, Exception):
                    yield [field or "" for field in fields]
                return


def _in_records(file: Path, layout: Layout, left: list[int]) -> Iterator[Iterable[str]]:
    """The names in the first lines of a file: as many as are read at once."""
    if left[0] <= 0:
        return
    with opened_file(PurePosixPath(file), None) as stream:
        for lines in islice(lines_of(stream, layout.encoding), 1):
            for _, line in lines:
                left[0] -= len(line)
                with suppress(msgspec.MsgspecError, RecursionError):
                    yield _OBJECT.decode(line)


def parquet_schema(path: str, options: Options) -> Schema:
    """The columns that parquet files have, all together, and those that their folders say."""
    on_disk = ":" not in path or path.startswith("file:")
    if on_disk:
        check_there(path, bounded=True)
    files = listed(path, options) if on_disk else None
    if not files:
        there = "there is no file yet" if files == [] else "this program does not see them"
        raise PlanError(
            "MS111",
            f"nothing says what columns the parquet files in {path} have: {there}",
            fix="give schema='user string, points int', say, or a dataclass",
        )
    try:
        found = pa.unify_schemas(
            [_read_as(pq.read_schema(file)) for file in files[:_MOST_FILES]],
            promote_options="permissive",
        )
    except (OSError, pa.ArrowException) as error:
        raise RunError(
            "MS214",
            f"the parquet files in {path} have no schema in common: {error}",
            fix="give schema=… with the columns and types to read, or take away files that are "
            "not of it",
        ) from error
    said = [folders_say(file.parts[depth(path) : -1]) for file in files]
    folders = {name: [each.get(name) for each in said] for each in said for name in each}
    fields = [Field(f.name, _known_type(f)) for f in found if f.name.lower() not in folders]
    return Schema((*fields, *(Field(n, _folder_type(texts)) for n, texts in folders.items())))


def _known_type(field: pa.Field) -> str:
    name = type_name(field.type)
    if name == str(field.type):
        raise PlanError(
            "MS111",
            f"column {field.name!r} of the parquet files is {name}, a type that Millstream does "
            "not know",
            fix="give schema=… with the columns to read, and leave it out",
        )
    return name


def _read_as(found: pa.Schema) -> pa.Schema:
    """The schema without what is only a way to store columns, such as dictionaries."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in found
    ]
    return pa.schema(plain)


def _folder_type(texts: Iterable[str | None]) -> str:
    """The type of what folders say.

    >>> _folder_type(["1", None]), _folder_type(["2024-05-01"]), _folder_type(["1", "x"])
    ('INT', 'DATE', 'STRING')
    """
    known = [text for text in texts if text is not None]
    if known and all(map(_WHOLE.fullmatch, known)):
        return "INT"
    return "DATE" if known and all(map(_DAY.fullmatch, known)) else "STRING"
