"""How the lines of JSON and CSV files are laid out, by the options of a program."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from millstream.model.errors import PlanError, did_you_mean

Options = tuple[tuple[str, str], ...]

LISTING = (
    "basePath",
    "cleanSource",
    "discardCachedInputRatio",
    "fileNameOnly",
    "latestFirst",
    "maxBytesPerTrigger",
    "maxCachedFiles",
    "maxFileAge",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
    "sourceArchiveDir",
    "timeZone",
)
"""Options that select files, and not how they are read: Spark lists files, whoever reads them."""

_LINES = {"encoding": "encoding", "charset": "encoding"}
_FIELDS = {
    **_LINES,
    "header": "header",
    "sep": "sep",
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "nullvalue": "null",
    "multiline": "multi_line",
}
_NAMES = {"nullvalue": "nullValue", "multiline": "multiLine"}


@dataclass(frozen=True, slots=True)
class Layout:
    """A file of JSON, an object in each line, or of CSV."""

    format: Literal["json", "csv"]
    encoding: str = "utf-8"
    header: bool = False
    sep: str = ","
    quote: str = '"'
    escape: str = ""
    """What comes before a quote that does not end its value; else that is another quote."""
    null: str = ""
    multi_line: bool = False


def layout_of(format: Literal["json", "csv"], options: Options) -> Layout:
    """The layout that the options describe; one that Spark's reader alone knows is refused.

    >>> layout_of("csv", (("header", "true"), ("sep", ";"))).sep
    ';'
    """
    known = _LINES if format == "json" else _FIELDS
    settings: dict[str, Any] = {}
    for name, value in options:
        if _is_for_listing(name):
            continue
        meaning = known.get(name.lower())
        if meaning is None:
            raise _unknown(format, name, known)
        settings[meaning] = _value(name, meaning, value)
    return Layout(format, **settings)


def listing_options(options: Options) -> Options:
    """Those that select which files are read."""
    return tuple((name, value) for name, value in options if _is_for_listing(name))


def _is_for_listing(name: str) -> bool:
    """Whether it selects which files are read; with a dot, it is a setting of Hadoop's file system.

    >>> _is_for_listing("pathglobfilter"), _is_for_listing("fs.s3a.access.key")
    (True, True)
    """
    return "." in name or name.lower() in {known.lower() for known in LISTING}


def _unknown(format: str, name: str, known: Iterable[str]) -> PlanError:
    names = [*(_NAMES.get(each, each) for each in known), *LISTING]
    return PlanError(
        "MS113",
        f"{format} files whose malformed lines are rejected have no option {name!r}",
        fix=f"{did_you_mean(name, names)}. With on_malformed='null', Spark's own reader takes all "
        "of its options, and makes null of what it cannot read",
    )


def _value(name: str, meaning: str, value: str) -> Any:
    if meaning in ("header", "multi_line"):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise _wrong(name, value, "give True or False")
    if meaning == "encoding":
        try:
            return codecs.lookup(value).name
        except LookupError:
            raise _wrong(name, value, "give one that Python knows, such as 'utf-16'") from None
    if meaning in ("sep", "quote", "escape"):
        text = "\t" if value == "\\t" else value
        if len(text) == 1 or (not text and meaning != "sep"):
            return text
        raise _wrong(name, value, "give a single character")
    return value


def _wrong(name: str, value: str, fix: str) -> PlanError:
    return PlanError("MS113", f"the option {name}={value!r} is not a choice", fix=fix)
