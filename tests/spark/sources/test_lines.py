"""Lines of JSON and CSV files: decoded as records of Kafka are, or rejected with their place."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import millstream as ms
import millstream.spark.sources.lines
from bags import bag
from millstream.model.errors import RunError
from millstream.plan.layouts import Layout
from millstream.spark.driver import session
from millstream.spark.sources.loading import decoded_lines, depth

TWO = pa.schema([("user", pa.string()), ("n", pa.int32())])


def read(
    file: Path, layout: Layout, schema: pa.Schema = TWO, folder: Path | None = None
) -> tuple[list[dict], list[tuple[int, bytes, str]]]:
    """The rows of a file, and the lines that are rejected: by its name, and by its content."""
    below = depth(str(folder or file.parent))
    by_name, by_content = (
        list(decoded_lines("in", f"file:{file}", content, layout, below, schema))
        for content in (None, file.read_bytes())
    )
    rows, same = ([row for p in ps for row in p.rows.to_dicts()] for ps in (by_name, by_content))
    assert rows == same
    rejected = [line for part in by_name for line in part.rejected]
    assert rejected == [line for part in by_content for line in part.rejected]
    return rows, rejected


def rows_of(tmp_path: Path, content: bytes | str, layout: Layout, name: str = "in") -> list[dict]:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    rows, rejected = read(file, layout)
    assert not rejected
    return rows


JSON, CSV = Layout("json"), Layout("csv")
HEADED = Layout("csv", header=True)
ANN = {"user": "ann", "n": 3}
BOB = {"user": "bob", "n": None}
LINES = '{"user": "ann", "n": 3}\n{"user": "bob"}\n'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"user": "ann", "n": "5"}', "Expected 'int | null', got 'str' - at '$.n'"),
        ('{"user": "ann", "n": 2.5}', "Expected 'int | null', got 'float' - at '$.n'"),
        ('{"user": "ann", "n": 9999999999}', "Expected 'int' <= 2147483647 - at '$.n'"),
        ('{"user": "ann", "n":', "Input data was truncated"),
        ('{"user": 5}', "Expected 'str | null', got 'int' - at '$.user'"),
        ("[1]", "Expected 'object', got 'array'"),
        ("\ufeff{}", "JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_with_its_number(
    tmp_path: Path, line: str, reason: str
) -> None:
    (tmp_path / "in").write_text(f"{LINES}\n{line}\n{LINES}")
    rows, rejected = read(tmp_path / "in", JSON)
    assert rows == [ANN, BOB, ANN, BOB]
    assert rejected == [(4, line.encode(), f"the value is no json of the schema: {reason}")]


def test_a_line_is_refused_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b'{"user": "\xff"}\r\n{"user": "ann", "n": 3}\r\n')
    rows, ((number, text, _),) = read(tmp_path / "in", JSON)
    assert (rows, number, text) == ([ANN], 1, b'{"user": "\xff"}\r')


@pytest.mark.parametrize(
    "content",
    [
        LINES, LINES.strip(), LINES.replace("\n", "\r\n"), f"\n \n{LINES}\n\t\n",
        codecs.BOM_UTF8 + LINES.encode(),
    ],
    ids=["plain", "no end of the last line", "CRLF", "blank lines", "BOM"],
)  # fmt: skip
def test_lines_end_in_many_ways(tmp_path: Path, content: bytes | str) -> None:
    assert rows_of(tmp_path, content, JSON) == [ANN, BOB]


@pytest.mark.parametrize("layout", [JSON, CSV, HEADED])
def test_an_empty_file_has_no_rows(tmp_path: Path, layout: Layout) -> None:
    for content in ("", "\n", "\n\n \n"):
        assert rows_of(tmp_path, content, layout) == []


@pytest.mark.parametrize("block", [1, 7, 64])
def test_lines_may_be_longer_than_what_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(millstream.spark.sources.lines, "_BLOCK", block)
    name = "Größe ✓ 😀" * 20
    text = f'{{"user": "{name}", "n": 1}}\n\nnonsense\n{{"user": "ann", "n": 3}}'
    (tmp_path / "in").write_text(text)
    rows, rejected = read(tmp_path / "in", JSON)
    assert rows == [{"user": name, "n": 1}, ANN]
    assert [(number, line) for number, line, _ in rejected] == [(3, b"nonsense")]
    (tmp_path / "in").write_text('user,n\n"a\nb",1\nx\nann,3\n')
    rows, rejected = read(tmp_path / "in", Layout("csv", header=True, multi_line=True))
    assert rows == [{"user": "a\nb", "n": 1}, ANN]
    assert [(number, line) for number, line, _ in rejected] == [(4, b"x")]


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_files_may_be_compressed(tmp_path: Path, ending: str) -> None:
    half = LINES.encode()
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "zst": pa.Codec("zstd").compress}[ending]
    packed = bytes(pack(half)) + bytes(pack(half))  # as `cat` puts them together
    assert rows_of(tmp_path, packed, JSON, f"1.json.{ending}") == [ANN, BOB, ANN, BOB]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    cut = gzip.compress(LINES.encode() * 100)[:-20]
    for name, content, layout in [
        ("cut.gz", cut, JSON),
        ("1.snappy", b"", JSON),
        ("1.json", b"\xff", Layout("json", encoding="ascii")),
        ("1.csv", b"n,user,N\n1,a,2", HEADED),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RunError, match="cannot be read") as error:
            read(tmp_path / name, layout)
        assert error.value.code == "MS202"
        assert str(tmp_path / name) in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "cp1252"])
def test_files_may_be_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    text = '{"user": "Größe", "n": 3}\r\n{"user": "é"}'
    rows = rows_of(tmp_path, text.encode(encoding), Layout("json", encoding=encoding))
    assert [row["user"] for row in rows] == ["Größe", "é"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("ann,3\nbob,\n", [ANN, BOB]),
        ('"ann","3"\r\n"bob",""\r\n', [ANN, BOB]),
        (',1\n"",1', [{"user": None, "n": 1}, {"user": "", "n": 1}]),
        ('"a ""b"", c",3', [{"user": 'a "b", c', "n": 3}]),
        ('"a ""b""",\n"",', [{"user": 'a "b"', "n": None}, {"user": "", "n": None}]),
    ],
)
def test_nothing_between_separators_is_null_and_quotes_are_an_empty_text(
    tmp_path: Path, text: str, rows: list
) -> None:
    assert rows_of(tmp_path, text, CSV) == rows
    assert rows_of(tmp_path, text.replace("\r", ""), Layout("csv", multi_line=True)) == rows


def test_csv_has_the_layout_that_the_program_says(tmp_path: Path) -> None:
    for text, layout in [
        ("ann;3\nbob;", Layout("csv", sep=";")),
        ("ann\t3\nbob\t", Layout("csv", sep="\t")),
        ("'ann',3\n'bob',", Layout("csv", quote="'")),
        ("ann,3\nbob,NA", Layout("csv", null="NA")),
        ("user,n\nann,3\nbob,", HEADED),
        ("more,N,User\nx,3,ann\n,,bob", HEADED),
    ]:
        assert rows_of(tmp_path, text, layout) == [ANN, BOB]
    escaped = Layout("csv", escape="\\")
    assert rows_of(tmp_path, '"a \\"b\\"",3', escaped) == [{"user": 'a "b"', "n": 3}]
    assert rows_of(tmp_path, '"a,3', Layout("csv", quote="")) == [{"user": '"a', "n": 3}]
    assert rows_of(tmp_path, "ann\n", HEADED) == []
    assert rows_of(tmp_path, "User\nann\n", HEADED) == [{"user": "ann", "n": None}]


def test_lines_of_csv_are_refused_with_their_numbers(tmp_path: Path) -> None:
    text = 'user,n\nann,x\n\nann,3\nann,"a\nb"\nann,3,4\n"ann'
    (tmp_path / "in").write_text(text)
    rows, rejected = read(tmp_path / "in", HEADED)
    assert rows == [ANN]
    assert [(number, line.decode()) for number, line, _ in rejected] == [
        (2, "ann,x"), (5, 'ann,"a'), (6, 'b"'), (7, "ann,3,4"), (8, '"ann'),
    ]  # fmt: skip
    reasons = [
        reason.removeprefix("the value is no csv of the schema: ") for *_, reason in rejected
    ]
    assert reasons == [
        "Expected 'int | null', got 'str' - at '$.n'", "unexpected end of data",
        "2 fields are wanted, not 1", "2 fields are wanted, not 3", "unexpected end of data",
    ]  # fmt: skip
    rows, rejected = read(tmp_path / "in", Layout("csv", header=True, multi_line=True))
    assert rows == [ANN]
    assert [(number, line.decode()) for number, line, _ in rejected] == [
        (2, "ann,x"), (5, 'ann,"a\nb"'), (7, "ann,3,4"), (8, '"ann'),
    ]  # fmt: skip


def test_folders_say_columns(tmp_path: Path) -> None:
    folder = tmp_path / "n=3"
    folder.mkdir()
    (folder / "in").write_text('{"user": "ann", "n": "x"}\nnonsense\n')
    rows, rejected = read(folder / "in", JSON, folder=tmp_path)
    assert rows == [ANN]
    assert len(rejected) == 1
    only = pa.schema([("n", pa.int32())])
    assert read(folder / "in", JSON, only, folder=tmp_path)[0] == [{"n": 3}]
    (folder / "in").write_text("ann\n")
    assert read(folder / "in", CSV, folder=tmp_path)[0] == [ANN]


# On Spark.

SCORES = "team string, points int, at double"
GOOD = '{"team": "red", "points": 1, "at": 1.0}'
BAD = ['{"team": "red", "points": "5", "at": 2.0}', '{"team": "red", "poi']


def program(folder: Path, **options: Any) -> ms.Pipeline:
    """Rows as they are, counted by team, and what is rejected; after SQL as well."""
    rows = ms.read_files(
        folder, "json", SCORES, "at", ms.ascending(), split="team", name="scores", **options
    )
    counts = rows.key_by("team").window(ms.fixed("10s")).aggregate(n=ms.count())
    in_sql = rows.filter("points > 0").key_by("team").window(ms.fixed("10s"))
    return ms.pipeline(
        rows.collect("rows"),
        counts.collect("counts"),
        in_sql.aggregate(n=ms.count()).collect("in sql"),
        rows.rejected.collect("rejected"),
    )


def check(job: ms.Job, folder: Path) -> None:
    assert bag(row["points"] for row in job.rows("rows")) == bag([1, 1, 2])
    for name in ("counts", "in sql"):
        found = [
            (row["team"], row["n"], row["window"]["end"].timestamp()) for row in job.rows(name)
        ]
        assert ("red", 2, 10.0) in found, name
    rejected = job.rows("rejected")
    assert {row["step"] for row in rejected} == {"scores"}
    records = [json.loads(row["record"]) for row in rejected]
    assert bag(records) == bag([
        {"file": f"{folder}/1.json", "line": 2, "value": BAD[0]},
        {"file": f"{folder}/2.json", "line": 1, "value": BAD[1]},
    ])  # fmt: skip
    assert bag(row["reason"] for row in rejected) == bag([
        "the value is no json of the schema: Expected 'int | null', got 'str' - at '$.points'",
        "the value is no json of the schema: Input data was truncated",
    ])  # fmt: skip
    assert job.progress().rows == 5
    assert job.rejected == 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "1.json").write_text(f"{GOOD}\n{BAD[0]}\n\n{GOOD}\n")
    (made / "2.json").write_text(f'{BAD[1]}\n{{"team": "red", "points": 2, "at": 10.0}}')
    return made


def test_batches_and_streams_reject_the_same_lines(
    spark: SparkSession, tmp_path: Path, folder: Path
) -> None:
    check(program(folder, bounded=True).run("batch", spark=spark), folder)
    check(program(folder, bounded=True).run("ends", spark=spark, mode="streaming"), folder)
    job = program(folder, max_files_per_batch=1).run("endless", spark=spark)
    job.process_all().stop()
    check(job, folder)


def test_spark_hands_on_files_that_python_does_not_see(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "sees_files", lambda spark: False)
    check(program(folder, bounded=True).run("batch", spark=spark), folder)
    check(program(folder, bounded=True).run("ends", spark=spark, mode="streaming"), folder)


def test_a_program_may_take_null_for_what_spark_cannot_read(
    spark: SparkSession, folder: Path
) -> None:
    stream = ms.read_files(folder, "json", SCORES, bounded=True, on_malformed="null")
    rows = stream.collect().run("null", spark=spark).rows()
    assert bag(row["points"] for row in rows) == bag([1, None, 1, None, 2])


def test_what_is_written_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    ddl = "text string, n int, price decimal(10, 2), at timestamp, yes boolean, real double, d date"
    noon = datetime(2024, 5, 1, 12, 0, 0, 5, tzinfo=UTC)
    given = [
        ('Größe, "x"\n✓', 5, Decimal("1.50"), noon, True, 1e300, noon.date()),
        ("", None, None, None, None, float("inf"), None),
        (None, -1, Decimal("-3.00"), noon, False, None, None),
    ]
    rows = ms.from_rows(given, ddl)
    rows.write_files(tmp_path / "json", "json").run("json", spark=spark)
    rows.write_files(tmp_path / "csv", "csv").run("csv", spark=spark)
    options = {"header": True, "multiLine": True}
    read = ms.pipeline(
        ms.read_files(tmp_path / "json", "json", ddl, bounded=True).collect("json"),
        ms.read_files(tmp_path / "csv", "csv", ddl, bounded=True, options=options).collect("csv"),
    ).run("read", spark=spark)
    expected = rows.collect().run().rows()
    assert read.rejected == 0
    assert bag(read.rows("json")) == bag(read.rows("csv")) == bag(expected)
