"""What a checkpoint keeps of a program, to compare it with the program that resumes it."""

from __future__ import annotations

import millstream as ms
from millstream.physical.plan import physical
from millstream.physical.resume import stateful_plan


def test_the_plan_records_which_aggregates_keep_a_sketch():
    rows = ms.from_rows([], "user string, ms int")
    counted = rows.key_by("user").aggregate(
        n=ms.count_distinct("ms"), about=ms.approx_distinct("user"), half=ms.approx_quantile("ms")
    )
    lines = stateful_plan(physical(counted.collect().sinks))
    assert "    types  user STRING, n INT, about STRING sketch, half INT sketch" in lines
