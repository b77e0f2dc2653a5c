"""The hash of keys: what is on disk is found again by it, on any machine and for ever."""

from __future__ import annotations

import math
import struct
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest

from millstream.engine.exchange.hashing import fingerprints, hashed

_64 = 2**64 - 1


def hashes(values, kind):
    return hashed(pl.DataFrame({"key": pl.Series(values, dtype=kind)}), ["key"]).to_list()


def mixed(number):
    """The finish of MurmurHash3, as its author wrote it down."""
    number = (number ^ (number >> 33)) * 0xFF51AFD7ED558CCD & _64
    number = (number ^ (number >> 33)) * 0xC4CEB9FE1A85EC53 & _64
    return number ^ (number >> 33)


def polynomial(start, parts):
    for part in parts:
        start = (start * 1_099_511_628_211 + part) & _64
    return start


def of_bytes(value):
    words = [value[i : i + 8].ljust(8, b"\0") for i in range(0, len(value), 8)]
    return mixed(polynomial(len(value), (int.from_bytes(w, "little") for w in words)))


def of_float(value):
    return mixed(int.from_bytes(struct.pack("<d", value), "little"))


AT = datetime(2024, 2, 29, 12, 30, 0, 123456)
MICROS = 1_709_209_800_123_456
VALUES = [
    # the type, a value, what the hash is by the rule, and the number that is on disk
    (pl.Boolean, True, mixed(1), 12994781566227106604),
    (pl.Int8, -1, mixed(_64), 7256831767414464289),
    (pl.Int32, 42, mixed(42), 9297814886316923340),
    (pl.Int64, -(2**63), mixed(2**63), 10338021812380738707),
    (pl.Float32, 0.5, of_float(0.5), 13027218867993528613),
    (pl.Float64, -1.5, of_float(-1.5), 7773024932749473758),
    (pl.Float64, math.inf, of_float(math.inf), 15387202389043422271),
    (pl.Date, date(2024, 2, 29), mixed(19782), 18317267186377980178),
    (pl.Datetime("us"), AT, mixed(MICROS), 16571808814245889585),
    (pl.Datetime("us", "UTC"), AT.replace(tzinfo=UTC), mixed(MICROS), 16571808814245889585),
    (pl.Decimal(20, 3), Decimal("12.5"), of_bytes(b"12.500"), 16567287596985087014),
    (pl.String, "red", of_bytes(b"red"), 5020103052987547095),
    (pl.String, "eight by", of_bytes(b"eight by"), 13717542468514370093),
    (pl.String, "日本 😀", of_bytes("日本 😀".encode()), 3628433527358175564),
    (pl.String, "long " * 50, of_bytes(b"long " * 50), 16005532659743456502),
    (pl.Binary, b"\0\xff", of_bytes(b"\0\xff"), 14434695269003429800),
    (pl.List(pl.Int32), [1, None], mixed(polynomial(2, [mixed(1), 0])), 17878532893856094270),
    (
        pl.Struct({"a": pl.Int32, "b": pl.List(pl.String)}),
        {"a": 1, "b": ["x"]},
        mixed(polynomial(0, [mixed(1), mixed(polynomial(1, [of_bytes(b"x")]))])),
        17522907747047470373,
    ),
]


@pytest.mark.parametrize(("kind", "value", "by_rule", "on_disk"), VALUES)
def test_a_key_has_the_hash_that_is_on_disk(kind, value, by_rule, on_disk):
    assert hashes([value], kind) == [by_rule] == [on_disk]


@pytest.mark.parametrize(
    ("kind", "equal"),
    [
        (pl.Float64, [0.0, -0.0]),
        (pl.Float32, [0.0, -0.0]),
        (pl.Float64, [math.nan, -math.nan, math.inf - math.inf]),
        (pl.List(pl.Float64), [[1.0, -0.0], [1.0, 0.0]]),
        (pl.List(pl.List(pl.Float64)), [[[math.nan]], [[-math.nan]]]),
        (pl.Struct({"x": pl.Struct({"y": pl.Float64})}), [{"x": {"y": -0.0}}, {"x": {"y": 0.0}}]),
        (pl.Decimal(20, 3), [Decimal("1.5"), Decimal("1.500")]),
    ],
)
def test_equal_keys_have_equal_hashes(kind, equal):
    assert len(set(hashes(equal, kind))) == 1


@pytest.mark.parametrize(
    ("kind", "different"),
    [
        (pl.Int64, [1, -1, 2**32 + 1]),
        (pl.Float64, [1.0, -1.0, math.nan, math.inf, -math.inf]),
        (pl.String, ["a", "a\0", "\0a", "A", "aa", "é", "e\u0301"]),
        (pl.String, ["x" * 8, "x" * 9, "x" * 8 + "\0", "x" * 16, "x" * 17]),
        (pl.Binary, [b"\0", b"\0\0", b"\xff"]),
        (pl.List(pl.Int32), [[1], [1, None], [None, 1], [1, 1], [None], [None, None]]),
        (pl.Struct({"a": pl.Int32, "b": pl.Int32}), [{"a": 1, "b": 2}, {"a": 2, "b": 1}]),
    ],
)
def test_different_keys_rarely_have_equal_hashes(kind, different):
    assert len(set(hashes(different, kind))) == len(different)


@pytest.mark.parametrize(("kind", "value", "by_rule", "on_disk"), VALUES)
def test_null_has_the_hash_0_and_changes_no_other(kind, value, by_rule, on_disk):
    assert hashes([None, value, None], kind) == [0, on_disk, 0]


def test_a_column_of_nothing_but_nulls_has_a_hash_in_any_type():
    assert hashes([None, None], pl.Null) == [0, 0]
    assert hashes([None], pl.String) == hashes([None], pl.List(pl.Int8)) == [0]


def test_an_empty_table_has_no_hashes():
    for kind in (pl.Int64, pl.String, pl.List(pl.String)):
        assert hashes([], kind) == []


@pytest.mark.parametrize(("kind", "value", "by_rule", "on_disk"), VALUES)
def test_where_a_key_stands_does_not_change_its_hash(kind, value, by_rule, on_disk):
    """A part of a table shares the memory of the whole, and one of several chunks is in pieces."""
    column = pl.Series([None, value, None, value], dtype=kind)
    part = pl.DataFrame({"key": column}).slice(1, 1)
    pieces = pl.concat([pl.DataFrame({"key": column.slice(n, 1)}) for n in (1, 3)], rechunk=False)
    assert hashed(part, ["key"]).to_list() == [on_disk]
    assert hashed(pieces, ["key"]).to_list() == [on_disk, on_disk]


def test_several_keys_make_one_hash_that_depends_on_their_order():
    table = pl.DataFrame({"a": [1, 2], "b": [2, 1]})
    forth, back = hashed(table, ["a", "b"]).to_list(), hashed(table, ["b", "a"]).to_list()
    assert forth == [polynomial(0, [mixed(1), mixed(2)]), polynomial(0, [mixed(2), mixed(1)])]
    assert forth == back[::-1]


def test_without_keys_all_is_in_one_place():
    assert hashed(pl.DataFrame({"a": [1, 2, 3]}), []).to_list() == [0, 0, 0]


@pytest.mark.parametrize(
    "keys",
    [
        [f"user-{n}" for n in range(20_000)],
        [f"{n:030}" for n in range(20_000)],
        list(range(20_000)),
        [n * 4096 for n in range(20_000)],
        [n / 8 for n in range(20_000)],
        [datetime(2024, 1, 1 + n % 28, n // 28 % 24, n // 672) for n in range(20_000)],
    ],
    ids=["names", "padded numbers", "numbers", "multiples", "floats", "times"],
)
@pytest.mark.parametrize("parts", [4, 16, 10])
def test_keys_that_look_alike_spread_evenly(keys, parts):
    """Of n keys in equal parts, a part has n/parts, give or take five standard deviations."""
    values = pl.DataFrame({"key": keys})
    # The shard is the rest by the number of shards, and the bucket comes from what is above it.
    numbers = hashed(values, ["key"])
    expected = len(set(keys)) / parts
    for places in (numbers % parts, numbers // parts % parts):
        sizes = Counter(places.to_list())
        assert len(sizes) == parts
        assert max(abs(size - expected) for size in sizes.values()) < 5 * math.sqrt(expected)


def mixed_in(start, parts):
    for part in parts:
        start = mixed(polynomial(start, [part]))
    return start


def test_the_fingerprint_of_a_value_is_on_disk_and_stays_the_same():
    long = b"sixteen or more bytes"
    words = [int.from_bytes(long[i : i + 8], "little") for i in range(0, len(long), 8)]
    number = {pl.Int64: (42, mixed(42)), pl.String: (long.decode(), mixed(mixed_in(21, words)))}
    for kind, (value, expected) in number.items():
        assert fingerprints(pl.Series([value, None], dtype=kind)).to_list() == [expected, None]


def test_texts_that_meet_in_the_hash_of_keys_have_different_fingerprints():
    texts = [f"channel{a}-device{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefgh"]
    assert len(set(hashes(texts, pl.String))) < len(texts)
    assert fingerprints(pl.Series(texts)).n_unique() == len(texts)


def test_decimals_that_are_equal_have_one_fingerprint_whatever_their_scale() -> None:
    one, other = pl.Series(["0.10", "12.00"]), pl.Series(["0.1", "12"])
    made = [
        fingerprints(each.cast(pl.Decimal(20, scale))).to_list()
        for each, scale in ((one, 2), (other, 3), (other, 1))
    ]
    assert made[0] == made[1] == made[2]


def test_null_in_a_struct_has_another_fingerprint_than_zero():
    values = pl.Series([{"n": 0}, {"n": None}, {"n": 0}])
    zero, null, again = fingerprints(values)
    assert zero == again != null
