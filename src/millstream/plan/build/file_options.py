"""The options of files: which a program may set, and to what.

Spark ignores a name that it does not know, and reports a wrong value only when the job runs.
"""

from __future__ import annotations

import re

from millstream.model.errors import PlanError, did_you_mean
from millstream.plan.layouts import LISTING, Options
from millstream.plan.targets import FileFormat

# What a program may set, and to what; the first is what holds where it sets nothing.
# Of text, gzip is the one compression that every reader takes.
_PLAIN: dict[str, tuple[str, ...]] = {"compression": ("none", "gzip")}
_WRITER: dict[FileFormat, dict[str, tuple[str, ...]]] = {
    "parquet": {"compression": ("zstd", "snappy", "gzip", "lz4", "none")},
    "json": _PLAIN,
    "csv": {**_PLAIN, "header": ("true", "false"), "sep": (",", ";", "|", "\t")},
    "text": _PLAIN,
}

_LINES = (
    "charset columnNameOfCorruptRecord compression dateFormat enableDateTimeParsingFallback "
    "encoding lineSep locale mode multiLine samplingRatio singleVariantColumn timeFormat timeZone "
    "timestampFormat timestampNTZFormat "
)
READER: dict[FileFormat, frozenset[str]] = {
    "parquet": frozenset(["compression", "datetimeRebaseMode", "int96RebaseMode", "mergeSchema"]),
    "text": frozenset(["compression", "encoding", "lineSep", "wholetext"]),
    "json": frozenset(
        (
            _LINES + "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers "
            "allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars "
            "allowUnquotedFieldNames dropFieldIfAllNull ignoreNullFields inferTimestamp "
            "prefersDecimal pretty primitivesAsString sortKeys useUnsafeRow "
            "writeNonAsciiCharacterAsCodePoint"
        ).split()
    ),
    "csv": frozenset(
        (
            _LINES + "charToEscapeQuoteEscaping codec columnPruning comment delimiter emptyValue "
            "enforceSchema escape escapeQuotes extension header ignoreLeadingWhiteSpace "
            "ignoreTrailingWhiteSpace inferSchema inputBufferSize maxCharsPerColumn maxColumns "
            "nanValue negativeInf nullValue positiveInf preferDate quote quoteAll sep "
            "unescapedQuoteHandling"
        ).split()
    ),
}
"""The options that Spark's own reader of a format has, besides those of every format."""
_ALWAYS = (*LISTING, "ignoreCorruptFiles", "ignoreMissingFiles")

_SWITCH = (re.compile("true|false", re.IGNORECASE), "give True or False")
_NUMBER = (re.compile("0*[1-9][0-9]*"), "give a whole number, 1 or more")
_INSTANT = (
    re.compile(r"\d{4}(-\d{1,2}(-\d{1,2}([T ].*)?)?)?"),
    "give an instant, such as '2026-11-17T12:00:00'",
)
_VALUES = {
    **dict.fromkeys(
        (
            "fileNameOnly header ignoreCorruptFiles ignoreLeadingWhiteSpace ignoreMissingFiles "
            "ignoreTrailingWhiteSpace latestFirst mergeSchema multiLine recursiveFileLookup "
            "wholetext"
        )
        .lower()
        .split(),
        _SWITCH,
    ),
    "maxbytespertrigger": _NUMBER,
    "maxcachedfiles": (re.compile("[0-9]+"), "give a whole number, 0 or more"),
    "discardcachedinputratio": (re.compile(r"0?\.\d+|[01](\.0*)?"), "give a number from 0 to 1"),
    "maxfileage": (
        re.compile(r"\s*[0-9]+(us|ms|s|m|min|h|d)?\s*", re.IGNORECASE),
        "give a whole number and a unit: us, ms, s, m, h or d, such as '7d'",
    ),
    "modifiedafter": _INSTANT,
    "modifiedbefore": _INSTANT,
    "cleansource": (
        re.compile("archive|delete|off", re.IGNORECASE),
        "use one of: archive, delete, off",
    ),
    "mode": (
        re.compile("permissive|dropmalformed|failfast", re.IGNORECASE),
        "use one of: PERMISSIVE, DROPMALFORMED, FAILFAST",
    ),
}


def check_read_options(format: FileFormat, options: Options, by_spark: bool) -> None:
    """Refuses what is no option of files that are read ``by_spark``, and values that are none.

    A name with a dot is a setting of Hadoop's file system.

    >>> check_read_options("parquet", (("mergeShema", "true"),), by_spark=True)
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS113: parquet files are read without an option 'mergeShema'
      What to do: did you mean 'mergeSchema'?
      More: millstream help MS113
    """
    names = sorted({*READER[format], *_ALWAYS})
    for name, value in options:
        if "." in name:
            continue
        if name.lower() == "maxfilespertrigger":
            raise PlanError(
                "MS113",
                f"the option {name!r} is an argument of read_files",
                fix="write read_files(…, max_files_per_batch=100)",
            )
        if by_spark and name.lower() not in map(str.lower, names):
            fix = did_you_mean(name, names)
            raise PlanError(
                "MS113",
                f"{format} files are read without an option {name!r}",
                fix=fix.partition(" There are")[0],
            )
        allowed, fix = _VALUES.get(name.lower(), (None, ""))
        if allowed is not None and not allowed.fullmatch(value):
            raise PlanError("MS113", f"the option {name}={value!r} is not a choice", fix=fix)


def checked_write_options(format: FileFormat, options: Options) -> Options:
    """The options of files that are written; what is none is refused.

    >>> checked_write_options("csv", (("Header", "false"),))
    (('header', 'false'),)
    >>> checked_write_options("csv", (("headers", "true"),))
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS113: csv files are written without an option 'headers'
      What to do: did you mean 'header'? There are: compression, header, sep
      More: millstream help MS113
    """
    known = _WRITER[format]
    checked = {}
    for name, value in options:
        choices = known.get(name.lower())
        if choices is None:
            what = f"{format} files are written without an option {name!r}"
            raise PlanError("MS113", what, fix=did_you_mean(name, known))
        if value.lower() not in choices:
            what = f"the option {name}={value!r} is not a choice for {format} files"
            raise PlanError("MS113", what, fix=f"use one of: {', '.join(map(repr, choices))}")
        checked[name.lower()] = value.lower()
    return tuple(checked.items())


def write_defaults(format: FileFormat) -> dict[str, str]:
    """What holds where a program sets nothing.

    >>> write_defaults("csv")
    {'compression': 'none', 'header': 'true', 'sep': ','}
    """
    return {name: choices[0] for name, choices in _WRITER[format].items()}
