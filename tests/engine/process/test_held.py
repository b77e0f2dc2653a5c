"""State and timers in tables: what is written is read again, and new fields have defaults."""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

import millstream as ms
from millstream.engine.process.held import HeldTables
from millstream.plan.operators.process import Processing
from millstream.reference.callbacks import Setting
from millstream.reference.turns import Held, Turns
from millstream.testing import test_stream


class Typed(ms.Processor):
    tick = ms.timer("event_time")

    class state:  # noqa: N801
        number: int = 0
        name: str | None = None
        at: datetime | None = None
        price: Decimal = Decimal(0)
        tags: list[str] = field(default_factory=list)
        counts: dict[str, int] = field(default_factory=dict)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def tables() -> tuple[HeldTables, Processing]:
    rows = test_stream("key string, at int", event_time="at")
    stream = rows.key_by("key").process(Typed, schema="key string")
    what = stream.node.processing  # type: ignore[attr-defined]
    return HeldTables(what, Turns(what)), what


SLOTS = pl.DataFrame(
    {
        "slot": [0, 1],
        "bucket": [3, 3],
        "key 0": ["a", None],
        "start": [None, None],
        "end": [None, None],
    },
    schema_overrides={"slot": pl.UInt32, "start": pl.Int64, "end": pl.Int64},
)
AT = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_what_is_written_is_read_again() -> None:
    held = {
        0: Held(
            (1, "ä", AT, Decimal("1.5"), ["x", "y"], {"k": 2}),
            {("tick", "t"): Setting(5, 4, True)},
            True,
            7,
            8,
        ),
        1: Held((-1, None, None, Decimal(0), [], {}), {}, True, 1, 2),
    }
    made, _ = tables()
    keys, timers = made.tables(SLOTS, held, [None, None])
    assert made.read(keys, timers) == held
    assert keys["wakes"].to_list()[0] == 5
    assert keys["holds"].to_list() == [4, None]


def test_a_field_that_was_added_to_the_program_has_its_default() -> None:
    made, _ = tables()
    held = Held((1, None, AT, Decimal(1), ["x"], {"k": 2}), {}, True, 7, 8)
    keys, _ = made.tables(SLOTS, {0: held, 1: held}, [None, None])
    # Buckets are read together, and the new program has written one of them.
    old = keys[:1].drop("field tags", "field number").with_columns(fields=pl.lit(OLD))
    both = made.completed(pl.concat([old, keys[1:]], how="diagonal"))
    assert both is not None
    assert both["fields"].n_unique() == 1
    assert made.read(both, None)[0].values == (0, None, AT, Decimal(1), [], {"k": 2})
    assert made.read(both, None)[1].values == held.values


OLD = "at counts name price"
