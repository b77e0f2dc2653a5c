"""Whole programs as one batch query of Spark give the rows that the reference gives."""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

import faulty
import millstream as ms
from agreement import AGGREGATES
from bags import assert_same_rows, bag
from millstream.jobs.in_process import run_to_the_end
from millstream.model.errors import PlanError, RunError
from millstream.spark.driver.failures import explained
from millstream.testing import Elements
from scripts import NUMBERS, refinements, safe_triggers, settings_of_windows, steps, windows

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
cloudpickle.register_pickle_by_value(faulty)

SCORES = "user string, team string, points int, ratio double, at double"


def scores(name="scores", count=300, seed=7):
    """Two minutes of scores, some without points, one without a time."""
    draw = random.Random(seed)
    rows = [
        (
            f"user {draw.randrange(9)}",
            draw.choice(["red", "blue", None]),
            draw.choice([*range(6), None]),
            draw.choice([0.25, -1.5, math.nan, math.inf, None]),
            draw.randrange(1200) / 10,
        )
        for _ in range(count)
    ]
    return ms.from_rows([*rows, ("nobody", "red", 9, 1.0, None)], SCORES, "at", name=name)


def run_both(pipeline, spark):
    """The job on Spark, once it is seen to give what the reference gives."""
    expected = run_to_the_end("expected", pipeline.sinks)
    job = pipeline.run("on-spark", spark=spark, mode="batch")
    assert_same_rows(job, expected, but=("rejected",))
    for name in {"rejected"} & {sink.name for sink in pipeline.sinks}:
        assert _records(job.rows(name)) == _records(expected.rows(name))
    assert job.progress().state == "finished"
    assert job.progress().written == expected.progress().written
    assert _some(job.progress().rejected_by_step) == _some(expected.progress().rejected_by_step)
    return job


def _records(rejected):
    """Numbers may be written in more than one way."""
    return bag({**row, "record": json.loads(row["record"])} for row in rejected)


def _some(counts):
    return {step: count for step, count in counts.items() if count}


WINDOWS = {
    "fixed": ms.fixed("10s"),
    "sliding": ms.sliding("30s", "7s"),
    "session": ms.session("200ms"),
    "global": ms.global_window(),
    "day": ms.calendar("day", timezone="Pacific/Apia"),
    "week": ms.calendar("week", timezone="Europe/Paris"),
    "month": ms.calendar("month"),
    "year": ms.calendar("year", timezone="America/New_York"),
}
ALL_AGGREGATES = {
    "rows": ms.count(),
    "known": ms.count("points"),
    "total": ms.sum("points"),
    "twice": ms.sum("points * 2"),
    "mean": ms.mean("ratio"),
    "least": ms.min("ratio"),
    "most": ms.max("ratio"),
    "variance": ms.variance("points"),
    "deviation": ms.stddev("points"),
    "users": ms.count_distinct("user"),
    "about": ms.approx_distinct("user"),
    "quantile": ms.quantile("points", 0.3),
    "near": ms.approx_quantile("points", 0.9),
    "first": ms.first("points"),
    "last": ms.last("user"),
    "any": ms.any_value("ratio"),
    "best": ms.top(2, by="points % 3", of="user"),
    "best rows": ms.top(2, by="points"),
    "all": ms.collect("points"),
    "all rows": ms.collect(),
    "distinct": ms.collect_set("ratio"),
    "own": ms.combine(
        "points",
        create=list,
        add=lambda few, value: sorted([*few, value])[:2],
        extract=lambda few: few,
        returns="array<int>",
    ),
}


def test_all_windows_and_all_aggregates(spark):
    rows = scores()
    by_team = [
        rows.key_by("team").window(window).aggregate(**ALL_AGGREGATES).collect(name)
        for name, window in WINDOWS.items()
    ]
    without_keys = rows.window(ms.fixed("50s")).aggregate(**ALL_AGGREGATES).collect("without keys")
    job = run_both(ms.pipeline(*by_team, without_keys), spark)
    assert job.progress().rows == 301
    assert job.rejected == 1


EVERY_TYPE = (
    "b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f4 float, f8 double, "
    "d decimal(20, 3), s string, y binary, da date, ts timestamp, tn timestamp_ntz, "
    "a array<int>, aa array<array<string>>, m map<string, int>, "
    "st struct<x: int, y: struct<z: array<string>>>, ad array<decimal(10, 2)>, at double"
)
SOME = (
    True, 1, 2, 3, 4, 0.5, 0.25, Decimal("1.125"), "ünï 😀", b"\0\xff", date(2024, 2, 29),
    datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 12, 0, 0, 123456),
    [1, None, 3], [["x"], [], None], {"k": 1, "l": None}, {"x": 1, "y": {"z": ["q", None]}},
    [Decimal("1.10"), None], 1.0,
)  # fmt: skip
LEAST = (
    False, -128, -32768, -(2**31), -(2**63), -0.0, -math.inf, Decimal("-99999999999999999.999"),
    "", b"", date(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(1, 1, 1),
    [], [], {}, {"x": None, "y": None}, [], 2.0,
)  # fmt: skip
NONE = (*(None for _ in SOME[1:]), 3.0)
ODD = (
    *SOME[:5], math.nan, math.nan, *SOME[7:11], datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    *SOME[12:18], 15.0,
)  # fmt: skip


def test_values_of_every_type_pass_functions_lists_of_rows_and_keys(spark):
    untimed = [(*SOME[:-1], at) for at in (None, math.inf, math.nan, 1e12)]
    rows = ms.from_rows([SOME, SOME, LEAST, NONE, ODD, *untimed], EVERY_TYPE, "at", name="typed")
    mapped = rows.map(lambda row: row, EVERY_TYPE)
    comparable = [field.name for field in rows.schema if field.name not in ("m", "at")]
    edges = {
        f"{name} of {column}": edge(column)
        for column in comparable
        for name, edge in {"least": ms.min, "last": ms.last, "set": ms.collect_set}.items()
    }
    numbers = {
        f"{name} of {column}": aggregate(column)
        for column in ("i1", "i4", "f4", "f8", "d")
        for name, aggregate in {"sum": ms.sum, "mean": ms.mean, "median": ms.quantile}.items()
    }
    lists = mapped.window(ms.fixed(10)).aggregate(all=ms.collect(), top=ms.top(2, by="i4"))
    again = lists.flat_map(lambda row: row["all"], EVERY_TYPE)
    keys = (["f8"], ["st"], ["ad", "y"], comparable)
    keyed = [rows.key_by(*some).aggregate(n=ms.count()) for some in keys]
    job = run_both(
        ms.pipeline(
            mapped.collect("mapped"),
            mapped.filter("i4 is not null or s is null").collect("back in the JVM"),
            lists.collect("lists"),
            lists.late.collect("late"),
            again.collect("again"),
            rows.window(ms.fixed(10)).aggregate(**edges, **numbers).collect("edges"),
            rows.rejected.collect("rejected"),
            *(groups.collect(f"keyed {i}") for i, groups in enumerate(keyed)),
        ),
        spark,
    )
    assert len(job.rows("rejected")) == 4
    assert {row["n"] for row in job.rows("keyed 3")} == {1, 2}


def test_event_times_are_exact_whatever_type_tells_them(spark):
    """To the microsecond, and of two that are equally near the even one, as Python rounds."""
    times = {
        "bigint": [0, 16_725_225_599, -62_135_596_800, 253_402_300_799, 253_402_300_800, None],
        "double": [5e-7, 1.5e-6, 2.5e-6, -5e-7, 1_700_000_000.123457, 1e300, math.nan],
        "decimal(20, 9)": [Decimal("1.000000500"), Decimal("-0.000001500")],
        "date": [date(1, 1, 1), date(9999, 12, 31)],
        "timestamp": [datetime(2024, 1, 1, 0, 0, 0, 999999, UTC)],
        "timestamp_ntz": [datetime(1969, 12, 31, 23, 59, 59, 999999)],
        "tinyint": [-128, 127],
    }
    parts, rejected = [], []
    for number, (type, values) in enumerate(times.items()):
        rows = ms.from_rows([(value,) for value in values], f"at {type}", name=f"times {number}")
        mapped = rows.map(lambda row: row, f"at {type}")
        for where, stream in {"jvm": rows, "python": mapped}.items():
            timed = stream.with_event_time("at")
            counts = timed.window(ms.fixed(1e-6)).aggregate(n=ms.count())
            parts.append(counts.collect(f"{where} {number}"))
            rejected.append(timed.rejected)
    job = run_both(ms.pipeline(*parts, rejected[0].union(*rejected[1:]).collect("rejected")), spark)
    assert job.rejected == 2 * 4


def test_a_union_is_written_whichever_of_its_sources_another_sink_names_first(spark):
    left = ms.from_rows([(1,)], "n int", name="left")
    right = ms.from_rows([(2,)], "n int", name="right")
    sinks = ms.pipeline(right.filter("n > 0").collect("right"), left.union(right).collect("both"))
    run_both(sinks, spark)


def test_branches_that_part_and_meet_again_and_groupings_over_groupings(spark):
    rows = scores()
    small = rows.filter("points < 3 or points is null")
    shifted = small.with_columns(points="points + 10", ratio="abs(ratio)")
    united = rows.filter("points >= 3").union(shifted, rows)
    totals = (
        united.key_by("team")
        .window(ms.fixed("20s"))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("points"), users=ms.collect_set("user"))
    )
    between = totals.filter("total > 5").with_columns(
        digit="total % 10", later="window.end + INTERVAL 1 HOUR"
    )
    per_digit = (
        between.key_by("digit")
        .window(ms.fixed("1m"))
        .refine(ms.accumulating)
        .aggregate(teams=ms.collect("team"), rows=ms.collect(), n=ms.count())
    )
    digits = (
        between.map(lambda row: {k: row[k] for k in ("digit", "team", "kind")}, DIGITS)
        .key_by("digit")
        .window(ms.session("30s"))
        .refine(ms.retracting)
        .aggregate(n=ms.count(), teams=ms.collect_set("team"))
    )
    as_scores = per_digit.select(
        user="'digit'",
        team="cast(digit AS string)",
        points="cast(n AS int)",
        ratio="cast(n AS double)",
        at="cast(pane.index AS double)",
    )
    meeting = as_scores.union(rows).key_by("user").aggregate(n=ms.count(), total=ms.sum("points"))
    job = run_both(
        ms.pipeline(
            united.collect("united"),
            totals.collect("totals"),
            per_digit.collect("per digit"),
            digits.collect("digits"),
            meeting.collect("meeting"),
            totals.late.collect("late"),
            meeting.rejected.collect("rejected"),
        ),
        spark,
    )
    assert len(job.rows("united")) == 600
    assert [row["step"] for row in job.rows("rejected")] == ["event_time-1"]


DIGITS = "digit bigint, team string, kind string"


@dataclass
class Share:
    user: str
    share: float
    at: float


def test_functions_of_users_and_what_they_reject(spark):
    def share(row) -> Share:
        row["user"] = row["user"].upper()  # a row is the function's own
        return Share(row["user"], 6 / row["points"], row["at"])

    def words(row):
        for word in row["user"].split()[: row["points"]]:
            yield {"word": word, "length": len(word)}

    def initial(row) -> str | None:
        return row["user"][:1] or None

    def even(row) -> float:
        return 1 if row["points"] == 1 else float(row["points"] or 0)

    rows = scores()
    shares = rows.map(share, on_error="reject").named("shares")
    spoken = rows.flat_map(words, "word string, length int", on_error="drop").named("spoken")
    together = rows.map_batches(
        lambda batch: [{"user": row["user"], "n": 1} for row in batch], "user string, n int"
    )
    unsure = shares.filter("share > 1").map_batches(
        lambda batch: [(row["share"] / (row["share"] + 2),) for row in batch],
        "share double",
        on_error="reject",
    )
    by_initial = shares.key_by(initial).window(ms.fixed("1m")).aggregate(n=ms.count())
    by_points = rows.key_by(even).aggregate(n=ms.count(), users=ms.collect_set("user"))
    job = run_both(
        ms.pipeline(
            shares.collect("all shares"),
            shares.rejected.collect("rejected shares"),
            spoken.collect("words"),
            spoken.key_by("word").aggregate(n=ms.sum("length")).collect("lengths"),
            together.key_by("user").aggregate(n=ms.sum("n")).collect("together"),
            by_initial.collect("by initial"),
            by_initial.rejected.collect("rejected initials"),
            by_points.with_columns(key="cast(key AS double)").collect("by points"),
            by_points.map(lambda row: (list(row),), "columns array<string>").collect("columns"),
            unsure.filter("share < 0.5").collect("unsure"),
        ),
        spark,
    )
    reasons = {(row["step"], row["reason"]) for row in job.rows("rejected shares")}
    assert reasons == {
        ("event_time-1", "event time 'at': it is null"),
        ("shares", "ZeroDivisionError: division by zero"),
        ("shares", "TypeError: unsupported operand type(s) for /: 'int' and 'NoneType'"),
    }


def test_what_a_function_gives_and_its_type_cannot_hold_is_rejected(spark):
    made = {
        "taxed": (Decimal("2.3681"), 0.5, "a", {}),
        "even": (Decimal("2.300"), 2**60 + 1, "ü", {"k": 1}),
        "large": (10**9, 0.5, "a", {}),
        "huge": (1, 10**400, "a", {}),
        "half": (1, 0.5, "\ud83d", {}),
        "keyless": (1, 0.5, "a", {None: 1}),
    }
    kept = ms.from_rows([(name,) for name in made], "name string").map(
        lambda row: made[row["name"]],
        "p decimal(10, 2), f double, s string, m map<string, int>",
        on_error="reject",
    )
    job = run_both(ms.pipeline(kept.collect("kept"), kept.rejected.collect("rejected")), spark)
    assert job.rows("kept") == [{"p": Decimal("2.30"), "f": 2.0**60, "s": "ü", "m": {"k": 1}}]
    assert sorted(row["record"] for row in job.rows("rejected")) == [
        f'{{"name":"{name}"}}' for name in ("half", "huge", "keyless", "large", "taxed")
    ]


ODD_NAMES = (
    "`a b` int, `x.y` int, `back``quote` string, select int, größe string, `日本` string, "
    "__time int, end int, value string, at double, order struct<`in ner`: int, `d.ot`: string>"
)


def test_names_of_columns_and_steps_may_be_anything(spark):
    values = [
        (1, 2, "q", 3, "ö", "日", 4, 5, "v", 1.0, {"in ner": 1, "d.ot": "x"}),
        (2, 3, "r", 4, "ü", "本", 5, 6, "w", 12.0, None),
        (2, 3, "r", 4, "ü", "本", 5, 6, "w", None, None),
    ]
    rows = ms.from_rows(values, ODD_NAMES, "at", name="odd `rows`/1")
    mapped = rows.map(lambda row: {**row, "a b": row["a b"] + 1}, ODD_NAMES)
    kept = mapped.filter("`a b` > 0 AND `x.y` < 9 AND `select` > 0 AND größe <> '' AND end > 0")
    # These are also what Millstream's own columns are called.
    more = kept.with_columns(**{"new col": "`a b` + `x.y`", "shard": "value", "payload": "end"})
    groups = (
        more.key_by("`back``quote`", "`x.y`", "größe", "value")
        .window(ms.fixed(10))
        .refine(ms.retracting)
        .aggregate(**{"s um": ms.sum("`a b`"), "w.hole": ms.collect(), "日": ms.max("`日本`")})
        .named("größe/der 'Gruppen'")
    )
    after = groups.filter("`s um` > 0").select("`s um`", "`w.hole`", "kind", end="`x.y` + 1")
    run_both(
        ms.pipeline(
            mapped.collect("mapped"),
            more.collect("more & more"),
            groups.collect("groups"),
            groups.late.collect("`late`"),
            after.key_by("end")
            .refine(ms.accumulating)
            .aggregate(value=ms.collect())
            .collect("x.y"),
            groups.rejected.collect("rejected"),
        ),
        spark,
    )


@pytest.fixture
def written(spark, tmp_path):
    """The scores in files of all formats, each in several."""
    rows = scores().collect("rows").run().rows()
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], SCORES).repartition(3)
    frame.write.parquet(str(tmp_path / "parquet"))
    frame.write.json(str(tmp_path / "json"))
    frame.write.csv(str(tmp_path / "csv"), header=True)
    frame.select("user").write.text(str(tmp_path / "text"))
    (tmp_path / "empty").mkdir()
    return tmp_path, frame


def test_files_of_all_formats_and_dataframes_are_read(spark, written, capsys):
    folder, frame = written

    def totals(rows):
        by_team = rows.key_by("team").window(ms.fixed("10s"))
        return by_team.aggregate(n=ms.count(), points=ms.sum("points"), most=ms.max("ratio"))

    def users(lines):
        return lines.key_by("value").aggregate(n=ms.count())

    def files(format, folder_name=None, **options):
        return ms.read_files(
            folder / (folder_name or format),
            format=format,
            schema=None if format == "text" else SCORES,
            bounded=True,
            name=folder_name or format,
            **options,
        )

    csv = files("csv", event_time="at", options={"header": True})
    text = files("text")
    empty = files("json", "empty", event_time="at")
    static = ms.from_dataframe(frame, "at", name="frame")
    expected = bag(totals(scores()).collect().run().rows())
    job = ms.pipeline(
        totals(files("parquet", event_time="at")).collect("of parquet"),
        totals(files("json", event_time="at")).collect("of json"),
        totals(csv).collect("of csv"),
        totals(static).collect("of a frame"),
        totals(empty).collect("of nothing"),
        empty.collect("nothing"),
        users(text).collect("of text"),
        csv.union(static).select("user").write_files(folder / "out", format="text"),
        text.write_console(limit=2, name="shown"),
    ).run("files", spark=spark)
    for name in ("of parquet", "of json", "of csv", "of a frame"):
        assert bag(job.rows(name)) == expected, name
    assert job.rows("nothing") == job.rows("of nothing") == []
    named = scores().filter("at is not null").select(value="user")
    assert bag(job.rows("of text")) == bag(users(named).collect().run().rows())
    files = [file.read_text() for file in (folder / "out").glob("*.txt")]
    assert sum(text.count("\n") for text in files) == job.progress().written["write_files-1"] == 600
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "shown · batch 0"
    assert shown[-2] == "… and 298 more rows"


def test_what_only_spark_computes_and_columns_of_pyspark(spark):
    rows = scores().filter("team is not null")
    hashed = rows.select("team", "points", h="sha2(team, 256)", i=F.initcap("team"))
    by_hash = hashed.key_by("h").aggregate(n=ms.sum("points"), teams=ms.collect_set("i"))
    columns = (
        rows.filter(F.col("points") > 1)
        .key_by(odd=F.col("points") % 2)
        .window(ms.fixed("100s"))
        .aggregate(
            most=ms.max(F.col("points") + 1),
            pairs=ms.collect(F.struct("team", "points")),
            best=ms.top(1, by=F.col("points"), of="user"),
            users=ms.collect_set("user"),
            rows=ms.top(1, by="sha2(user, 256)"),
        )
    )
    after = columns.filter(F.size("pairs") > 0).map(
        lambda row: (row["odd"], len(row["pairs"])), "odd int, n int"
    )
    # In the words of the reference, for what it can compute.
    text = (
        rows.filter("points > 1")
        .key_by(odd="points % 2")
        .window(ms.fixed("100s"))
        .aggregate(
            most=ms.max("points + 1"),
            pairs=ms.collect("struct(team, points)"),
            best=ms.top(1, by="points", of="user"),
            users=ms.collect_set("user"),
        )
    )
    job = ms.pipeline(
        by_hash.collect("by hash"), columns.collect("columns"), after.collect("after")
    ).run("columns", spark=spark, mode="batch")
    totals = rows.key_by("team").aggregate(n=ms.sum("points")).collect().run().rows()
    assert {(row["h"], row["n"], *row["teams"]) for row in job.rows("by hash")} == {
        (hashlib.sha256(row["team"].encode()).hexdigest(), row["n"], row["team"].title())
        for row in totals
    }
    known = [{k: v for k, v in row.items() if k != "rows"} for row in job.rows("columns")]
    assert bag(known) == bag(text.collect().run().rows())
    for row in job.rows("columns"):
        assert row["rows"][0]["user"] == max(row["users"], key=_digest)
    assert sum(row["n"] for row in job.rows("after")) == len(
        rows.filter("points > 1").collect().run().rows()
    )


def _digest(user):
    return hashlib.sha256(user.encode()).hexdigest()


def test_a_source_without_rows_gives_nothing(spark):
    rows = ms.from_rows([], SCORES, "at", name="none")
    counts = rows.key_by("team").window(ms.fixed(10)).aggregate(n=ms.count())
    safe = rows.map(lambda row: row, SCORES, on_error="reject")
    job = run_both(
        ms.pipeline(
            rows.collect("rows"),
            counts.collect("counts"),
            counts.aggregate(n=ms.sum("n")).collect("sum"),
            counts.late.collect("late"),
            safe.filter("points > 1").rejected.collect("rejected"),
            ms.from_rows([(1,), (2,)], "n int", name="some").filter("n > 0").rejected.collect("no"),
        ),
        spark,
    )
    assert job.progress().rows == 2


def test_a_function_that_fails_in_a_worker_is_named_with_its_step_and_record(spark):
    def no_threes(row):
        if row["points"] == 3:
            raise ValueError("three\nis too much")
        return row

    def inverse(row) -> float:
        return 1 / row["points"]

    rows = ms.from_rows([("ann", 3), ("bob", 0)], "user string, points int")
    cases = {
        "MS201 in step 'checked': no_threes failed on the record {'user': 'ann', 'points': 3}: "
        "ValueError: three\nis too much": rows.map(no_threes, "user string, points int").named(
            "checked"
        ),
        "MS201 in step 'aggregate-1': the key function inverse failed on the record "
        "{'user': 'bob', 'points': 0}: ZeroDivisionError: division by zero": rows.key_by(
            inverse
        ).aggregate(n=ms.count()),
        "MS202 in step 'map-1': the result of <lambda> has 'ann' in column 'points', which does "
        "not fit INT; it was made of the record {'user': 'ann', 'points': 3}": rows.filter(
            "points = 3"
        ).map(lambda row: {"points": row["user"]}, "points int"),
        "MS201 in step 'quotient': combine(points, add=<lambda>) failed on the value 0: "
        "ZeroDivisionError: division by zero": rows.aggregate(
            q=ms.combine(
                "points",
                create=lambda: 1,
                add=lambda so_far, value: so_far / value,
                extract=float,
                returns="double",
            )
        ).named("quotient"),
        "MS201 in step 'far': sum(points + 9223372036854775800) is beyond what a BIGINT can "
        "hold": rows.aggregate(n=ms.sum("points + 9223372036854775800")).named("far"),
    }
    for message, stream in cases.items():
        with pytest.raises(RunError) as caught:
            stream.collect().run("fails", spark=spark, mode="batch")
        assert str(caught.value).startswith(f"{message}\n  What to do: ")


def test_a_key_that_is_not_of_its_type_is_refused_as_in_this_process(spark):
    rows = ms.from_rows(["ann", "bob"], schema="user string")
    keyed = rows.key_by(lambda row: row["user"] if row["user"] == "ann" else 7, type="string")
    messages = []
    for mode in (None, "batch"):
        with pytest.raises(RunError, match="MS202 in step 'aggregate-1': .* is 7, which") as caught:
            keyed.group().collect().run("keys", spark=mode and spark, mode=mode)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_workers_without_millstream_are_told_from_other_errors():
    # In the words of Spark, of a cluster whose workers had a Python without it.
    raised = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'millstream'"
    with pytest.raises(RunError, match="MS206.*does not have Millstream") as caught, explained():
        raise RuntimeError(raised)
    assert "PYSPARK_PYTHON" in caught.value.fix


def test_a_session_that_is_not_set_up_is_refused_with_what_to_set(spark, tmp_path):
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    other.conf.unset("spark.sql.streaming.stateStore.providerClass")
    program = ms.from_rows([(1,)], "n int").collect()
    with pytest.raises(RunError, match="MS206.*a timestamp without a zone is in UTC") as caught:
        program.run("unset", spark=other, mode="batch")
    assert caught.value.fix == 'before run(): spark.conf.set("spark.sql.session.timeZone", "UTC")'
    with pytest.raises(RunError, match="MS206.*groupings keep their state in RocksDB") as caught:
        program.run("unset", spark=other, mode="streaming", checkpoint=tmp_path)
    assert "RocksDBStateStoreProvider" in caught.value.fix
    for setting in caught.value.fix.removeprefix("before run(): ").split("; "):
        exec(setting, {"spark": other})
    assert program.run("set", spark=other, mode="batch").rows() == [{"n": 1}]


def test_a_batch_over_an_endless_source_is_refused(spark, tmp_path):
    endless = ms.read_files(tmp_path, format="text", name="lines").collect()
    with pytest.raises(PlanError, match="MS113: source 'lines' has no end") as caught:
        endless.run("endless", spark=spark, mode="batch")
    assert "bounded=True" in caught.value.fix


def test_a_batch_with_a_checkpoint_is_refused(spark, tmp_path):
    rows = ms.from_rows([(1,)], "n int").collect()
    with pytest.raises(PlanError, match="MS113: mode='batch' keeps nothing to resume from"):
        rows.run("kept", spark=spark, mode="batch", checkpoint=tmp_path)


VALUES = NUMBERS["digits"]
PROGRAMS = st.tuples(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    safe_triggers(),
    refinements(),
    settings_of_windows(),
    st.lists(st.sampled_from([a for a in AGGREGATES if a is not None]), min_size=1, max_size=4),
    st.sampled_from([ms.fixed(20), ms.session(7), ms.global_window()]),
    steps(8, values=VALUES),
)


@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(st.lists(PROGRAMS, min_size=6, max_size=6))
def test_random_programs_give_the_rows_of_the_reference(spark, programs):
    parts = []
    for number, program in enumerate(programs):
        window, trigger, refine, options, aggregates, second, script = program
        rows = [
            {"key": key, "value": value, "at": float(at)}
            for step in script
            if isinstance(step, Elements)
            for key, value, at in step.items
        ]
        groups = (
            ms.from_rows(rows, "key string, value int, at double", "at", name=f"rows {number}")
            .key_by("key")
            .window(window, **options)
            .trigger(trigger or ms.repeatedly(ms.at_watermark()))
            .refine(refine)
            .aggregate(**{f"of {i}": aggregate for i, aggregate in enumerate(aggregates)})
            .named(f"groups {number}")
        )
        over = (
            groups.with_columns(long="length(key) + pane.index")
            .key_by("long")
            .window(second, allowed_lateness="100d")
            .refine(ms.retracting)
            .aggregate(n=ms.count(), keys=ms.collect_set("key"), rows=ms.collect("pane"))
            .named(f"over {number}")
        )
        parts += [groups.collect(f"panes {number}"), over.collect(f"over all {number}")]
        parts.append(groups.late.collect(f"late {number}"))
    run_both(ms.pipeline(*parts), spark)


def test_columns_of_the_user_keep_what_they_hold_whatever_they_are_called(spark):
    rows = scores().with_columns(
        **{"key 0": "user", "of 0": "team", "time": "points", "sign": "at"}
    )
    whole = rows.key_by("upper(team) AS TEAM").window(ms.fixed("10s"), allowed_lateness="1d")
    listed = whole.aggregate(rows=ms.collect(), n=ms.count("points + 1")).named("listed")
    kept = listed.key_by("TEAM").refine(ms.retracting).aggregate(n=ms.sum("n"))
    taken_up = kept.key_by("TEAM").refine(ms.accumulating).aggregate(n=ms.max("n"))
    mine = taken_up.select("n", kind="concat('of ', TEAM)", row="n", payload="TEAM").group()
    job = run_both(ms.pipeline(listed.collect("listed"), mine.collect("mine")), spark)
    (pane,) = job.rows("mine")
    assert {row["kind"] for row in pane["values"]} == {"of RED", "of BLUE", None}
    assert all(row["key 0"] == row["user"] for pane in job.rows("listed") for row in pane["rows"])


def test_functions_fail_in_every_way_as_in_this_process(spark):
    rows = ms.from_rows(faulty.HOWS, schema="how string")
    good = rows.map(faulty.fail, schema="how string", on_error="reject").named("fail")
    more = rows.flat_map(faulty.yields, schema="how string", on_error="reject").named("yields")
    both = good.union(more)
    run_both(ms.pipeline(both.collect("good"), both.rejected.collect("rejected")), spark)
    for how in ("exiting", "huge", "held"):
        one = ms.from_rows([how], schema="how string")
        with pytest.raises(RunError) as expected:
            one.map(faulty.fail, schema="how string").collect().run("here")
        with pytest.raises(RunError) as caught:
            one.map(faulty.fail, schema="how string").collect().run("there", spark=spark)
        assert str(caught.value) == str(expected.value)
