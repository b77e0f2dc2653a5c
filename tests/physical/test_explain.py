"""The physical plan as text: what runs where, and what is kept. None of it needs a session."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError

READINGS = ms.read_files(
    "/data/readings", format="json", schema="device string, celsius double, at timestamp",
    event_time="at", watermark=ms.bounded("1m", idle="5m"), split="device", name="readings",
)  # fmt: skip
BY_HOUR = READINGS.key_by("device").window(ms.fixed("1h"), allowed_lateness="1d")


@pytest.fixture(scope="session", autouse=True)
def spark():
    """In place of the session of this folder, which nothing here needs."""


def endless(watermark: Any = None) -> ms.Stream:
    schema = "user string, points int, at double"
    watermark = watermark or ms.ascending()
    return ms.read_files(
        "/data/scores", format="json", schema=schema, event_time="at", watermark=watermark,
        on_malformed="null",
    )  # fmt: skip


def lines(capsys: pytest.CaptureFixture[str], explained: Any) -> list[str]:
    explained.explain("physical")
    return capsys.readouterr().out.splitlines()


def texts_of(capsys: pytest.CaptureFixture[str], explained: Any, label: str) -> list[str]:
    """What the lines with a label say."""
    cut = [line.partition(f" {label}  ") for line in lines(capsys, explained)]
    return [text.strip() for _, found, text in cut if found]


def test_a_whole_plan_tells_stages_shuffles_turns_state_and_sinks(capsys):
    warmest = BY_HOUR.aggregate(celsius=ms.max("celsius"))
    program = ms.pipeline(
        warmest.drop("pane").write_files("/data/warmest", name="warmest"),
        warmest.late.write_files("/data/late", format="json", name="late"),
        READINGS.rejected.collect("bad"),
    )
    assert lines(capsys, program) == [
        "one streaming query",
        "     time    watermarks in the data, and the clock, so that batches run without data too",
        "     shards  one for each of Spark's shuffle partitions",
        "     state   by shard, in RocksDB, in the checkpoint",
        "stage 0, from files 'readings'",
        "     JVM     files 'readings'           names of files",
        "     Python  files 'readings'           columns of their lines",
        "             event_time 'event_time-1'  moves the watermark",
        "             aggregate 'aggregate-1'    each row to its shard",
        "             rejected 'rejected-1'      what 'readings' rejects",
        "             rejected 'rejected-1'      what 'event_time-1' rejects",
        "             collect 'bad'              rows go along to the last stage",
        "             collect 'bad'              rows go along to the last stage",
        "shuffle, by shard",
        "stage 1, in one call of Python for each shard",
        "     state   aggregate 'aggregate-1'    holds      a row for each key and window",
        "                                        buckets    one for each window",
        "                                        batches    stored as parts until the window ends",
        "                                        watermark  bounded('1m', idle='5m') "
        "of 'readings', for each device",
        "     Python  aggregate 'aggregate-1'    panes",
        "             select 'select-1'",
        "             write_files 'warmest'",
        "             aggregate 'aggregate-1'    late rows",
        "             write_files 'late'",
        "sinks, all written in one pass by the last Python stage",
        "             write_files 'warmest'      writes parquet files to /data/warmest",
        "             write_files 'late'         writes json files to /data/late",
        "             collect 'bad'              keeps them in memory",
    ]


def test_the_jvm_and_python_take_turns_around_functions(capsys):
    program = (
        endless().filter("points > 0")
        .map(lambda row: {"user": row["user"], "n": 1}, schema="user string, n int").named("one")
        .filter("n > 0").with_columns(n="n + 1")
        .collect("all")
    )  # fmt: skip
    assert lines(capsys, program) == [
        "one streaming query",
        "stage 0, from files 'files-1'",
        "     JVM     files 'files-1'",
        "             event_time 'event_time-1'      moves the watermark",
        "             filter 'filter-1'",
        "     Python  map 'one'",
        "     JVM     filter 'filter-2'",
        "             with_columns 'with_columns-1'",
        "     Python  collect 'all'",
        "sinks, all written in one pass by the last Python stage",
        "             collect 'all'                  keeps them in memory",
    ]


def test_a_grouping_over_a_grouping_is_a_stage_of_its_own(capsys):
    totals = endless().key_by("user").window(ms.fixed(10)).aggregate(total=ms.sum("points"))
    users = totals.key_by("total").window(ms.fixed(10)).aggregate(users=ms.count())
    shown = lines(capsys, users)
    stages = [line for line in shown if line.startswith(("stage", "shuffle"))]
    assert stages == [
        "stage 0, from files 'files-1'",
        "shuffle, by shard",
        "stage 1, in one call of Python for each shard",
        "shuffle, by shard",
        "stage 2, in one call of Python for each shard",
    ]
    assert texts_of(capsys, users, "watermark") == [
        "ascending() of 'files-1'",
        "that of 'aggregate-1'",
    ]


def test_sql_after_a_grouping_is_a_turn_of_the_jvm_of_its_own(capsys):
    totals = endless().window(ms.fixed(10)).aggregate(total=ms.sum("points")).filter("total > 5")
    shown = lines(capsys, totals)
    stage = shown[shown.index("stage 1") :]
    places = [line[5:11].strip() for line in stage if line.startswith("     ")]
    assert [place for place in places if place] == ["state", "Python", "JVM", "Python"]


def test_a_step_after_a_union_runs_after_each_of_its_sources(capsys):
    both = endless().union(endless()).filter("points > 0")
    shown = lines(capsys, both)
    assert sum("filter 'filter-1'" in line for line in shown) == 2
    assert [line for line in shown if line.startswith("stage")] == [
        "stage 0, from files 'files-1'",
        "stage 0, from files 'files-2'",
    ]


@pytest.mark.parametrize(
    ("aggregate", "sent"),
    [
        (ms.sum("points"), "combined by key and window, then to its shard"),
        (ms.collect("points"), "each row to its shard"),
    ],
)
def test_what_can_be_combined_is_combined_before_the_shuffle(capsys, aggregate, sent):
    shown = lines(capsys, endless().window(ms.fixed(10)).aggregate(made=aggregate))
    assert sum(line.endswith(sent) for line in shown) == 1


def test_windows_that_overlap_are_combined_by_what_they_share(capsys):
    shown = lines(capsys, endless().window(ms.sliding(10, 1)).aggregate(made=ms.sum("points")))
    assert sum(line.endswith("combined by key and slice, then to its shard") for line in shown) == 1


@pytest.mark.parametrize(
    ("window", "buckets"),
    [
        (ms.fixed(10), "one for each window"),
        (ms.sliding(10, 1), "one for each stretch of slices, and for each window that has ended"),
        (ms.session(10), "16 of the keys"),
    ],
)
def test_state_is_in_buckets_of_windows_stretches_or_keys(capsys, window, buckets):
    grouped = endless().key_by("user").window(window).aggregate(n=ms.count())
    assert texts_of(capsys, grouped, "buckets") == [buckets]


@pytest.mark.parametrize(
    ("trigger", "batches"),
    [
        (ms.at_watermark(), "stored as parts until the window ends"),
        (ms.repeatedly(ms.after_count(1)), "read and write the buckets that they touch"),
    ],
)
def test_batches_wait_where_nothing_fires_before_the_end(capsys, trigger, batches):
    grouped = endless().window(ms.fixed(10)).trigger(trigger).aggregate(n=ms.count())
    assert texts_of(capsys, grouped, "batches") == [batches]


def test_elements_and_emitted_panes_are_told_where_they_are_kept(capsys):
    windowed = endless().window(ms.fixed(10))
    lists = windowed.trigger(ms.repeatedly(ms.after_count(1))).refine(ms.retracting).group()
    assert texts_of(capsys, lists, "holds") == [
        "a row for each key and window, their elements, what was emitted"
    ]


@pytest.mark.parametrize(
    ("early", "watermark", "needed"),
    [
        (ms.after_count(1), ms.ascending(), False),
        (ms.every("1m"), ms.ascending(), True),
        (ms.after_count(1), ms.ascending(idle="1m"), True),
    ],
)
def test_the_clock_is_told_where_a_trigger_or_an_idle_split_needs_it(
    capsys, early, watermark, needed
):
    trigger = ms.at_watermark(early=early)
    grouped = endless(watermark).window(ms.fixed(10)).trigger(trigger).aggregate(n=ms.count())
    (time,) = texts_of(capsys, grouped, "time")
    assert ("and the clock" in time) is needed
    assert ("nothing waits for the clock" in time) is not needed


def test_bounded_sources_make_a_batch_query(capsys):
    lines_of_text = ms.read_files("/data/books", format="text", bounded=True)
    shown = lines(capsys, lines_of_text.aggregate(n=ms.count()).write_console())
    assert shown[:5] == [
        "one batch query",
        "     or      one streaming query, with mode='streaming' or a checkpoint",
        "     time    the end of the input ends all windows",
        "     shards  one for each of Spark's shuffle partitions",
        "     state   by shard, in memory",
    ]


def test_a_program_that_needs_no_spark_says_so(capsys):
    rows = ms.from_rows([(1,), (2,)], schema="n int")
    none = "     or  no query: rows of the program that are only collected need no Spark"
    assert lines(capsys, rows.collect())[:2] == ["one batch query", none]
    assert none not in lines(capsys, rows.write_console())


def test_a_stream_is_explained_as_if_it_were_collected(capsys):
    stream = endless().filter("points > 0")
    assert lines(capsys, stream) == lines(capsys, stream.collect())


def test_the_logical_plan_is_the_default(capsys):
    endless().explain("logical")
    asked = capsys.readouterr().out
    endless().explain()
    assert capsys.readouterr().out == asked


@pytest.mark.parametrize("explained", [endless(), endless().collect()], ids=["stream", "pipeline"])
def test_another_word_is_refused_with_the_closest(explained):
    with pytest.raises(PlanError, match=r"MS113: plan='phisical' is not a choice") as caught:
        explained.explain("phisical")
    assert caught.value.fix == "did you mean 'physical'? There are: logical, physical"


def test_explaining_loads_no_pyspark():
    program = (
        "import sys, millstream as ms\n"
        "rows = ms.from_rows([(1,)], schema='n int')\n"
        "rows.key_by('n').aggregate(n2=ms.count()).explain('physical')\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
