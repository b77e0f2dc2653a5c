"""Which step runs where: stages around shuffles, and turns of the JVM and Python in each."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.watermarks import Silence
from millstream.physical.plan import column_of, physical
from millstream.physical.reading import may_reject
from millstream.plan.nodes import Filter, Sink
from millstream.plan.sql.expressions import scalar
from millstream.plan.types.schema import Schema

SCHEMA = "key string, n int, at double"


def source(name="source", watermark=None):
    return ms.from_rows([], SCHEMA, event_time="at", watermark=watermark, name=name)


def same(row):
    return row


def plan_of(*parts):
    return physical(ms.pipeline(*parts).sinks)


def places(plan):
    """Each step with its role, stage and phase."""
    return [(i.node.name, i.role, i.stage, i.phase) for i in plan.instances]


def grouping(plan, name):
    return next(g for g in plan.levels if g.name == name)


def test_sql_runs_in_the_jvm_and_what_writes_runs_in_python():
    plan = plan_of(source().filter("n > 1").select("n", twice="n * 2").collect("all"))
    assert plan.stages == 1
    assert places(plan) == [
        ("source", "run", 0, 0),
        ("event_time-1", "run", 0, 0),
        ("filter-1", "run", 0, 0),
        ("select-1", "run", 0, 0),
        ("all", "sink", 0, 1),
    ]


def test_the_jvm_and_python_take_turns():
    rows = source().map(same, SCHEMA).filter("n > 1").map(same, SCHEMA).map(same, SCHEMA)
    plan = plan_of(rows.with_columns(m="n + 1").collect("all"))
    assert [phase for *_, phase in places(plan)] == [0, 0, 1, 2, 3, 3, 4, 5]


def test_columns_that_are_only_renamed_or_left_out_take_no_turn_of_their_own():
    rows = source().map(same, SCHEMA).select("key", m="n").drop("key").with_columns(l="m")
    assert max(i.phase for i in plan_of(rows.collect("all")).instances) == 1


def test_a_grouping_is_prepared_before_the_shuffle_and_its_panes_come_after_it():
    totals = source().key_by("key").aggregate(total=ms.sum("n + 1")).named("totals")
    plan = plan_of(totals.filter("total > 1").collect("all"))
    assert places(plan)[2:] == [
        ("totals", "prepare", 0, 0),
        ("totals", "scatter", 0, 1),
        ("totals", "output", 1, 1),
        ("filter-1", "run", 1, 2),
        ("all", "sink", 1, 3),
    ]


@pytest.mark.parametrize(
    ("key", "of", "phase"),
    [("key", "n", 1), ("upper(key)", "n", 2), ("key", "n + 1", 2), (len, "n", 1)],
)
def test_a_grouping_after_a_function_takes_a_turn_of_the_jvm_only_to_compute(key, of, phase):
    totals = source().map(same, SCHEMA).key_by(**_named(key)).aggregate(total=ms.sum(of))
    plan = plan_of(totals.collect("all"))
    assert next(i.phase for i in plan.instances if i.role == "prepare") == phase


def _named(key):
    return {"k": key} if isinstance(key, str) else {"k": "key"}


def test_a_step_after_a_union_runs_once_for_each_part_of_it():
    one, two = source("one"), source("two").map(same, SCHEMA)
    plan = plan_of(one.union(two).filter("n > 1").named("big").collect("all"))
    assert [p for p in places(plan) if p[0] in ("big", "all")] == [
        ("big", "run", 0, 0),
        ("big", "run", 0, 2),
        ("all", "sink", 0, 1),
        ("all", "sink", 0, 3),
    ]
    assert [i.source.name for i in plan.instances if i.node.name == "big"] == ["one", "two"]


def test_branches_that_part_share_what_comes_before_them():
    rows = source()
    plan = plan_of(rows.filter("n > 1").union(rows.filter("n <= 1"), rows).collect("all"))
    timed = next(i for i in plan.instances if i.node.name == "event_time-1")
    assert [c.node.name for c in timed.consumers] == ["filter-1", "filter-2", "all"]
    assert sum(isinstance(i.node, Sink) for i in plan.instances) == 3
    assert plan.sources == [timed.source]


def test_a_grouping_is_in_the_stage_after_all_that_feed_it():
    rows = source()
    counts = rows.key_by("key").aggregate(n=ms.count()).named("counts")
    again = counts.aggregate(n=ms.sum("n")).named("again")
    both = counts.select("key", "n").union(again.select("'all' AS key", "n"))
    plan = plan_of(both.key_by("key").aggregate(n=ms.count()).named("both").collect("all"))
    assert {g.name: level for g, level in plan.levels.items()} == {
        "counts": 1,
        "again": 2,
        "both": 3,
    }
    assert plan.stages == 4
    assert [g.name for g in plan.operators(2)] == ["again"]
    assert [(i.stage, i.origin.name) for i in plan.feeding(grouping(plan, "both"))] == [
        (1, "counts"),
        (2, "again"),
    ]


def test_each_instance_comes_after_its_input_and_is_one_of_its_consumers():
    rows = source()
    counts = rows.key_by("key").aggregate(n=ms.count())
    plan = plan_of(
        counts.late.collect("late"), counts.rejected.collect("rejected"), counts.collect("counts")
    )
    seen = []
    for instance in plan.instances:
        if instance.input is not None:
            assert instance.input in seen
            assert instance in instance.input.consumers
        seen.append(instance)
    assert all(c in seen for i in seen for c in i.consumers)


def test_a_watermark_is_made_of_the_sources_and_groupings_that_are_heard():
    stream = ms.read_files(
        "/data", "json", SCHEMA, "at", ms.bounded("5s", idle="1m"), split="key", name="stream"
    )
    counts = stream.window(ms.fixed("1m")).aggregate(n=ms.count()).named("counts")
    sums = counts.select(n="cast(n as int)").union(source("rows").select("n"))
    totals = sums.window(ms.fixed("1m")).aggregate(n=ms.sum("n")).named("totals")
    plan = plan_of(totals.collect("all"))
    assert plan.origins(grouping(plan, "counts")) == {"stream/event_time-1": Silence(60_000_000)}
    assert plan.origins(grouping(plan, "totals")) == {"counts": Silence(), "rows": Silence()}
    assert [i.node.name for i in plan.followed] == ["event_time-1"]
    assert plan.feeds_operators(grouping(plan, "counts"))
    assert not plan.feeds_operators(grouping(plan, "totals"))
    assert plan.needs_clock


@pytest.mark.parametrize(
    ("trigger", "idle", "needs"),
    [
        (ms.at_watermark(), None, False),
        (ms.at_watermark(), "1m", True),
        (ms.at_watermark(early=ms.after_count(3)), None, False),
        (ms.at_watermark(early=ms.every("1m")), None, True),
        (ms.repeatedly(ms.after_delay("1m")), None, True),
    ],
)
def test_a_clock_is_needed_where_a_trigger_or_an_idle_split_goes_by_it(trigger, idle, needs):
    def plan(rows):
        counts = rows.window(ms.fixed("1m")).trigger(trigger).aggregate(n=ms.count())
        return plan_of(counts.collect())

    policy = ms.bounded("5s", idle=idle)
    endless = ms.read_files("/data", "json", SCHEMA, "at", policy)
    assert plan(endless).needs_clock is needs
    assert not plan(source(watermark=policy)).needs_clock, "what ends needs no clock"


def test_late_rows_are_kept_where_something_reads_them():
    counts = source().window(ms.fixed("1m")).aggregate(n=ms.count()).named("counts")
    read, unread = plan_of(counts.late.collect("late")), plan_of(counts.collect("all"))
    assert read.is_read(grouping(read, "counts"), "late")
    assert not unread.is_read(grouping(unread, "counts"), "late")


def test_a_rejected_output_reads_all_steps_before_it_that_may_reject():
    safe = source().map(same, SCHEMA, on_error="reject").named("safe")
    rest = safe.map(same, SCHEMA).flat_map(list, SCHEMA, on_error="drop")
    plan = plan_of(rest.rejected.collect("bad"))
    refusals = [i for i in plan.instances if i.role == "rejected"]
    assert [i.input.node.name for i in refusals] == ["event_time-1", "safe"]
    assert all(may_reject(i.input.node) for i in refusals)


def test_steps_whose_rows_nothing_reads_are_left_out():
    safe = source().map(same, SCHEMA, on_error="reject").named("safe")
    plan = plan_of(safe.filter("n > 1").with_columns(m="n + 1").rejected.collect("bad"))
    assert {i.node.name for i in plan.instances} == {
        "source",
        "event_time-1",
        "safe",
        "rejected-1",
        "bad",
    }
    assert not any(isinstance(i.node, Filter) for i in plan.instances)


def test_a_rejected_output_that_nothing_can_reach_leaves_its_source_alone():
    plan = plan_of(ms.from_rows([], SCHEMA, name="source").filter("n > 1").rejected.collect("bad"))
    assert places(plan) == [("source", "run", 0, 0)]
    assert [sink.name for sink in plan.sinks] == ["bad"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("n", "n"),
        ("N", "n"),
        ("`a b`", "a b"),
        ("`x.y`", "x.y"),
        ("größe", "größe"),
        ("`back``quote`", "back`quote"),
        ("select", "select"),
        ("n + 0", None),
        ("n + 1", "n + 1"),
        ("`n + 1`", "n + 1"),
        ("n+1", None),
        ("s.n", None),
    ],
)
def test_a_column_is_known_whatever_its_name_is_made_of(text, column):
    names = ["n", "`a b`", "`x.y`", "größe", "`back``quote`", "select", "`n + 1`"]
    schema = Schema.of(", ".join([*(f"{name} int" for name in names), "s struct<n: int>"]))
    input = ms.from_rows([], schema, name="rows").node
    assert column_of(scalar(text, schema), input) == column


def test_whole_rows_are_needed_by_lists_of_rows_and_functions_of_rows():
    def key(row) -> str:
        return row["key"]

    rows = source()
    assert not rows.aggregate(n=ms.count(), s=ms.sum("n")).node.needs_whole_rows
    assert rows.group().node.needs_whole_rows
    assert rows.aggregate(t=ms.top(1, by="n")).node.needs_whole_rows
    assert not rows.aggregate(t=ms.top(1, by="n", of="key")).node.needs_whole_rows
    assert rows.key_by(key).aggregate(n=ms.count()).node.needs_whole_rows
