"""How far shards have come, as each last reported it."""

from __future__ import annotations

import json

from pyspark.sql import Row

from millstream.spark.driver.shard_progress import ShardProgress


def count(shard, what, value, node="totals"):
    return Row(kind="count", node=node, shard=shard, split=what, value=value, payload=None)


def standing():
    made = ShardProgress()
    for row in (count(0, "watermark", 5), count(1, "watermark", 7), count(0, "watermark", 6)):
        made.take(row)
    slow = [["files/times", "b", 3_000_000, False], ["files/times", "a", 1_000_000, True]]
    payload = json.dumps(slow).encode()
    made.take(Row(kind="splits", node="totals", shard=0, split=None, value=None, payload=payload))
    return made


def test_the_last_report_of_each_shard_counts():
    assert sorted(standing().of("watermark")) == [6, 7]


def test_splits_come_with_those_that_are_farthest_behind_first():
    assert [(each.source, each.split, each.idle) for each in standing().splits()] == [
        ("files", "a", True),
        ("files", "b", False),
    ]


def test_a_copy_in_the_checkpoint_is_read_back_for_operators_that_are_still_there(tmp_path):
    made = standing()
    made.take(count(0, "watermark", 1, node="gone"))
    made.keep(str(tmp_path))
    kept = ShardProgress.kept_in(str(tmp_path), ["totals"])
    assert sorted(kept.of("watermark")) == [6, 7]
    assert kept.splits() == made.splits()


def test_a_copy_that_cannot_be_read_is_as_good_as_none(tmp_path):
    (tmp_path / "progress.json").write_text("{")
    assert ShardProgress.kept_in(str(tmp_path), ["totals"]).of("watermark") == []
