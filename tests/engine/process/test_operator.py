"""A processor over tables: a repeated step gives the same bytes, whatever the order of arrivals."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

import millstream as ms
from millstream.engine.operator import ROWS, Advance
from millstream.engine.process.operator import Process
from millstream.engine.state.blobs import packed
from millstream.model.instants import START_OF_TIME
from millstream.testing import test_stream


class Running(ms.Processor):
    tick = ms.timer("event_time")

    class state:  # noqa: N801
        total: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.total = state.total * 2 + row["value"]
        timers.tick.set(after=row["value"])
        out.emit(total=state.total)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(total=-state.total)


def operator() -> Process:
    source = test_stream("key string, value int, at double", event_time="at")
    node = source.key_by("key").process(Running, schema="total bigint").node
    return Process(node.processing, ["key 0"])  # type: ignore[attr-defined]


def batch(rows: list[tuple[str, int, int]]) -> pl.DataFrame:
    table = pl.DataFrame(
        [
            {
                "bucket": hash(key) % 2,
                "key 0": key,
                "time": at * 1_000_000,
                "sign": 1,
                "origin": "source",
                "split": f"{number % 3:06}",
                "offset": number,
                "row": {"key": key, "value": value, "at": float(at)},
            }
            for number, (key, value, at) in enumerate(rows)
        ]
    )
    return table.with_columns(bucket=pl.col("key 0").str.len_bytes().cast(pl.UInt8) % 2)


def test_a_repeated_step_gives_the_same_bytes_in_whatever_order_rows_arrive() -> None:
    rng = random.Random(7)
    rows = [(rng.choice(["a", "bb", "c"]), rng.randint(1, 9), rng.randint(0, 9)) for _ in range(50)]
    given = batch(rows)
    advance = Advance(START_OF_TIME, 12_000_000, 0, 0)
    expected: list[Any] = []
    for seed in range(5):
        stepped = operator().step(
            {}, {ROWS: given.sample(fraction=1, shuffle=True, seed=seed)}, advance
        )
        made = [packed(stepped.tables[name]) for name in sorted(stepped.tables)]
        made += [packed(table) for table in stepped.outputs[ROWS]]
        expected = expected or [made, stepped.facts]
        assert [made, stepped.facts] == expected


def test_facts_say_when_the_next_timer_of_a_bucket_fires_and_what_it_holds() -> None:
    stepped = operator().step(
        {}, {ROWS: batch([("a", 5, 1), ("c", 3, 2), ("bb", 9, 0)])}, Advance(START_OF_TIME, 0, 0, 0)
    )
    assert {name: (facts.wakes, facts.holds) for name, facts in stepped.facts.items()} == {
        (1,): (5_000_000, 5_000_000),
        (0,): (9_000_000, 9_000_000),
    }
    later = operator().step(stepped.tables, {}, Advance(0, 7_000_000, 0, 0))
    assert [row["row"]["total"] for row in later.outputs[ROWS][0].iter_rows(named=True)] == [-5, -3]
    assert later.facts[0,].wakes == 9_000_000
