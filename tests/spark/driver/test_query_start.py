"""How a query is started: by what triggers, from which checkpoint, with which last stage."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import millstream as ms
from millstream.physical.plan import physical
from millstream.spark.driver import query_start
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.query_start import QueryStart

SCHEMA = "n int, at double"


class Writer:
    """Keeps what a query is started with."""

    def __init__(self):
        self.writeStream, self.set = self, {}

    def outputMode(self, mode):  # noqa: N802 - Spark's names
        return self._with(mode=mode)

    def queryName(self, name):  # noqa: N802
        return self._with(name=name)

    def option(self, name, value):
        return self._with(**{name: value})

    def trigger(self, **how):
        return self._with(**how)

    def foreachBatch(self, batch):  # noqa: N802
        return self._with(batch=batch)

    def start(self):
        return self.set

    def _with(self, **values):
        self.set |= values
        return self


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Starts a program; returns what the query was started with, and how it was lowered."""

    def start(pipeline, every=None, remote=False, topics=()):
        lowered = {}

        def lower(lowering, read, shuffle, apart):
            lowered.update(lowering=lowering, apart=apart)
            return SimpleNamespace(frame=Writer(), last="last")

        monkeypatch.setattr(query_start, "lower", lower)
        monkeypatch.setattr(query_start, "reader", lambda *given: None)
        checkpoint = Checkpoint("job", str(tmp_path), "run", [3, 4], None, fleeting=True)
        made = QueryStart(
            "job", physical(pipeline.sinks), None, checkpoint, every, dict(topics), remote
        )
        return made, made.start(print), SimpleNamespace(**lowered)

    return start


def files(idle=None):
    watermark = ms.bounded("5s", idle=idle)
    return ms.read_files("/data", "json", SCHEMA, "at", watermark, name="files")


def counted(stream):
    return stream.window(ms.fixed(10)).aggregate(n=ms.count()).collect("all")


def test_a_query_resumes_from_its_checkpoint_under_the_name_of_the_job(start, tmp_path):
    _, query, lowered = start(files().collect("all"))
    assert query == {
        "mode": "append",
        "name": "job",
        "checkpointLocation": f"{tmp_path}/spark",
        "batch": print,
    }
    assert (lowered.lowering.labels, lowered.lowering.run) == ([3, 4], "run")


@pytest.mark.parametrize(
    ("pipeline", "every", "trigger"),
    [
        (ms.from_rows([(1,)], "n int").collect("all"), "1 seconds", {"availableNow": True}),
        (counted(files()), None, {}),
        (counted(files()), "2 seconds", {"processingTime": "2 seconds"}),
        (counted(files(idle="1m")), None, {"processingTime": "500 milliseconds"}),
        (counted(files(idle="1m")), "2 seconds", {"processingTime": "2 seconds"}),
    ],
    ids=["it ends", "by data", "every", "by the clock", "by the clock every"],
)
def test_batches_begin_by_what_the_program_waits_for(start, pipeline, every, trigger):
    _, query, _ = start(pipeline, every)
    found = {name: query[name] for name in ("availableNow", "processingTime") if name in query}
    assert found == trigger


def test_the_last_stage_is_apart_at_a_server_and_where_tasks_do_not_know_their_batch(
    start, monkeypatch
):
    assert not start(counted(files()))[2].apart
    assert start(counted(files()), remote=True)[2].apart
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    assert start(counted(files()))[2].apart


def test_the_clock_is_announced_where_times_are_held_against_it(start):
    ahead = ms.bounded("5s", ahead="1h")
    judged = ms.read_files("/data", "json", SCHEMA, "at", ahead, name="files")
    assert start(counted(judged))[0].announces_clock
    assert not start(ms.from_rows([(1,)], "n int").collect("all"))[0].announces_clock
