"""Streams: immutable values, each method adding a step or a setting."""

from __future__ import annotations

import copy
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

import millstream as ms
from millstream.model.windowing import Windowing
from millstream.plan import other_words
from millstream.plan.nodes import KeyFunction, Rejected, Select, SideOutput, Sink
from millstream.plan.operators.grouping import Grouping
from millstream.plan.settings import Settings
from millstream.plan.targets import Console, Each, Files, Memory
from millstream.sources import test_stream
from millstream.stream import Stream

ROWS = ms.from_rows(
    [("ann", "red", 3, 10.0)], schema="user string, team string, points int, at double"
)
TIMED = ROWS.with_event_time("at")


def raises(code: str, step: str | None = None) -> Any:
    where = "" if step is None else f" in step '{step}'"
    return pytest.raises(ms.PlanError, match=f"^{code}{where}")


def test_the_example_of_the_design_can_be_written() -> None:
    scores = test_stream(
        "user string, team string, points int, at timestamp",
        event_time="at",
        watermark=ms.bounded("30s", idle="1m"),
    )
    totals = (
        scores.key_by("team")
        .window(ms.fixed("2m"), allowed_lateness="1h")
        .trigger(ms.at_watermark(early=ms.every("1m"), late=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("points"), players=ms.count_distinct("user"))
    )
    assert [str(field) for field in totals.schema] == [
        "team STRING",
        "total BIGINT",
        "players BIGINT",
        "window STRUCT<start: TIMESTAMP, end: TIMESTAMP>",
        "pane STRUCT<timing: STRING, index: BIGINT, first: BOOLEAN, last: BOOLEAN>",
        "kind STRING",
    ]


def test_methods_leave_the_stream_that_they_are_called_on_as_it_was() -> None:
    before = repr(TIMED)
    TIMED.filter("points > 0")
    TIMED.key_by("team").window(ms.fixed("1m")).trigger(ms.never()).refine(ms.accumulating)
    assert repr(TIMED) == before
    with pytest.raises(AttributeError):
        TIMED.settings = Settings()  # type: ignore[misc]


def test_the_four_questions_are_settings_until_a_grouping_takes_them() -> None:
    asked = TIMED.key_by("team").window(ms.fixed("1m"), timestamp="earliest")
    asked = asked.trigger(ms.never(), allow_data_loss=True).refine(ms.accumulating)
    assert asked.node is TIMED.node
    totals = asked.aggregate(n=ms.count())
    node = totals.node
    assert isinstance(node, Grouping)
    assert node.windowing == Windowing(
        window=ms.fixed("1m"),
        trigger=ms.never(),
        refine=ms.accumulating,
        timestamp="earliest",
        allow_data_loss=True,
    )
    assert [(name, key.text) for name, key in node.keys] == [("team", "team")]  # type: ignore[union-attr]
    assert not totals.settings


def test_the_order_of_the_settings_does_not_matter() -> None:
    one = TIMED.key_by("team").window(ms.fixed("1m")).trigger(ms.never()).refine(ms.retracting)
    two = TIMED.refine(ms.retracting).trigger(ms.never()).window(ms.fixed("1m")).key_by("team")
    assert one.settings == two.settings


def test_settings_are_kept_over_stateless_steps() -> None:
    asked = (
        TIMED.key_by("team").window(ms.fixed("1m")).filter("points > 0").select("team", "points")
    )
    node = asked.aggregate(n=ms.count()).node
    assert isinstance(node, Grouping)
    assert node.windowing.window == ms.fixed("1m")
    assert [name for name, _ in node.keys] == ["team"]


def test_a_step_that_drops_a_key_is_an_error() -> None:
    with pytest.raises(ms.PlanError) as caught:
        TIMED.key_by(initial="substring(team, 1, 1)").select("points")
    assert (caught.value.code, caught.value.step) == ("MS102", "select-1")
    assert caught.value.what == "the key 'initial' reads column 'team', which this step drops"
    assert caught.value.fix == "keep 'team' in this step, or say key_by(…) after it"


def test_a_key_gets_the_type_of_a_changed_column() -> None:
    keyed = ROWS.key_by("team").with_columns(team="length(team)")
    assert keyed.aggregate(n=ms.count()).schema.fields[0].type == "INT"


def test_keys_are_columns_expressions_or_one_function() -> None:
    by = ROWS.key_by("team", "points % 2 AS odd", first="substring(user, 1, 1)")
    assert by.aggregate(n=ms.count()).schema.names[:3] == ("team", "odd", "first")

    def key(row: dict[str, Any]) -> int:
        return len(row)

    assert ROWS.key_by(key).settings.keys == (("key", KeyFunction(key, "BIGINT")),)
    assert ROWS.aggregate(n=ms.count()).schema.names == ("n", "window", "pane")


@pytest.mark.parametrize("keys", [(), (5,), ("team", len), ("points * 2",), ("sum(points)",)])
def test_other_keys_are_errors(keys: tuple[Any, ...]) -> None:
    with pytest.raises(ms.PlanError) as caught:
        ROWS.key_by(*keys)
    assert (caught.value.code, caught.value.step) in [
        ("MS112", "aggregate-1"),
        ("MS113", "aggregate-1"),
    ]


def test_select_makes_new_rows_of_the_columns_named() -> None:
    selected = ROWS.select("USER", "points*2 AS twice", half="points / 2")
    assert str(selected.schema) == "user STRING, twice INT, half DOUBLE"
    assert isinstance(selected.node, Select)
    assert [e.text for _, e in selected.node.columns] == ["user", "points * 2", "points / 2"]


def test_with_columns_adds_and_replaces_in_place() -> None:
    changed = ROWS.with_columns(points="points / 2", late="at > 5")
    assert changed.schema.names == ("user", "team", "points", "at", "late")
    assert changed.schema.fields[2].type == "DOUBLE"


def test_columns_must_be_named_and_known() -> None:
    with raises("MS113", "select-1"):
        ROWS.select()
    with raises("MS113", "with_columns-1"):
        ROWS.with_columns()
    with raises("MS102", "select-1"):
        ROWS.select("teem")
    with raises("MS102", "with_columns-1"):
        ROWS.with_columns(x="teem")
    with raises("MS102", "filter-1"):
        ROWS.filter("teem = 'red'")


def test_a_condition_is_true_or_false() -> None:
    for condition, instead in [
        ("points", "'points <> 0'"),
        ("team", "'team IS NOT NULL'"),
        ("concat(team, '!')", "\"CONCAT(team, '!') IS NOT NULL\""),
    ]:
        with pytest.raises(ms.PlanError, match="^MS112 in step 'filter-1'") as caught:
            ROWS.filter(condition)
        assert caught.value.fix == f"write a comparison, such as {instead}"
        ROWS.filter(eval(instead))
    ROWS.filter("session.some_udf(points)")


@pytest.mark.parametrize(
    ("given", "what", "method"),
    [(lambda row: True, "the function <lambda>", "flat_map"), (ms.sum("n"), "sum(n)", "aggregate")],
)
def test_what_is_no_expression_is_sent_where_it_belongs(given: Any, what: str, method: str) -> None:
    with raises("MS112", "filter-1") as caught:
        ROWS.filter(given)
    assert caught.value.what == f"{what} is no expression"
    assert f"{method}(…)" in caught.value.fix


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.window("1m"),
        lambda s: s.window(ms.fixed("1m"), on_time="sometimes"),
        lambda s: s.window(ms.fixed("1m"), closing="never"),
        lambda s: s.window(ms.fixed("1m"), timestamp="middle"),
        lambda s: s.trigger("1m"),
        lambda s: s.trigger(ms.after_count),
        lambda s: s.refine("accumulating"),
    ],
)
def test_arguments_out_of_range_are_errors_where_they_are_given(ask: Any) -> None:
    with raises("MS113"):
        ask(TIMED)


@pytest.mark.parametrize("lateness", [-1, "soon", True])
def test_a_bad_lateness_is_an_error(lateness: Any) -> None:
    with raises("MS101"):
        TIMED.window(ms.fixed("1m"), allowed_lateness=lateness)


def test_group_collects_whole_rows() -> None:
    grouped = ROWS.key_by("team").group()
    assert isinstance(grouped.node, Grouping)
    assert grouped.node.aggregates[0][:2] == ("values", ms.collect())
    assert grouped.schema.fields[1].type == (
        "ARRAY<STRUCT<user: STRING, team: STRING, points: INT, at: DOUBLE>>"
    )


def test_late_rows_are_input_rows_with_a_window_and_a_reason() -> None:
    totals = TIMED.window(ms.fixed("1m")).aggregate(n=ms.count())
    late = totals.late
    assert isinstance(late.node, SideOutput)
    assert late.node.input is totals.node
    assert late.schema.names == ("user", "team", "points", "at", "window", "reason")


def test_late_adds_no_column_whose_name_the_rows_have_already() -> None:
    totals = TIMED.window(ms.fixed("1m")).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError) as caught:
        _ = totals.window(ms.fixed("1h")).aggregate(n=ms.sum("n")).late
    assert str(caught.value) == (
        "MS108 in step 'late-1': late rows have a column 'window' of their own, and .late adds "
        "one: the window that they came too late for\n"
        "  What to do: rename yours before 'aggregate-2': "
        ".with_columns(window_2='window').drop('window'), or leave it out: .drop('window')\n"
        "  More: millstream help MS108"
    )
    renamed = totals.with_columns(window_2="window").drop("window")
    late = renamed.window(ms.fixed("1h")).aggregate(n=ms.sum("n")).late
    assert late.schema.names == ("n", "pane", "window_2", "window", "reason")
    with raises("MS108", "late-1"):
        _ = TIMED.with_columns(Reason="'rain'").group().late


def test_late_is_only_there_on_a_grouping() -> None:
    totals = TIMED.window(ms.fixed("1m")).aggregate(n=ms.count())
    assert totals.named("totals").late.node.name == "late-1"
    for stream in (TIMED, totals.filter("n > 1"), totals.late):
        with raises("MS117", stream.node.name):
            _ = stream.late


def test_rejected_rows_name_the_step_the_reason_and_the_record() -> None:
    rejected = ROWS.filter("points > 0").rejected
    assert str(rejected.schema) == "step STRING, reason STRING, record STRING"
    assert isinstance(rejected.node, Rejected)


def test_drop_keeps_the_other_columns_in_their_order() -> None:
    dropped = ROWS.with_columns(**{"a b": "points"}).drop("TEAM", "at")
    assert str(dropped.schema) == "user STRING, points INT, `a b` INT"
    assert isinstance(dropped.node, Select)
    assert dropped.collect().run().rows() == [{"user": "ann", "points": 3, "a b": 3}]


def test_drop_names_columns_that_there_are_and_leaves_some() -> None:
    with raises("MS102", "select-1"):
        ROWS.drop("user", "teem")
    with raises("MS113", "select-1"):
        ROWS.drop()
    with raises("MS113", "select-1"):
        ROWS.drop("user", "team", "points", "at")
    with raises("MS102", "select-1"):
        ROWS.key_by("team").drop("team")


@pytest.mark.parametrize(
    ("part", "name", "type"),
    [
        ("window.start AS start", "start", "TIMESTAMP"),
        ("window.end", "end", "TIMESTAMP"),
        ("pane.timing AS timing", "timing", "STRING"),
        ("PANE.INDEX", "index", "BIGINT"),
    ],
)
def test_parts_of_window_and_pane_are_columns_like_others(part: str, name: str, type: str) -> None:
    totals = TIMED.key_by("team").window(ms.fixed("1m")).aggregate(n=ms.count())
    flat = totals.select("team", part)
    assert str(flat.schema) == f"team STRING, {name} {type}"
    (row,) = flat.collect().run().rows()
    expected = {
        "start": datetime(1970, 1, 1, tzinfo=UTC),
        "end": datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
        "timing": "ON_TIME",
        "index": 0,
    }
    assert row == {"team": "red", name: expected[name]}


def save(rows: list[dict[str, Any]], batch: int, slice: int) -> None: ...


SINKS = {
    "collect": (lambda stream, *name: stream.collect(*name), Memory()),
    "write_files": (
        lambda stream, *name: stream.write_files("/out", "json", {"compression": "gzip"}, *name),
        Files("/out", "json", (("compression", "gzip"),)),
    ),
    "write_console": (lambda stream, *name: stream.write_console(5, *name), Console(5)),
    "write_each": (lambda stream, *name: stream.write_each(save, *name), Each(save)),
}
each_sink = pytest.mark.parametrize("kind", SINKS)


@each_sink
def test_a_sink_ends_a_stream_in_its_target(kind: str) -> None:
    write, target = SINKS[kind]
    (sink,) = write(TIMED).sinks
    assert isinstance(sink, Sink)
    assert (sink.name, sink.schema, sink.input) == (f"{kind}-1", TIMED.schema, TIMED.node)
    assert sink.target == target
    assert write(TIMED, "all").sinks[0].name == "all"
    with raises("MS113"):
        write(TIMED, "")


@each_sink
def test_a_sink_after_settings_is_an_error(kind: str) -> None:
    write, _ = SINKS[kind]
    with pytest.raises(ms.PlanError, match=rf"^MS117: {kind}\(\) comes after settings .* key team"):
        write(TIMED.key_by("team"))


@each_sink
def test_a_sink_of_retractions_needs_their_kind(kind: str) -> None:
    write, _ = SINKS[kind]
    totals = TIMED.refine(ms.retracting).aggregate(n=ms.count())
    write(totals)
    with raises("MS110", f"{kind}-1"):
        write(totals.drop("kind"))


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "all", None])
def test_the_console_takes_a_number_of_rows(limit: Any) -> None:
    with raises("MS113"):
        ROWS.write_console(limit)


@pytest.mark.parametrize("function", [5, None, lambda rows: None, lambda rows, batch: None])
def test_rows_are_handed_to_a_function_of_three_arguments(function: Any) -> None:
    with raises("MS113") as caught:
        ROWS.write_each(function)
    assert "three arguments" in caught.value.fix


@pytest.mark.parametrize("function", [print, max, lambda *all: None, lambda r, b, s, x=1: None])
def test_a_function_that_can_take_three_arguments_will_do(function: Any) -> None:
    ROWS.write_each(function)


def test_files_are_written_to_a_path_in_a_format() -> None:
    with raises("MS113"):
        ROWS.write_files("")
    with raises("MS113"):
        ROWS.write_files("/out", format="xml")  # type: ignore[arg-type]
    with raises("MS113"):
        ROWS.write_files("/out", options={"header": None})


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (ROWS.select("user"), "<Stream 'select-1': user STRING>"),
        (ROWS.select("user").key_by("user"), "<Stream 'select-1': user STRING; key user>"),
        (ROWS.select("user").group(), "<Stream 'aggregate-1': values ARRAY<STRUCT<user: STRING>>, "
         "window, pane>"),
        (ROWS.select("session.some_udf(user) AS x"), "<Stream 'select-1': x ?>"),
    ],
)  # fmt: skip
def test_the_repr_has_the_step_the_columns_and_the_settings(stream: Stream, text: str) -> None:
    assert repr(stream) == text


def test_a_traceback_points_at_the_users_own_line() -> None:
    with pytest.raises(ms.PlanError) as caught:
        TIMED.window(ms.fixed("1m")).trigger(ms.after_count(1)).aggregate(n=ms.count())
    assert caught.traceback[0].path.name == "test_stream.py"
    assert caught.value.__cause__ is None


BAD_PROGRAM = """
import sys
import millstream as ms
rows = ms.from_rows([("ann", 3)], schema="user string, points int")
try:
    rows.filter("points > 0").key_by("user").aggregate(total=ms.sum("pionts"))
except ms.PlanError as error:
    print(error)
print("imported:", *{"pyspark", "polars", "pyarrow", "confluent_kafka"} & sys.modules.keys())
"""


def test_a_bad_program_gets_its_error_before_anything_slow_is_imported() -> None:
    ran = subprocess.run([sys.executable, "-c", BAD_PROGRAM], capture_output=True, text=True)
    assert "MS102 in step 'aggregate-1': there is no column 'pionts'" in ran.stdout
    assert ran.stdout.endswith("imported:\n")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("groupBy", r"\.key_by\(.*\.aggregate\("),
        ("agg", r"\.aggregate\("),
        ("withColumn", r"\.with_columns\("),
        ("show", r"\.write_console\(\)\.run\(\)"),
        ("writeStream", r"\.write_files\(…\)"),
        ("coGroup", r"ms\.cogroup\("),
        ("run", r"\.collect\(\)\.run\(\)"),
    ],
)
def test_methods_of_other_libraries_are_answered_with_what_to_write(
    name: str, instead: str
) -> None:
    assert not hasattr(ROWS, name)
    with pytest.raises(AttributeError, match=f"a stream has no '{name}'\n.*write .*{instead}"):
        getattr(ROWS, name)


def test_other_missing_attributes_are_left_to_python() -> None:
    with pytest.raises(AttributeError, match=r"^a stream has no 'fliter'$") as caught:
        getattr(ROWS, "fliter")  # noqa: B009 - mypy would find it
    assert (caught.value.name, caught.value.obj) == ("fliter", ROWS)
    assert copy.copy(ROWS).node is ROWS.node
    assert not any(hasattr(Stream, name) for name in other_words._INSTEAD)
