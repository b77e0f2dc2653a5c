"""A processor in columns gives what it gives key by key: rows, their order, state and timers."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.engine.operator import ROWS, Advance
from millstream.engine.process import in_columns
from millstream.engine.process.operator import Process
from millstream.model.errors import PlanError, RunError, TestingError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.testing import Elements, Watermark, check_forms, replay, test_stream

SECOND = 1_000_000


class Sums(ms.Processor):
    """Running sums, with side outputs, retractions, both kinds of timers, and a list."""

    retracts = True
    quiet = ms.timer("event_time")
    silent = ms.timer("processing_time")

    class state:  # noqa: N801
        total: int = 0
        seen: list[int] = field(default_factory=list)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        if state.seen:
            out.retract(key=row["key"], total=state.total)
        state.total += row["value"]
        state.seen.append(row["value"])
        out.emit(key=row["key"], total=state.total)
        if row["value"] > 5:
            out.to("big").emit(value=row["value"])
            timers.quiet.set(after=row["value"], tag="big")
            timers.quiet.clear()
        else:
            timers.quiet.set(at=row.micros / SECOND + 3)
        timers.silent.set(after="4s", hold=False)

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        before = state.select("_slot", "seen", before="total")
        rows = rows.join(before, on="_slot", how="left", maintain_order="left").with_columns(
            total=pl.col("before") + pl.col("value").cast(pl.Int64).cum_sum().over("_slot")
        )
        is_new = (pl.col("seen").list.len() == 0) & pl.col("_slot").is_first_distinct()
        out.retract(rows.filter(~is_new).with_columns(pl.col("total") - pl.col("value")))
        out.emit(rows)
        big, small = rows.filter(pl.col("value") > 5), rows.filter(pl.col("value") <= 5)
        out.to("big").emit(big)
        for value in big["value"].unique():
            timers.quiet.set(big.filter(pl.col("value") == value), after=value, tag=pl.lit("big"))
        timers.quiet.clear(big)
        timers.quiet.set(small, at=pl.col("_time") + 3 * SECOND)
        timers.silent.set(rows, after="4s", hold=False)
        new = rows.group_by("_slot").agg(
            pl.last("total"), pl.first("seen"), values=pl.col("value").cast(pl.Int64)
        )
        return new.with_columns(seen=pl.concat_list("seen", "values"))

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(key=timer.key["key"], total=-len(state.seen))
        if timer.name == "silent":
            state.total, state.seen = 0, []

    def on_end(self, end: Any, state: Any, out: Any) -> None:
        out.emit(key="end", total=state.total)


class SumsByKey(Sums):
    on_batch = ms.Processor.on_batch


class Expiring(Sums):
    ttl = ms.ttl("3s")

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(key="gone", total=state.total)


class ExpiringByKey(Expiring):
    on_batch = ms.Processor.on_batch


class Counts(ms.Processor):
    ttl = ms.ttl("3s", "processing_time")

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += row["value"]
        out.emit(key=row["key"], total=state.n)
        if row["value"] == 9:
            raise ValueError("nine")

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        before = state["n"].gather(rows["_slot"])
        rows = rows.with_columns(total=before + pl.col("value").cum_sum().over("_slot"))
        out.emit(rows)
        if rows["value"].max() == 9:
            raise ValueError("nine")
        return rows.group_by("_slot").agg(n=pl.last("total"))


class CountsByKey(Counts):
    on_batch = ms.Processor.on_batch


def operator(processor: Any, **options: Any) -> Process:
    source = test_stream("key string, value int, at double", event_time="at").key_by("key")
    window = options.pop("window", None)
    source = source if window is None else source.window(window, allowed_lateness=2)
    outputs = {"big": "value int"}
    node = source.process(processor, schema="key string, total bigint", outputs=outputs, **options)
    return Process(node.node.processing, ["key 0"])  # type: ignore[attr-defined]


def batch(rows: list[tuple[str | None, int, int]]) -> pl.DataFrame:
    types = {"bucket": pl.UInt8, "key 0": pl.String, "time": pl.Int64, "sign": pl.Int64}
    types |= {"origin": pl.String, "split": pl.String, "offset": pl.Int64}
    row = pl.Struct({"key": pl.String, "value": pl.Int32, "at": pl.Float64})
    return pl.DataFrame(
        [
            (
                *(0 if key is None else 1, key, at * SECOND, 1, "source", "", number),
                {"key": key, "value": value, "at": float(at)},
            )
            for number, (key, value, at) in enumerate(rows)
        ],
        {**types, "row": row},
        orient="row",
    )


def run(made: Process, steps: Any) -> list[Any]:
    """What each step gives, and leaves."""
    tables: Any = {}
    results = []
    before, then = START_OF_TIME, 0
    for rows, watermark, now in steps:
        batches = {ROWS: batch(rows)} if rows else {}
        stepped = made.step(tables, batches, Advance(before, watermark, then, now))
        tables, before, then = stepped.tables, watermark, now
        results.append(
            (
                {name: _sorted(name, table) for name, table in tables.items()},
                {tag: _plain(t) for tag, t in stepped.outputs.items() if t},
                stepped.facts,
            )
        )
    return results


def _sorted(name: str, table: pl.DataFrame) -> list[dict[str, Any]]:
    by = {"keys": ["key 0", "start"], "timers": ["key 0", "start", "name", "tag"]}
    return table.sort(by.get(name, ["key 0"]), maintain_order=True).rows(named=True)


def _plain(tables: list[pl.DataFrame]) -> list[dict[str, Any]]:
    return [row for table in tables for row in table.rows(named=True)]


KEYS = st.sampled_from(["a", "b", None])
ROW = st.tuples(KEYS, st.integers(0, 9), st.integers(0, 20))
STEP = st.tuples(st.lists(ROW, max_size=6), st.integers(0, 5), st.integers(0, 3))


@st.composite
def steps(draw: st.DrawFn) -> list[Any]:
    made, watermark, now = [], 0, 0
    for rows, later, clock in draw(st.lists(STEP, min_size=1, max_size=6)):
        watermark, now = watermark + later, now + clock
        made.append((rows, watermark * SECOND, now * SECOND))
    return [*made, ([], END_OF_TIME, now * SECOND)]


@pytest.mark.parametrize(
    ("processor", "by_key", "options"),
    [
        (Sums, SumsByKey, {}),
        (Sums, SumsByKey, {"window": ms.sliding(10, 5)}),
        (Expiring, ExpiringByKey, {}),
        (Counts, CountsByKey, {"on_error": "reject", "allowed_lateness": 1}),
        (Counts, CountsByKey, {"on_error": "drop", "window": ms.fixed(5)}),
    ],
)
def test_a_processor_gives_the_same_in_columns_and_key_by_key(
    processor: Any, by_key: Any, options: Any
) -> None:
    @settings(max_examples=30, deadline=None)
    @given(steps())
    def agree(given: list[Any]) -> None:
        in_columns = run(operator(processor, **options), given)
        assert in_columns == run(operator(by_key, **options), given)

    agree()


class Wrong(Counts):
    """Row by row it works; in columns it does what the test says."""

    def __init__(self, wrong: Any) -> None:
        self.wrong = wrong

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        return self.wrong(rows, out)


@pytest.mark.parametrize(
    ("wrong", "code", "why"),
    [
        (lambda rows, out: 1 / 0, "MS201", "on_batch of Wrong failed on 1 rows: ZeroDivisionError"),
        (lambda rows, out: out.emit(rows.drop("_row")), "MS201", "with the column '_row'"),
        (lambda rows, out: out.emit(rows), "MS202", "has no column 'total'"),
        (lambda rows, out: rows, "MS202", "column 'n' of what on_batch of Wrong returned"),
        (lambda rows, out: [1], "MS201", "is no Polars table with the column '_slot'"),
        (lambda rows, out: out.to("small"), "MS201", "which is none of its outputs"),
        (lambda rows, out: out.retract(rows), "MS201", "takes a row back"),
    ],
)
def test_what_on_batch_does_wrong_is_named(wrong: Any, code: str, why: str) -> None:
    def fails(rows: Any, out: Any) -> Any:
        return wrong(rows.with_columns(n=pl.lit("text")), out)

    with pytest.raises(RunError) as raised:
        run(operator(Wrong(fails)), [([("a", 1, 0)], 0, 0)])
    assert raised.value.code == code
    assert why in raised.value.what
    assert raised.value.step == "process-1"


class Rings(ms.Processor):
    """Timers of both kinds that set others, some of them for a time that has come."""

    due = ms.timer("event_time")
    tick = ms.timer("processing_time")

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += 1
        timers.due.set(after=3)
        timers.tick.set(after=2, tag="x", hold=False)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(key=timer.key["key"], what=timer.name + timer.tag, n=state.n)
        state.n += 10
        if state.n < 40:
            timers.due.set(after=1, tag=timer.tag)

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        timers.due.set(rows, after=3)
        timers.tick.set(rows, after=2, tag="x", hold=False)
        n = state["n"].gather(rows["_slot"]) + rows.select(pl.len().over("_slot")).to_series()
        return rows.with_columns(n=n).group_by("_slot").agg(pl.last("n"))

    def on_timers(self, fired: Any, state: Any, timers: Any, out: Any) -> Any:
        fired = fired.with_columns(n=state["n"].gather(fired["_slot"]))
        out.emit(fired.with_columns(what=pl.col("_timer") + pl.col("_tag")))
        fired = fired.with_columns(n=pl.col("n") + 10)
        timers.due.set(fired.filter(pl.col("n") < 40), after=1, tag=pl.col("_tag"))
        return fired.select("_slot", "n")


class RingsAndEnds(Rings):
    ttl = ms.ttl(6)

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(key=expiry.key["key"], what="expiry", n=state.n)


RUNG = "key string, what string, n bigint"


@pytest.mark.parametrize("processor", [Rings, RingsAndEnds])
@pytest.mark.parametrize("window", [None, ms.fixed(5), ms.sliding(4, 2)])
def test_timers_of_many_keys_at_once_do_what_each_does(processor: Any, window: Any) -> None:
    stream = test_stream("key string, at double", event_time="at").key_by("key")
    stream = stream if window is None else stream.window(window, allowed_lateness=1)
    check_forms(stream.process(processor, schema=RUNG), runs=10)


def test_a_difference_between_on_timers_and_on_timer_is_found() -> None:
    class Wrong(Rings):
        def on_timers(self, fired: Any, state: Any, timers: Any, out: Any) -> None:
            return None

    stream = test_stream("key string, at double", event_time="at").key_by("key")
    with pytest.raises(TestingError, match="MS132"):
        check_forms(stream.process(Wrong, schema=RUNG))


def test_a_timer_that_sets_itself_for_now_is_stopped_in_columns_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Endless(Rings):
        def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
            timers.due.set(after=0)

        def on_timers(self, fired: Any, state: Any, timers: Any, out: Any) -> None:
            timers.due.set(fired, after=0)

    stream = test_stream("key string, at double", event_time="at").key_by("key")
    stream = stream.process(Endless, schema=RUNG)
    steps = [Elements([{"key": "a", "at": 1.0}]), Watermark(5)]
    monkeypatch.setattr(in_columns, "_MOST_ROUNDS", 20)
    with pytest.raises(RunError, match="MS229"):
        replay(stream, steps=steps, engine="columnar")


def test_on_timers_needs_on_batch_and_on_timer() -> None:
    class Alone(ms.Processor):
        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            pass

        def on_timers(self, fired: Any, state: Any, timers: Any, out: Any) -> None:
            pass

    class WithBatch(Alone):
        def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> None:
            pass

    stream = test_stream("key string").key_by("key")
    for processor, lacking in ((Alone, "on_batch"), (WithBatch, "on_timer")):
        with pytest.raises(PlanError, match=f"MS131.*on_timers.*there is no {lacking}"):
            stream.process(processor, schema="key string")
