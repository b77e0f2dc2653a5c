"""temporal_join() in the plan: what it takes, what it refuses, and what it shows."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.physical.plan import physical
from millstream.physical.resume import stateful_plan
from millstream.testing import test_stream

ORDERS = test_stream("item string, n int, at double", event_time="at", name="orders")
PRICES = test_stream("item string, price int, at double", event_time="at", name="prices")


def refused(match, table=PRICES, orders=ORDERS, **how):
    with pytest.raises(PlanError, match=match):
        orders.temporal_join(table, **{"on": "item", **how})


def test_a_pair_has_the_columns_of_both_and_the_key_once():
    assert ORDERS.temporal_join(PRICES, on="item").schema.names == (
        "item", "n", "at", "price", "at_right",
    )  # fmt: skip
    named = PRICES.select("price", id="item")
    assert ORDERS.temporal_join(named, on=("item", "id")).schema.names == (
        "item", "n", "at", "price",
    )  # fmt: skip
    by_text = ORDERS.temporal_join(named, on=("lower(item)", "lower(id)"), suffix="_2")
    assert by_text.schema.names == ("item", "n", "at", "price", "id")


def test_late_rows_have_the_columns_of_pairs_their_side_and_the_reason():
    late = ORDERS.temporal_join(PRICES.drop("at"), on="item").late
    assert late.schema.names == ("item", "n", "at", "price", "side", "reason")
    sides = PRICES.with_columns(side="'a'")
    with pytest.raises(PlanError, match="MS108 in step 'late-1'"):
        _ = ORDERS.temporal_join(sides, on="item").late


@pytest.mark.parametrize("on", [None, [], ("item",), ("item", "item", "n")])
def test_what_rows_meet_on_is_needed(on):
    refused("MS142 in step 'temporal_join-1': on=.* does not say on what rows", on=on)


def test_keys_are_of_one_type_and_whole_numbers_are_made_so():
    refused("MS142 .*rows meet where n, which is INT, equals item, which is STRING",
            on=("n", "item"))  # fmt: skip
    joined = ORDERS.temporal_join(PRICES.with_columns(big="CAST(price AS BIGINT)"), on=("n", "big"))
    assert [key.type for port in joined.node.ports for _, key in port.keys] == ["BIGINT", "BIGINT"]


def test_words_and_lengths_of_time_are_checked():
    refused("MS113 .*how='full'", how="full")
    refused("MS113 .*direction='back'", direction="back")
    refused("MS101", grace="soon")
    refused("MS101 .*tolerance must not be negative", tolerance=-1)
    refused("MS113: .*takes streams, not 5", table=5)
    refused("MS112 .*not true or false", deleted="price")
    refused("MS113 .*suffix=''", suffix="")


def test_waiting_for_ever_is_refused():
    refused("MS143 .*'forward' waits for versions after a row", direction="forward")
    rows = ms.from_rows([("x", 1, 1.0)], "item string, n int, at double", "at", name="rows")
    table = ms.from_rows([("x", 1, 1.0)], "item string, p int, at double", "at", name="table")
    assert rows.temporal_join(table, on="item", direction="forward").schema


def test_both_sides_need_event_times_and_a_watermark(tmp_path):
    refused("MS115 .*a version of a table is in event time", table=test_stream("item string"))
    endless = ms.read_files(tmp_path, "json", "item string, p int, since double", "since")
    refused("MS119 .*a row waits for the versions of its time", table=endless)


def test_settings_of_groupings_are_refused():
    refused("MS117 .*has no use for key item", orders=ORDERS.key_by("item"))
    refused("MS117 .*has no use for window", table=PRICES.window(ms.fixed(10)))


def test_the_plan_shows_how_rows_meet(capsys):
    joined = ORDERS.temporal_join(
        PRICES, on="item", how="left", grace="1m", tolerance="1h", deleted="price IS NULL"
    )
    joined.explain()
    lines = capsys.readouterr().out.splitlines()
    assert [line.lstrip("│ ") for line in lines[1:6]] == [
        "joins    left",
        "on       item",
        "version  backward, within 1h",
        "grace    1m",
        "deleted  price IS NULL",
    ]
    plan = physical(joined.collect().sinks)
    (node,) = plan.operators(1)
    assert [i.role for i in plan.instances if i.node is node].count("scatter") == 2
    assert stateful_plan(plan)[-1] == "    from   orders, prices"
