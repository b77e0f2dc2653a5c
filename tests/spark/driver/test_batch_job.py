"""A batch query: checked, lowered, written and settled as batch 0, in that order."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import millstream as ms
from millstream.model.errors import KafkaError, RunError
from millstream.physical.plan import physical
from millstream.spark.driver import batch_job
from millstream.spark.driver.batch_job import run_batch

PLAN = physical(ms.from_rows([(1,)], "n int").map(lambda row: row, "n int").collect("all").sinks)


@pytest.fixture
def done(monkeypatch):
    """What is done, in order; a test may let a part of it fail."""
    made = SimpleNamespace(steps=[], error=None, changed=False)

    def lower(lowering, read, shuffle):
        made.lowering = lowering
        made.steps.append("lowered")
        return SimpleNamespace(last="last", frame="frame")

    def written(last, frame, batch):
        made.steps.append(f"written {last} {frame} {batch}")
        if made.error is not None:
            raise made.error
        return ["rows"]

    def check_unchanged(topics):
        made.steps.append(f"checked {topics}")
        if made.changed:
            raise KafkaError("MS350", "created again", fix="run it again")

    monkeypatch.setattr(batch_job, "partitions_of", lambda spark: 1)
    monkeypatch.setattr(batch_job, "reader", lambda *given: None)
    monkeypatch.setattr(batch_job, "lower", lower)
    monkeypatch.setattr(batch_job, "written", written)
    monkeypatch.setattr(batch_job, "check_unchanged", check_unchanged)
    ledger = SimpleNamespace(
        run="a1b2c3d4", settle=lambda batch, rows, started: made.steps.append(f"settled {batch}")
    )
    made.run = lambda: run_batch(PLAN, None, ledger, {"scores": "topics"})
    return made


def test_topics_are_compared_before_the_batch_counts(done):
    done.run()
    assert done.steps == ["lowered", "written last frame 0", "checked topics", "settled 0"]
    assert (done.lowering.only.batch, done.lowering.ending) == (0, False)
    assert done.lowering.only.clock > 1_700_000_000_000_000


def test_a_topic_that_was_created_again_meanwhile_settles_nothing(done):
    done.changed = True
    with pytest.raises(KafkaError, match="MS350"):
        done.run()
    assert done.steps[-1] == "checked topics"


def test_a_process_that_dies_ends_a_batch_which_has_nothing_to_resume_from(done):
    done.error = RuntimeError("Python worker exited unexpectedly (crashed)")
    with pytest.raises(RunError, match="MS223 in step 'map-1': a Python worker has died"):
        done.run()
