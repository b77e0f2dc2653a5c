"""A batch that all tasks have written is committed sink by sink, by the owner alone."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from pyspark.sql import Row

from millstream.model.errors import RunError
from millstream.plan.targets import Target
from millstream.spark.batches import commits
from millstream.spark.batches.commits import Commits, written
from millstream.spark.worker.envelopes import ARROW, ENVELOPE
from millstream.spark.worker.python_stage import PythonStage


@dataclass(frozen=True)
class Somewhere(Target):
    """A target whose commits a test watches."""

    name: str = ""


class Fence:
    """An owner until a test says otherwise."""

    overtaken = False

    def check(self):
        if self.overtaken:
            raise RunError("MS351", "overtaken", fix="run one job")


@pytest.fixture
def made(monkeypatch):
    """What is committed, in order; a receipt ``b"bad"`` cannot be."""
    done: list[tuple] = []

    def committer(name):
        def commit(run, batch, receipts):
            if b"bad" in receipts:
                raise RunError("MS212", "a file is missing", fix="put it back")
            done.append((name, run, batch, receipts))

        return lambda fence, checkpoint: SimpleNamespace(commit=commit)

    monkeypatch.setattr(
        commits, "sink_of", lambda name, target: SimpleNamespace(committer=committer(name))
    )
    fence = Fence()
    return SimpleNamespace(
        done=done, fence=fence, commits=Commits("run", {"a": Somewhere(), "b": Somewhere()}, fence)
    )


def receipt(node, payload):
    return Row(kind="receipt", node=node, payload=bytearray(payload))


def test_each_sink_gets_its_receipts_and_one_without_any_is_committed_too(made):
    count = Row(kind="count", node="a", payload=None)
    elsewhere = receipt("elsewhere", b"3")
    made.commits.commit(4, [receipt("a", b"1"), count, elsewhere, receipt("a", b"2")])
    assert made.done == [("a", "run", 4, [b"1", b"2"]), ("b", "run", 4, [])]


def test_a_job_that_was_overtaken_commits_nothing_more(made):
    made.fence.overtaken = True
    with pytest.raises(RunError, match="MS351"):
        made.commits.commit(0, [receipt("a", b"1")])
    assert made.done == []


def test_a_commit_that_fails_because_a_successor_was_faster_says_so(made, monkeypatch):
    with pytest.raises(RunError, match="MS212"):
        made.commits.commit(0, [receipt("a", b"bad")])
    checks = iter([None, RunError("MS351", "overtaken", fix="run one job")])

    def check():
        if error := next(checks):
            raise error

    monkeypatch.setattr(made.fence, "check", check, raising=False)
    with pytest.raises(RunError, match="MS351"):
        made.commits.commit(0, [receipt("a", b"bad")])


class Frame:
    """A frame that keeps what it runs."""

    stage = None

    def mapInArrow(self, stage, schema):  # noqa: N802 - Spark's name
        assert schema == ENVELOPE
        self.stage = stage
        return self

    def collect(self):
        return ["rows"]


def test_the_last_stage_knows_the_number_of_its_batch():
    frame, last = Frame(), PythonStage(schema=ARROW)
    assert written(last, frame, 7) == ["rows"]
    assert frame.stage._batch == 7
    assert last.batch is None


def test_a_stage_that_the_shuffle_runs_is_not_run_again():
    frame = Frame()
    assert written(None, frame, 7) == ["rows"]
    assert frame.stage is None
