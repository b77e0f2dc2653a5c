"""What every part of the lowering knows of a program."""

from __future__ import annotations

import millstream as ms
from millstream.spark.worker.envelopes import NAMES
from programs import lowering_of

ROWS = ms.from_rows([], "key string, n int, at double", event_time="at", name="rows")
COUNTS = ROWS.window(ms.fixed(10)).aggregate(n=ms.count()).named("counts")


def whole_rows(*parts):
    made = lowering_of(*parts)
    (node,) = made.plan.levels
    return made.whole_rows(node)


def test_whole_rows_are_sent_to_operators_that_need_them_or_whose_late_rows_are_read():
    assert not whole_rows(COUNTS.collect("counts"))
    assert whole_rows(COUNTS.collect("counts"), COUNTS.late.collect("late"))
    assert whole_rows(ROWS.key_by("key").changes().collect("changes"))


def test_no_other_step_needs_them():
    made = lowering_of(ROWS.filter("n > 1").collect("all"))
    assert not any(made.whole_rows(i.node) for i in made.plan.instances)


def test_all_sql_of_the_program_is_listed_and_envelopes_have_the_columns_that_workers_read(spark):
    made = lowering_of(ROWS.filter("n > 1").with_columns(m="n + 1").collect("all"))
    assert [sql.expression.text for sql in made.listing.all] == ["n > 1", "n + 1"]
    assert made.envelope.names == list(NAMES)
