"""Watermarks that are put back: in which batches, how far, and of what."""

from __future__ import annotations

import json

import polars as pl
import pytest

import millstream as ms
from millstream.engine.operator import ROWS
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState
from millstream.model.errors import RunError
from millstream.model.watermarks import Silence
from millstream.model.windowing import checked_windowing
from millstream.physical.operators.grouping import GroupingSpec
from millstream.spark.driver.ownership import Owner
from millstream.spark.driver.repairs import repair, repairs_in
from millstream.spark.worker.batch_clock import Moment
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.repair import Repair
from millstream.spark.worker.stateful_stage import Stage

COUNTS = GroupingSpec(
    name="counts",
    windowing=checked_windowing(ms.fixed("10us")),
    keys={"rows": ()},
    aggregates=(("n", ms.count(), False, False),),
    takes_retractions=False,
    tags=frozenset(),
    feeds_operators=True,
    origins={"rows/at": Silence()},
    followed=frozenset({"rows/at"}),
)


class Job:
    """One shard, whose state is JSON and blobs between batches, as it is on Spark."""

    def __init__(self, monkeypatch, *repairs):
        self.stage = Stage([COUNTS], [0], frozenset(), run_id="run", repairs=repairs)
        self.blobs, self.document = InMemoryStore(), None
        self.monkeypatch = monkeypatch

    def batch(self, number, *times):
        """The rows that are late, and the output watermark."""
        moment = Moment(number, 0)
        self.monkeypatch.setattr(
            "millstream.spark.worker.stateful_stage.of_this_task", lambda run: moment
        )
        exchange = COUNTS.exchange(ROWS, 1)
        rows = pl.DataFrame({"time": times, "sign": [1] * len(times)})
        given = [Envelope(0, "rows/at", "mark", split="", value=max(times))]
        for _, arrival in [*exchange.take(rows), *exchange.rest()]:
            bucket = arrival.bucket or (None, None)
            given.append(Envelope(0, "counts", "arrival", *bucket, arrival.rows))
            given[-1].payload = arrival.blob
        state = ShardState(self.blobs, self.document)
        made = list(self.stage.run(0, given, state, 0))
        self.document = state.document.to_json()
        (mark,) = [each.value for each in made if each.kind == "mark"]
        late = sum(each.value for each in made if each.kind == "count" and each.split == "late")
        return late, mark


def test_without_a_repair_everything_after_a_wrong_time_is_late(monkeypatch):
    job = Job(monkeypatch)
    assert job.batch(0, 1, 999_999) == (0, 999_999)
    assert job.batch(1, 12) == (1, 999_999)


def test_a_repair_is_made_once_in_the_first_batch_that_begins_after_it(monkeypatch):
    job = Job(monkeypatch, Repair(2, 10))
    assert job.batch(0, 1, 999_999) == (0, 999_999)
    assert job.batch(1, 12) == (1, 999_999), "it was begun before the repair"
    before = dict(job.blobs), job.document
    assert job.batch(2, 13) == (0, 13)
    after = dict(job.blobs), job.document
    job.blobs, job.document = InMemoryStore(before[0]), before[1]
    assert job.batch(2, 13) == (0, 13), "and again when the batch is retried"
    assert (dict(job.blobs), job.document) == after
    assert job.batch(3, 35, 14) == (0, 35)
    assert job.batch(4, 15) == (1, 35), "what is put back once is not put back again"


def test_a_shard_that_was_quiet_makes_all_repairs_that_it_has_missed(monkeypatch):
    job = Job(monkeypatch, Repair(2, 50), Repair(5, 10))
    job.batch(0, 999_999)
    assert job.batch(7, 12) == (0, 12)
    assert json.loads(job.document)["repaired"] == 5


def test_a_repair_is_for_the_first_batch_that_spark_has_not_begun(tmp_path):
    offsets = tmp_path / "job" / "spark" / "offsets"
    offsets.mkdir(parents=True)
    for name in ("8", "9", "10", ".10.crc"):
        (offsets / name).write_text("v1")
    (tmp_path / "job" / "plan.json").write_text("{}")
    assert repairs_in(str(tmp_path / "job")) == ()
    assert repair(str(tmp_path), "job", 5) == Repair(11, 5)
    assert repair(str(tmp_path), "job", 3) == Repair(11, 3)
    assert repairs_in(str(tmp_path / "job")) == (Repair(11, 3),), "the last word counts"
    (offsets / "11").write_text("v1")
    assert repair(str(tmp_path), "job", 7) == Repair(12, 7)
    assert repairs_in(str(tmp_path / "job")) == (Repair(11, 3), Repair(12, 7))


def test_a_job_that_runs_is_not_repaired(tmp_path):
    offsets = tmp_path / "job" / "spark" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1")
    (tmp_path / "job" / "plan.json").write_text("{}")
    owner = Owner.take("job", str(tmp_path))
    try:
        with pytest.raises(RunError, match="MS209"):
            repair(str(tmp_path), "job", 5)
    finally:
        owner.release()


def test_where_no_job_has_run_there_is_nothing_to_repair(tmp_path):
    with pytest.raises(RunError, match=r"MS217: there is nothing to repair in .*job'") as error:
        repair(str(tmp_path), "job", 5)
    assert "name the folder that run(…, checkpoint=…) was given" in error.value.fix
