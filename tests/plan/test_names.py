"""Names of steps: automatic, unique in a pipeline, and never changed if a user gave them."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.plan.names import kind_of, with_distinct_names
from millstream.plan.nodes import Union, walk

ROWS = ms.from_rows([], schema="n int", name="numbers")


def names(pipeline: ms.Pipeline) -> list[str]:
    return [node.name for node in walk(*pipeline.sinks)]


def test_steps_are_numbered_by_their_kind() -> None:
    stream = ROWS.filter("n > 1").filter("n > 2").select("n").filter("n > 3").group()
    assert names(stream.collect()) == [
        "numbers", "filter-1", "filter-2", "select-1", "filter-3", "aggregate-1", "collect-1",
    ]  # fmt: skip


def test_every_kind_of_step_is_called_by_its_method() -> None:
    every = (
        ms.from_rows([], schema="n int", event_time="n").filter("n > 1").select("n")
        .with_columns(m="n").map(dict, "n int").flat_map(list, "n int").map_batches(list, "n int")
        .union(ms.from_rows([], schema="n int")).group().late.rejected.collect()
    )  # fmt: skip
    assert {kind_of(node) for node in walk(*every.sinks)} == {
        "rows", "event_time", "filter", "select", "with_columns", "map", "flat_map", "map_batches",
        "union", "aggregate", "late", "rejected", "collect",
    }  # fmt: skip


def test_every_kind_of_source_and_sink_is_called_by_what_it_reads_and_its_method() -> None:
    lines = ms.read_files("/in", format="text").union(ms.read_socket(port=9999))
    ticks = ms.read_rate(event_time=None)
    every = ms.pipeline(
        lines.write_files("/out"), ticks.write_console(), ticks.write_each(print), ticks.collect()
    )
    assert {name.removesuffix("-1") for name in names(every)} == {
        "files", "socket", "rate", "union", "write_files", "write_console", "write_each", "collect",
    }  # fmt: skip


def test_branches_that_meet_get_numbers_of_their_own() -> None:
    united = ROWS.filter("n > 1").union(ROWS.filter("n < 1"), ms.from_rows([], schema="n int"))
    found = names(united.collect())
    assert len(found) == len(set(found))
    assert found == [
        "numbers", "filter-1", "filter-2", "rows-1", "union-1", "collect-1",
    ]  # fmt: skip


def test_renumbering_keeps_shared_steps_shared() -> None:
    left, right = ROWS.filter("n > 1"), ROWS.filter("n < 1")
    pipeline = ms.pipeline(left.union(right).collect(), right.collect())
    (united, alone) = pipeline.sinks
    union = united.inputs[0]
    assert isinstance(union, Union)
    assert union.parts[1] is alone.inputs[0]
    assert len([node for node in walk(*pipeline.sinks) if node.name == "numbers"]) == 1


def test_a_graph_of_distinct_names_is_left_as_it_is() -> None:
    node = ROWS.filter("n > 1").node
    assert with_distinct_names(node) == (node,)


def test_pipelines_join_into_one_and_share_what_they_share() -> None:
    kept = ROWS.filter("n > 1").named("kept")
    joined = ms.pipeline(kept.collect("a"), kept.select("n").collect("b"))
    assert names(joined) == ["numbers", "kept", "a", "select-1", "b"]


def test_a_sink_given_twice_is_one_sink() -> None:
    sink = ROWS.collect("all")
    assert names(ms.pipeline(sink, sink)) == ["numbers", "all"]


def test_two_unnamed_sinks_are_numbered() -> None:
    joined = ms.pipeline(ROWS.collect(), ROWS.collect())
    assert [sink.name for sink in joined.sinks] == ["collect-1", "collect-2"]


def test_two_sinks_of_the_same_name_are_refused() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.pipeline(ROWS.collect("all"), ROWS.filter("n > 1").collect("all"))
    assert str(caught.value) == (
        "MS108 in step 'all': two collect steps are both called 'all'\n"
        "  What to do: give one another name: .named('…') for a step, name='…' for a source or "
        "sink\n"
        "  More: millstream help MS108"
    )


def test_two_steps_of_the_same_name_are_refused_where_they_meet() -> None:
    left, right = ROWS.filter("n > 1").named("kept"), ROWS.filter("n < 1").named("kept")
    with pytest.raises(ms.PlanError, match="MS108 in step 'kept': two filter steps"):
        left.union(right)
    with pytest.raises(ms.PlanError, match="MS108 in step 'kept'"):
        ms.pipeline(left.collect(), right.collect())
    left.union(left)


def test_a_name_that_a_step_behind_has_is_refused_at_once() -> None:
    with pytest.raises(ms.PlanError, match="MS108 .* a rows and a filter step are both called"):
        ROWS.filter("n > 1").named("numbers")


def test_sinks_have_names_of_their_own() -> None:
    kept = ROWS.filter("n > 1").named("kept")
    both = ms.pipeline(kept.collect("kept"), ROWS.write_console(name="numbers"))
    assert names(both) == ["numbers", "kept", "kept", "numbers"]
    named = ROWS.filter("n > 1").named("collect-1")
    assert names(ms.pipeline(named.collect("filter-1"), ROWS.filter("n < 1").collect())) == [
        "numbers", "collect-1", "filter-1", "filter-1", "collect-1",
    ]  # fmt: skip
    job = ms.pipeline(kept.collect("kept"), kept.rejected.collect("numbers")).run()
    assert job.rows("kept") == job.rows("numbers") == []


def test_an_automatic_name_makes_way_for_a_given_one() -> None:
    given = ROWS.select("n").named("filter-1")
    assert names(given.filter("n > 1").collect()) == [
        "numbers", "filter-1", "filter-2", "collect-1",
    ]  # fmt: skip
    meeting = ROWS.filter("n > 1").union(given)
    assert set(names(meeting.collect())) >= {"filter-1", "filter-2"}


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        ROWS.filter("n > 1").named(name)  # type: ignore[arg-type]


def test_settings_cannot_be_named() -> None:
    with pytest.raises(ms.PlanError, match=r"MS117.*\n.*\.aggregate\(…\)\.named\('totals'\)"):
        ROWS.key_by("n").named("totals")


@pytest.mark.parametrize("given", [(), (ROWS,), ("totals",)])
def test_a_pipeline_is_made_of_pipelines(given: tuple[ms.Pipeline, ...]) -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        ms.pipeline(*given)
