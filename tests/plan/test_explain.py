"""The plan as text."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.plan.explain.text import explain_plan
from millstream.plan.nodes import FrameSource
from millstream.plan.types.schema import Schema
from millstream.sources import test_stream

SCORES = test_stream(
    "user string, team string, points int, at timestamp",
    event_time="at", watermark=ms.bounded("30s", idle="1m"), name="scores",
)  # fmt: skip
TOTALS = (
    SCORES.key_by("team")
    .window(ms.fixed("2m"), allowed_lateness="1h")
    .trigger(ms.at_watermark(early=ms.every("1m"), late=ms.after_count(1)))
    .refine(ms.retracting)
    .aggregate(total=ms.sum("points"), players=ms.count_distinct("user"))
)


def lines(capsys: pytest.CaptureFixture[str], explained: Any) -> list[str]:
    explained.explain()
    return capsys.readouterr().out.splitlines()


def test_a_grouping_answers_the_four_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, TOTALS.collect("totals")) == [
        "collect 'totals'",
        "└─ aggregate 'aggregate-1' → team STRING, total BIGINT, players BIGINT, "
        "window, pane, kind",
        "   │    key    team",
        "   │    what   total = sum(points), players = count_distinct(user)",
        "   │    where  fixed('2m'), allowed lateness 1h",
        "   │    when   at_watermark(early=every('1m'), late=after_count(1))",
        "   │    how    retracting",
        "   └─ event_time 'event_time-1'",
        "      │    from  at, watermark bounded('30s', idle='1m')",
        "      └─ test 'scores' → user STRING, team STRING, points INT, at TIMESTAMP",
        "              rows  without end",
    ]


def test_what_was_not_chosen_is_told_as_a_default(capsys: pytest.CaptureFixture[str]) -> None:
    grouped = ms.from_rows([(1,)], schema="n int").group()
    assert lines(capsys, grouped) == [
        "aggregate 'aggregate-1' → values ARRAY<STRUCT<n: INT>>, window, pane",
        "│    key    none: one group for everything",
        "│    what   values = collect()",
        "│    where  global_window() by default",
        "│    when   repeatedly(at_watermark()) by default",
        "│    how    discarding",
        "└─ rows 'rows-1' → n INT",
        "        rows  1 in the program",
    ]


def test_options_are_told_where_they_differ_from_the_usual(
    capsys: pytest.CaptureFixture[str],
) -> None:
    windowed = SCORES.window(
        ms.fixed(60), on_time="if_changed", closing="always", timestamp="latest"
    ).trigger(ms.after_count(1), allow_data_loss=True)
    shown = lines(capsys, windowed.aggregate(n=ms.count()))
    assert shown[3] == (
        "│    where  fixed('1m'), on_time if_changed, closing always, timestamp latest"
    )
    assert shown[4] == "│    when   after_count(1), data loss allowed"


def test_stateless_steps_tell_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    def shout(row: dict[str, Any]) -> dict[str, Any]:
        return row

    stream = (
        ms.from_rows([], schema="`a b` int, s string")
        .filter("`a b`>1")
        .select("`a b`", twice="`a b` * 2")
        .with_columns(three="twice + 1")
        .map(shout, schema="s string", on_error="reject")
    )
    shown = [line.strip(" │└─") for line in lines(capsys, stream)]
    assert shown == [
        "map 'map-1' → s STRING",
        "runs  shout, a row that raises is rejected",
        "with_columns 'with_columns-1' → `a b` INT, twice INT, three INT",
        "adds  three = twice + 1",
        "select 'select-1' → `a b` INT, twice INT",
        "gives  `a b`, twice = `a b` * 2",
        "filter 'filter-1'",
        "keeps  `a b` > 1",
        "rows 'rows-1' → `a b` INT, s STRING",
        "rows  0 in the program",
    ]


def test_a_shared_step_is_written_out_once(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ms.from_rows([], schema="n int")
    assert lines(capsys, rows.union(rows.filter("n > 1"))) == [
        "union 'union-1'",
        "├─ rows 'rows-1' → n INT",
        "│       rows  0 in the program",
        "└─ filter 'filter-1'",
        "   │    keeps  n > 1",
        "   └─ rows 'rows-1' (see above)",
    ]


def test_a_pipeline_of_several_sinks_is_several_trees(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, ms.pipeline(TOTALS.collect("totals"), TOTALS.late.collect("late")))
    assert shown[-4:] == [
        "collect 'late'",
        "└─ late 'late-1' → user STRING, team STRING, points INT, at TIMESTAMP, "
        "window STRUCT<start: TIMESTAMP, end: TIMESTAMP>, reason STRING",
        "   │    takes  what came too late for 'aggregate-1'",
        "   └─ aggregate 'aggregate-1' (see above)",
    ]


def test_settings_without_a_grouping_are_told_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, SCORES.key_by("team").refine(ms.retracting))[:3] == [
        "for the next grouping",
        "     key     team",
        "     refine  retracting",
    ]


def test_branches_are_told_under_the_names_they_run_with() -> None:
    rows = ms.from_rows([], schema="n int")
    united = rows.filter("n > 1").union(rows.filter("n < 1")).collect()
    assert "filter 'filter-2'" in explain_plan(*united.sinks)


def test_sources_tell_where_their_rows_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    files = ms.read_files(
        "/data/scores", "csv", "k string, at timestamp", event_time="at",
        watermark=ms.ascending(), split="k", max_files_per_batch=1,
        options={"header": True, "fs.s3a.secret.key": "secret"},
    )  # fmt: skip
    assert lines(capsys, files)[2:] == [
        "└─ files 'files-1' → k STRING, at TIMESTAMP",
        "        reads    csv files in /data/scores, as they are added",
        "        batch    at most 1 file",
        "        options  header, fs.s3a.secret.key",
        "        split    by k",
    ]
    assert lines(capsys, ms.read_files("s3a://b/*.txt", format="text", bounded=True)) == [
        "files 'files-1' → value STRING",
        "     reads  text files in s3a://b/*.txt, those there at the start",
    ]
    assert lines(capsys, ms.read_socket("example.org", 9999)) == [
        "socket 'socket-1' → value STRING",
        "     reads  lines of text from example.org:9999",
    ]
    assert lines(capsys, ms.read_rate(1, event_time=None))[1] == "     makes  1 row a second"


@pytest.mark.parametrize("bounded", [True, False])
def test_a_dataframe_tells_whether_it_is_streaming(bounded: bool) -> None:
    node = FrameSource("frame-1", Schema.of("k string"), bounded, "k", frame=None)
    kind = "a DataFrame" if bounded else "a streaming DataFrame"
    assert explain_plan(node).splitlines()[1:] == [
        f"     reads  {kind} of Spark",
        "     split  by k",
    ]


def test_sinks_tell_where_their_rows_go(capsys: pytest.CaptureFixture[str]) -> None:
    def save(rows: Any, batch: int, slice: int) -> None: ...

    rows = ms.from_rows([], schema="n int")
    assert lines(capsys, rows.write_files("/out", "csv", options={"sep": ";"}, name="out"))[:3] == [
        "write_files 'out'",
        "│    writes   csv files to /out",
        "│    options  sep",
    ]
    assert lines(capsys, rows.write_console())[1] == (
        "│    writes  at most 20 rows of a batch to standard output"
    )
    assert lines(capsys, rows.write_each(save))[:2] == [
        "write_each 'write_each-1'",
        "│    calls  save(rows, batch, slice)",
    ]


def test_windows_that_the_watermark_does_not_end_emit_at_their_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = ms.from_rows([("a", 1)], schema="k string, n int").key_by("k")
    shown = lines(capsys, rows.window(ms.count_window(3, flush="1m")).aggregate(n=ms.count()))
    assert shown[3] == "│    where  count_window(3, flush='1m')"
    assert shown[4] == "│    when   at the end of the window by default"
