"""State is read where it is: only what a step has is reported, and nothing is changed.

``test_rescaling`` compares what is read of a job with windows; here is a job without any.
"""

from __future__ import annotations

from pathlib import Path

import millstream as ms
from millstream.spark.driver.state_reading import rows_of_key, state_by_step


def content(folder):
    return {file: file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}


def test_the_last_rows_of_keys_are_read_and_left_alone(tmp_path, spark):
    rows = ms.from_rows([("red", 1), ("blue", 2), ("red", 3)], schema="team string, n int")
    changed = rows.key_by("team").changes("n").named("changed")
    changed.collect("all").run("read", checkpoint=str(tmp_path), mode="streaming")
    before = content(tmp_path)
    state = state_by_step(spark, f"{tmp_path}/read")["changed"]
    assert (state.rows, state.oldest) == (2, None)
    (found,) = rows_of_key(spark, f"{tmp_path}/read", ["red"])
    assert (found.step, found.rows.height) == ("changed", 1)
    assert rows_of_key(spark, f"{tmp_path}/read", ["green"]) == []
    assert content(tmp_path) == before
