"""MS115: windows in event time need rows that have one."""

from __future__ import annotations

import pytest

import millstream as ms

UNTIMED = ms.from_rows([], schema="k string, at timestamp", name="clicks")
TIMED = UNTIMED.with_event_time("at")
WINDOWS = [ms.fixed("1m"), ms.sliding("1m", "1s"), ms.session("1m"), ms.calendar("day")]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_over_rows_without_event_time_is_refused(window: object) -> None:
    with pytest.raises(ms.PlanError) as caught:
        UNTIMED.filter("k = 'a'").window(window).aggregate(n=ms.count())  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.step) == ("MS115", "aggregate-1")
    assert caught.value.what.endswith("is in event time, but the rows of 'clicks' have none")
    assert "with_event_time('at')" in caught.value.fix


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_over_rows_with_event_time_passes(window: object) -> None:
    TIMED.filter("k = 'a'").select("k").window(window).aggregate(n=ms.count())  # type: ignore[arg-type]


def test_the_global_window_needs_no_event_time() -> None:
    UNTIMED.window(ms.global_window()).aggregate(n=ms.count())
    UNTIMED.aggregate(n=ms.count())


def test_every_part_of_a_union_needs_one() -> None:
    with pytest.raises(ms.PlanError, match="MS115"):
        TIMED.union(UNTIMED).window(ms.fixed("1m")).aggregate(n=ms.count())
    TIMED.union(TIMED.filter("k = 'a'")).window(ms.fixed("1m")).aggregate(n=ms.count())


def test_panes_and_late_rows_have_event_times_and_rejected_rows_have_none() -> None:
    totals = TIMED.window(ms.fixed("1m")).aggregate(n=ms.count())
    totals.window(ms.fixed("1h")).aggregate(n=ms.sum("n"))
    totals.late.window(ms.fixed("1h")).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match="MS115 .*'rejected-1'"):
        totals.rejected.window(ms.fixed("1h")).aggregate(n=ms.count())


TYPES = ["timestamp", "timestamp_ntz", "date", "bigint", "int", "double", "decimal(20, 6)"]


@pytest.mark.parametrize("type", TYPES)
def test_times_and_numbers_of_seconds_can_be_event_times(type: str) -> None:
    assert ms.from_rows([], schema=f"at {type}", event_time="AT").node.column == "at"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "type", ["string", "boolean", "binary", "array<timestamp>", "struct<a: date>"]
)
def test_other_types_cannot(type: str) -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.from_rows([], schema=f"at {type}", event_time="at")
    assert (caught.value.code, caught.value.step) == ("MS115", "event_time-1")
    assert caught.value.fix == "make one first: with_columns(at='to_timestamp(at)')"


def test_a_type_that_is_not_known_passes() -> None:
    UNTIMED.with_columns(x="session.some_udf(k)").with_event_time("x")


def test_the_column_must_be_there() -> None:
    with pytest.raises(ms.PlanError, match="MS102 in step 'event_time-1': there is no column 'ta'"):
        UNTIMED.with_event_time("ta")
    with pytest.raises(ms.PlanError, match="MS102"):
        UNTIMED.with_event_time(5)  # type: ignore[arg-type]


def test_a_punctuated_watermark_names_a_column_of_times() -> None:
    UNTIMED.with_event_time("at", ms.punctuated("at"))
    with pytest.raises(ms.PlanError, match="MS115"):
        UNTIMED.with_event_time("at", ms.punctuated("k"))
    with pytest.raises(ms.PlanError, match="MS102"):
        UNTIMED.with_event_time("at", ms.punctuated("complete"))


def test_a_watermark_must_be_a_policy_and_have_an_event_time() -> None:
    with pytest.raises(ms.PlanError, match="MS113 in step 'event_time-1': watermark='30s'"):
        UNTIMED.with_event_time("at", "30s")  # type: ignore[arg-type]
    with pytest.raises(ms.PlanError, match="MS115 in step 'rows-1'"):
        ms.from_rows([], schema="at timestamp", watermark=ms.bounded("30s"))


@pytest.mark.parametrize("type", ["bigint", "int", "double", "decimal(20, 3)"])
def test_numbers_may_be_of_another_unit(type: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ms.from_rows([], schema=f"at {type}", event_time="at", unit="ms")
    assert rows.node.unit == "ms"  # type: ignore[attr-defined]
    rows.explain()
    assert "from  at in milliseconds" in capsys.readouterr().out
    assert ms.from_rows([], schema=f"at {type}").with_event_time("at").node.unit == "s"  # type: ignore[attr-defined]


@pytest.mark.parametrize("type", ["timestamp", "timestamp_ntz", "date"])
def test_timestamps_and_dates_have_no_unit(type: str) -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.from_rows([], schema=f"at {type}", event_time="at", unit="s")
    assert (caught.value.code, caught.value.step) == ("MS113", "event_time-1")
    assert caught.value.what == f"unit='s' is for numbers, but 'at' is {type.upper()}"
    assert caught.value.fix == "leave unit out"


def test_a_unit_is_one_of_four_and_needs_an_event_time() -> None:
    with pytest.raises(ms.PlanError, match="MS113 in step 'event_time-1': unit='millis' is not"):
        ms.from_rows([], schema="at bigint", event_time="at", unit="millis")  # type: ignore[arg-type]
    with pytest.raises(ms.PlanError, match="MS115 in step 'rows-1': unit='ms' has no event time"):
        ms.from_rows([], schema="at bigint", unit="ms")


def test_the_advice_to_add_a_watermark_repeats_the_unit() -> None:
    rows = ms.read_files("rows", "json", schema="at bigint", event_time="at", unit="us")
    with pytest.raises(ms.PlanError) as caught:
        rows.window(ms.fixed("1m")).aggregate(n=ms.count())
    assert "event_time='at', watermark=ms.bounded('30s'), unit='us'" in caught.value.fix
