"""What a step changes of a side: rows that it adds, and rows that it takes back."""

from __future__ import annotations

import polars as pl

from millstream.engine.joins.side_rows import changed


def table(*rows):
    """Rows of value, time and sign."""
    return pl.DataFrame(
        {
            "key 0": [1] * len(rows),
            "values": [{"v": value} for value, _, _ in rows],
            "time": [time for _, time, _ in rows],
            "sign": [sign for _, _, sign in rows],
        },
        schema_overrides={"values": pl.Struct({"v": pl.Int64})},
    )


def values(rows):
    return sorted(((row["values"]["v"], row["time"]) for row in rows.to_dicts()), key=repr)


def sides(held, arrived):
    found = changed(held, arrived, ["key 0"], retracted=True)
    return [values(each) for each in (found.kept, found.added, found.removed)]


def test_nothing_is_no_change():
    assert changed(None, None, ["key 0"], retracted=True) is None


def test_a_row_that_is_taken_back_is_removed_and_all_others_stay():
    held = table((1, 5, 1), (2, 5, 1), (1, 6, 1))
    assert sides(held, table((1, 5, -1), (3, 5, 1))) == [[(1, 6), (2, 5)], [(3, 5)], [(1, 5)]]


def test_of_equal_rows_as_many_stay_as_were_not_taken_back():
    held = table((1, 5, 1), (1, 5, 1), (1, 5, 1), (1, 5, -1))
    assert sides(held, table((1, 5, -1))) == [[(1, 5)], [], [(1, 5)]]
    assert sides(held, table((1, 5, 1), (1, 5, 1))) == [[(1, 5)] * 2, [(1, 5)] * 2, []]


def test_what_comes_and_is_taken_back_in_one_step_is_no_change():
    assert sides(None, table((1, 5, 1), (1, 5, -1))) == [[], [], []]
    assert sides(table((1, 5, 1)), table((1, 5, -1), (1, 5, 1))) == [[(1, 5)], [], []]


def test_a_row_that_is_taken_back_before_it_comes_never_is_there():
    assert sides(table((1, 5, -1)), table((1, 5, 1))) == [[], [], []]


def test_null_is_not_zero():
    assert sides(table((None, 5, 1)), table((0, 5, -1))) == [[(None, 5)], [], []]


def test_before_and_after_are_all_rows_then_and_now():
    found = changed(table((1, 5, 1), (2, 5, 1)), table((1, 5, -1), (3, 5, 1)), ["key 0"], True)
    assert values(found.before) == [(1, 5), (2, 5)]
    assert values(found.after) == [(2, 5), (3, 5)]
