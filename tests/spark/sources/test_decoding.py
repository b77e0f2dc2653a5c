"""Columns of the values of records: each type in JSON and CSV, and what is rejected and why."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.engine.python_rows import python_rows
from millstream.spark.sources.decoding import decoded

INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
TWO = pa.schema([("user", pa.string()), ("n", pa.int32())])


def read(values, schema, format="json"):
    """The rows of the values that are taken, by their places, and why others are not."""
    given = [value.encode() if isinstance(value, str) else value for value in values]
    frame, why = decoded(given, format, schema)
    assert frame.height == len(given)
    rows = python_rows(frame.to_arrow())
    return {place: row for place, row in enumerate(rows) if place not in why}, why


def one(value, schema, format="json"):
    """The row of a value that is taken."""
    rows, why = read([value], schema, format)
    assert not why
    return rows[0]


def why_not(value, schema, format="json"):
    """The reason why a value is rejected."""
    _, why = read([value], schema, format)
    return why[0]


def of(kind):
    return pa.schema([("x", kind)])


def taken(json_text, kind):
    """What a column has for what stands in JSON."""
    return one(f'{{"x": {json_text}}}', of(kind))["x"]


def rejected(json_text, kind):
    return why_not(f'{{"x": {json_text}}}', of(kind))


# Types.


@pytest.mark.parametrize(
    ("kind", "bits"), [(pa.int8(), 8), (pa.int16(), 16), (pa.int32(), 32), (pa.int64(), 64)]
)
def test_whole_numbers_are_taken_in_their_range(kind, bits):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert [taken(n, kind) for n in (least, 0, most)] == [least, 0, most]
    for beyond in (least - 1, most + 1, 10**30, "1" * 5000):
        assert rejected(beyond, kind)
    for other in ("1.0", "1e2", '"1"', "true", "[1]"):
        assert "Expected 'int | null'" in rejected(other, kind)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_numbers_may_be_infinite_or_none_in_words(kind):
    assert [taken(text, kind) for text in ("1", "-1.5", "1e2")] == [1.0, -1.5, 100.0]
    assert math.isnan(taken('"NaN"', kind))
    assert taken('"Infinity"', kind) == math.inf
    assert taken('"-Infinity"', kind) == -math.inf
    for other in ('"1.5"', '"nan"', '"inf"', "NaN", "true", "1e400", f"1{'0' * 400}"):
        assert rejected(other, kind)


def test_a_number_that_is_too_large_for_a_float_is_refused():
    largest = 3.4028234663852886e38
    # Java writes the largest float in few digits: they are more than it, but nearest to it.
    assert taken("3.4028235e38", pa.float32()) == taken(str(largest), pa.float32()) == largest
    for beyond in ("3.4028236e38", "-3.4028236e38", "1e39"):
        assert "does not fit" in rejected(beyond, pa.float32())
        assert taken(beyond, pa.float64()) == float(beyond)


@pytest.mark.parametrize("text", ["", "a", "größe ☃ 😀", 'a"b\\c\n', "a\0b", "null", " a "])
def test_texts_are_taken_as_they_are(text):
    assert taken(json.dumps(text), pa.string()) == text
    assert taken(json.dumps(text, ensure_ascii=False), pa.string()) == text


@pytest.mark.parametrize("other", ["1", "1.5", "true", "[]", "{}", r'"\ud800"', '"a\nb"'])
def test_what_is_no_text_is_refused(other):
    assert rejected(other, pa.string())


def test_booleans_are_words():
    assert [taken(text, pa.bool_()) for text in ("true", "false")] == [True, False]
    for other in ("0", "1", '"true"'):
        assert "Expected 'bool | null'" in rejected(other, pa.bool_())


def test_dates_are_days():
    for text in ("2024-05-01", "0001-01-01", "9999-12-31"):
        assert taken(f'"{text}"', pa.date32()) == date.fromisoformat(text)
    for other in ('"2024-5-1"', '"2024-02-30"', '"2024-05-01T12:00:00"', '"10000-01-01"', "19000"):
        assert rejected(other, pa.date32())


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.25", "1.25"), ('"1.25"', "1.25"), ("1", "1.00"), ("1e2", "100.00"), ("0.1", "0.10"),
     ("-999.99", "-999.99"), ("1.2500", "1.25"), ("0e-99999", "0.00")],
)  # fmt: skip
def test_decimals_are_exact(text, value):
    assert taken(text, pa.decimal128(5, 2)) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    # At 1e-77 Arrow would say 0, at 1e-9999999 it would end the process.
    ["1.255", '"1.255"', "1000", "1e-77", "1e-9999999", "1e400", "1e999999999", "1" * 5000,
     '"sNaN"', '"Infinity"'],
)  # fmt: skip
def test_decimals_that_do_not_fit_are_refused(text):
    assert "does not fit" in rejected(text, pa.decimal128(5, 2))
    assert "does not fit" in rejected(f"[1, {text}]", pa.list_(pa.decimal128(5, 2)))


def test_decimals_keep_all_their_digits():
    digits = "12345678901234567890.123456789012345678"
    assert taken(digits, pa.decimal128(38, 18)) == Decimal(digits)
    for other in ('"abc"', '"NaN"', "true", "[]"):
        assert rejected(other, pa.decimal128(38, 18))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"2024-05-01T12:00:00Z"', NOON),
        ('"2024-05-01T12:00Z"', NOON),
        ('"2024-05-01 12:00:00Z"', NOON),
        ('"2024-05-01T14:00:00+02:00"', NOON),
        ('"2024-05-01T14:00:00+0200"', NOON),
        ('"2024-05-01T12:00:00.5Z"', NOON + timedelta(milliseconds=500)),
        ('"2024-05-01T12:00:00.123456Z"', NOON + timedelta(microseconds=123456)),
        ('"2024-05-01T12:00:00.123456999Z"', NOON + timedelta(microseconds=123456)),
        ('"2024-05-01T12:00:00.1234569999999Z"', NOON + timedelta(microseconds=123456)),
        ('"1969-12-31T23:59:59.9999999Z"', datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
        ('"2024-05-01T12:00:00"', NOON),
        ('"2024-05-01 12:00"', NOON),
        ('"2024-05-01"', NOON - timedelta(hours=12)),
        ('"0001-01-01T00:00:00Z"', datetime.min.replace(tzinfo=UTC)),
        ('"9999-12-31T23:59:59.999999Z"', datetime.max.replace(tzinfo=UTC)),
        ("0", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1714564800", NOON),
        ("1714564800.25", NOON + timedelta(milliseconds=250)),
        ("1.7145648e9", NOON),
        ("-1", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_instants_are_texts_or_seconds_since_1970(text, value):
    assert taken(text, INSTANT) == value
    assert taken(f"[{text}]", pa.list_(INSTANT)) == [value]


NO_INSTANTS = [
    "x", "", "NaN", "2024-02-30T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T23:59:60Z",
    "2024-05-01t12:00:00z", "2024-5-1T1:2:3Z", " 2024-05-01T12:00:00Z", "2024-05-01T12:00:00UTC",
    "2024-05-01T12:00:00 Z", "2024-05-01_12:00:00Z", "20240501", "1714564800", "1712123112345",
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00",
    "10000-01-01T00:00:00Z", "+10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_INSTANTS)
def test_other_texts_are_no_instants(text):
    assert "column 'x' has no TIMESTAMP" in rejected(f'"{text}"', INSTANT)
    assert "column 'x' has no ARRAY<TIMESTAMP>" in rejected(f'["{text}"]', pa.list_(INSTANT))


@pytest.mark.parametrize(
    "number", ["253402300800", "-62135596801", "1714564800123", "1e18", "1e400"]
)
def test_numbers_beyond_the_years_1_to_9999_are_no_instants(number):
    assert rejected(number, INSTANT)


def test_a_time_without_a_zone_is_text_without_a_zone():
    assert taken('"2024-05-01T12:00:00.5"', LOCAL) == datetime(2024, 5, 1, 12, 0, 0, 500_000)
    assert taken('"2024-05-01"', LOCAL) == datetime(2024, 5, 1)
    assert "'2024-05-01T12:00:00Z' has a zone" in rejected('"2024-05-01T12:00:00Z"', LOCAL)
    for other in ("0", '"x"', '"1712123112345"'):
        assert rejected(other, LOCAL)


def test_bytes_are_in_base64():
    assert [taken(text, pa.binary()) for text in ('"aGk="', '""')] == [b"hi", b""]
    for other in ('"aGk"', '"!"', "5"):
        assert rejected(other, pa.binary())


def test_arrays_hold_items_and_nulls():
    kind = pa.list_(pa.int32())
    assert [taken(text, kind) for text in ("[]", "[1, null]", "null")] == [[], [1, None], None]
    assert rejected("[1, 1.5]", kind).endswith("got 'float' - at '$.x[1]'")
    for other in ("1", "{}", '"[]"'):
        assert rejected(other, kind)


def test_maps_hold_values_by_texts():
    kind = pa.map_(pa.string(), pa.int32())
    assert taken('{"a": 1, "ü": null, "a": 2}', kind) == {"a": 2, "ü": None}
    assert taken("{}", kind) == {}
    for other in ('{"a": "1"}', "[]"):
        assert rejected(other, kind)


def test_structs_hold_the_fields_that_they_have():
    names = ["a b", "größe", "日本", "class", 'q"\\']
    kind = pa.struct([(name, pa.int32()) for name in names])
    nothing = dict.fromkeys(names)
    full = dict(zip(names, range(5), strict=True))
    assert taken(json.dumps(full), kind) == full
    assert taken(json.dumps(full, ensure_ascii=False), kind) == full
    assert taken("{}", kind) == taken('{"other": 1, "": 2, "A B": 3}', kind) == nothing
    assert taken("null", kind) is None
    assert rejected('{"a b": "1"}', kind).endswith("got 'str' - at '$.x.a b'")


def test_what_is_inside_is_read_as_outside():
    kind = pa.struct([("at", INSTANT), ("by", pa.map_(pa.string(), pa.list_(pa.float64())))])
    text = '{"at": 1714564800, "by": {"a": ["NaN", null, 1], "b": null}}'
    value = taken(text, kind)
    assert value["at"] == NOON
    assert repr(value["by"]) == "{'a': [nan, None, 1.0], 'b': None}"
    assert "'x' is no time in ISO 8601" in rejected('{"at": "x"}', kind)


# Objects.


def test_fields_that_are_missing_or_null_are_null_and_others_are_ignored():
    nothing = {"user": None, "n": None}
    for text in ("{}", '{"user": null, "n": null}', '{"other": {"n": [1, {}]}}', '{"N": 1}'):
        assert one(text, TWO) == nothing
    assert one(' {"n": 3, "other": 1e999, "user": "ann"}\n', TWO) == {"user": "ann", "n": 3}


def test_of_a_name_that_is_given_twice_the_last_wins():
    assert one('{"n": 1, "n": 2}', TWO)["n"] == 2
    assert one('{"n": 1, "n": null}', TWO)["n"] is None


@pytest.mark.parametrize(
    "name",
    ["a b", "größe", "日本", "😀", "class", "f0", "self", "a.b", "x`y", "1", "$", "__dict__"],
)
def test_columns_have_any_name(name):
    schema = pa.schema([("f1", pa.int32()), (name, pa.int32())])
    assert one(json.dumps({name: 5}), schema) == {"f1": None, name: 5}
    assert one(json.dumps({name: 5, "f1": 6}, ensure_ascii=False), schema) == {"f1": 6, name: 5}
    assert one("6,5", schema, "csv") == {"f1": 6, name: 5}


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_record_without_a_value_is_refused(format):
    good = {"json": '{"user": "ann"}', "csv": "ann,"}[format]
    rows, why = read([None, good, None], TWO, format)
    assert rows == {1: {"user": "ann", "n": None}}
    assert why == {0: "the record has no value", 2: "the record has no value"}


@pytest.mark.parametrize(
    "value",
    ["", " ", "nonsense", "[]", '[{"n": 1}]', "1", '"ann"', "null", '{"n": 1', '{"n": 1,}',
     "{n: 1}", '{"n": 1} x', '{"n": 1}{"n": 2}', '{"n": 01}', b'{"user": "\xff"}',
     b'\xef\xbb\xbf{"n": 1}', "[" * 100_000, f'{{"other": {"[" * 100_000}{"]" * 100_000}}}'],
)  # fmt: skip
def test_what_is_no_object_is_refused(value):
    assert why_not(value, TWO).startswith("the value is no json of the schema: ")


def test_the_reason_says_what_is_wrong_where():
    assert why_not('{"n": "3"}', TWO) == (
        "the value is no json of the schema: Expected 'int | null', got 'str' - at '$.n'"
    )
    schema = pa.schema([("at", INSTANT)])
    assert why_not('{"at": "noon"}', schema) == (
        "column 'at' has no TIMESTAMP: 'noon' is no time in ISO 8601"
    )


@pytest.mark.parametrize("format", ["json", "csv"])
def test_no_records_are_no_rows(format):
    schema = pa.schema([("at", INSTANT), ("n", pa.int32()), ("d", pa.decimal128(5, 2))])
    frame, why = decoded([], format, schema)
    assert (frame.columns, frame.height, why) == (["at", "n", "d"], 0, {})


@pytest.mark.parametrize("bad", ["nonsense", None, '{"n": 1.5}', '{"at": "noon"}', '{"d": 1.255}'])
def test_a_bad_record_among_good_ones_changes_nothing(bad):
    schema = pa.schema([("n", pa.int32()), ("at", INSTANT), ("d", pa.decimal128(5, 2))])
    good = [f'{{"n": {n}, "at": "2024-05-01T12:00:{n:02}Z", "d": {n}}}' for n in range(50)]
    rows, why = read([*good[:20], bad, *good[20:]], schema)
    assert list(why) == [20]
    assert [rows[place] for place in sorted(rows)] == [
        {"n": n, "at": NOON + timedelta(seconds=n), "d": Decimal(n)} for n in range(50)
    ]
    assert sorted(rows) == [*range(20), *range(21, 51)]


# CSV.


@pytest.mark.parametrize(
    ("value", "user", "n"),
    [("ann,3", "ann", 3), ("ann,3\r\n", "ann", 3), ('"ann","3"', "ann", 3), ('"a,b",3', "a,b", 3),
     ('"a ""b""",3', 'a "b"', 3), ('a"b,3', 'a"b', 3), ('"a\nb",3', "a\nb", 3),
     (" ann ,3", " ann ", 3), ("ann,", "ann", None), (",3", "", 3), (",", "", None),
     ('"",""', "", None), ("null,null", "null", None), ("ann,NULL", "ann", None),
     ("größe,3", "größe", 3)],
)  # fmt: skip
def test_fields_are_between_commas(value, user, n):
    assert one(value, TWO, "csv") == {"user": user, "n": n}


@pytest.mark.parametrize(
    ("value", "reason"),
    [("", "2 fields are wanted, not 0"), ("ann", "2 fields are wanted, not 1"),
     ("ann,3,", "2 fields are wanted, not 3"), ("ann,x", "got 'str' - at '$.n'"),
     ("ann, 3", "got 'str' - at '$.n'"), ("ann,3\nbob,4", "new-line character"),
     ('"ann,3', "unexpected end of data"), ('"ann"x,3', "',' expected after"),
     (b"\xff,3", "codec can't decode")],
)  # fmt: skip
def test_other_lines_are_refused(value, reason):
    why = why_not(value, TWO, "csv")
    assert why.startswith("the value is no csv of the schema: ")
    assert reason in why


def test_fields_are_read_as_the_types_say():
    columns = {
        "n": (pa.int8(), {"-128": -128, "3.0": 3, "1e2": 100}, ["128", "1.5", "+1", "x"]),
        "f": (pa.float32(), {"1.5": 1.5, "Infinity": math.inf, "3": 3.0}, ["1e39", "x"]),
        "g": (pa.float64(), {"1e39": 1e39, "-Infinity": -math.inf}, ["1e400", "1,5"]),
        "s": (pa.string(), {"1": "1", "true": "true"}, []),
        "b": (pa.bool_(), {"true": True, "FALSE": False, "1": True}, ["yes", "2"]),
        "d": (pa.date32(), {"2024-05-01": date(2024, 5, 1)}, ["2024-5-1", "0"]),
        "p": (pa.decimal128(5, 2), {"1.5": Decimal("1.50")}, ["1.255", "1000", "x", "NaN"]),
        "t": (INSTANT, {"2024-05-01T12:00:00Z": NOON, "2024-05-01 12:00": NOON},
              ["1714564800", "1712123112345", "noon"]),
        "l": (LOCAL, {"2024-05-01": datetime(2024, 5, 1)}, ["2024-05-01T12:00:00Z", "0"]),
        "y": (pa.binary(), {"aGk=": b"hi"}, ["!"]),
    }  # fmt: skip
    schema = pa.schema(
        [("k", pa.string()), *((name, kind) for name, (kind, _, _) in columns.items())]
    )

    def line(name, text):
        return ",".join(["k", *(text if each == name else "" for each in columns)])

    for name, (_, good, bad) in columns.items():
        others = {each: "" if each == "s" else None for each in columns if each != name}
        for text, value in good.items():
            assert one(line(name, text), schema, "csv") == {"k": "k", **others, name: value}
        for text in bad:
            assert why_not(line(name, text), schema, "csv"), (name, text)


# Any schema.

ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))
NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='"\\'), min_size=1, max_size=5
)
LEAVES = [
    (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.string(), st.text()),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.decimal128(5, 2), st.integers(-99_999, 99_999).map(lambda n: Decimal(f"{n}e-2"))),
    (pa.decimal128(38, 10), st.integers(1 - 10**38, 10**38 - 1).map(lambda n: Decimal(f"{n}e-10"))),
    (INSTANT, st.builds(lambda moment, zone: moment.replace(tzinfo=zone), MOMENTS, ZONES)),
    (LOCAL, st.datetimes()),
    (pa.binary(), st.binary()),
]


def maybe(values):
    return st.none() | values


def nested(types):
    """Arrays, maps and structs, each with what it may hold."""
    arrays = types.map(lambda t: (pa.list_(t[0]), st.lists(maybe(t[1]), max_size=3)))
    maps = types.map(
        lambda t: (
            pa.map_(pa.string(), t[0]),
            st.dictionaries(st.text(max_size=3), maybe(t[1]), max_size=3),
        )
    )
    structs = st.dictionaries(NAMES, types, min_size=1, max_size=3).map(struct_of)
    return arrays | maps | structs


def struct_of(fields):
    kind = pa.struct([(name, kind) for name, (kind, _) in fields.items()])
    return kind, st.fixed_dictionaries(
        {name: maybe(values) for name, (_, values) in fields.items()}
    )


def as_json(value):
    """The value as a producer would write it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


@st.composite
def tables(draw):
    """A schema, and rows of it."""
    types = st.recursive(st.sampled_from(LEAVES), nested, max_leaves=4)
    fields = draw(st.dictionaries(NAMES, types, min_size=1, max_size=4))
    kind, values = struct_of(fields)
    return pa.schema(list(kind)), draw(st.lists(values, max_size=4))


@given(tables(), st.booleans())
def test_rows_that_are_written_as_json_are_read_again(table, ascii):
    schema, rows = table
    texts = [json.dumps(as_json(row), ensure_ascii=ascii) for row in rows]
    found, why = read(texts, schema)
    assert not why
    expected = python_rows(pa.Table.from_pylist(rows, schema))
    # As text, for NaN is not equal to itself.
    assert repr(list(found.values())) == repr(expected)


MIXED = pa.schema([
    ("n", pa.int32()), ("f", pa.float32()), ("d", pa.decimal128(5, 2)), ("at", INSTANT),
    ("local", LOCAL), ("text", pa.string()), ("all", pa.list_(INSTANT)),
    ("in", pa.struct([("at", INSTANT), ("größe", pa.int32())])),
])  # fmt: skip
PLAIN = pa.schema([field for field in MIXED if not pa.types.is_nested(field.type)])
TEXTS = [*NO_INSTANTS, "2024-05-01T12:00:00Z", "2024-05-01T12:00:00.123456789+02:00", "2024-05-01"]
NUMBERS = ["0", "3", "1.25", "1.255", "-1714564800", "1e39", "1e-77", "1e18", "1e999"]
PARTS = [
    *(f'"{text}"' for text in TEXTS), *NUMBERS, "null", "true", "[]", '["2024-05-01T12:00:00Z", 0]',
    '["x"]', "{}", '{"at": 0, "größe": 1}', '{"at": "x"}', '{"größe": 1.5}', "}",
]  # fmt: skip
OBJECTS = st.dictionaries(st.sampled_from(MIXED.names), st.sampled_from(PARTS), max_size=2).map(
    lambda parts: "{" + ", ".join(f'"{name}": {part}' for name, part in parts.items()) + "}"
)
LINES = st.lists(
    st.sampled_from([*TEXTS, *NUMBERS, *[""] * 20]), min_size=len(PLAIN), max_size=len(PLAIN)
).map(",".join)


def check_each_alone(values, schema, format):
    rows, why = read(values, schema, format)
    for place, value in enumerate(values):
        row, reason = read([value], schema, format)
        assert (row.get(0), reason.get(0)) == (rows.get(place), why.get(place))


@given(st.lists(st.none() | st.binary(max_size=5) | OBJECTS, max_size=12))
@example(['{"at": "2024-05-01T12:00:00z"}', '{"at": 0}'])
def test_what_becomes_of_an_object_is_no_matter_of_the_others(values):
    check_each_alone(values, MIXED, "json")


@given(st.lists(st.none() | st.binary(max_size=5) | LINES, max_size=12))
def test_what_becomes_of_a_line_is_no_matter_of_the_others(values):
    check_each_alone(values, PLAIN, "csv")
