"""A user's function gets the rows of each slice once, and its failure is reported."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from faulty import FAULTS
from millstream.model.errors import RunError
from millstream.plan.targets import Each
from millstream.sinks.kinds import sink_of
from millstream.sinks.slices import Slice

SLICE = Slice("a1b2c3d4", batch=7, number=2, attempt=11)


def test_the_function_gets_the_rows_of_a_slice_in_one_call():
    calls = []
    writer = sink_of("save", Each(lambda *given: calls.append(given))).writer(SLICE)
    at = datetime(2024, 5, 1, tzinfo=UTC)
    writer.write(pa.table({"n": [1, 2]}))
    writer.write(pa.table({"n": [3]}))
    assert calls == []
    assert writer.close() == b""
    assert calls == [([{"n": 1}, {"n": 2}, {"n": 3}], 7, 2)]

    writer = sink_of("save", Each(lambda *given: calls.append(given))).writer(SLICE)
    writer.write(pa.table({"at": pa.array([at], pa.timestamp("us", "UTC"))}))
    writer.close()
    assert calls[1] == ([{"at": at}], 7, 2)


@pytest.mark.parametrize("tables", [[], [pa.table({"n": pa.array([], pa.int64())})]])
def test_the_function_is_not_called_without_rows(tables):
    writer = sink_of("save", Each(lambda *given: pytest.fail("called"))).writer(SLICE)
    for table in tables:
        writer.write(table)
    assert writer.close() == b""


def test_the_function_is_not_called_after_an_abort():
    writer = sink_of("save", Each(lambda *given: pytest.fail("called"))).writer(SLICE)
    writer.write(pa.table({"n": [1]}))
    writer.abort()


def test_a_failure_names_the_sink_the_function_and_the_slice():
    def save(rows, batch, slice):
        raise KeyError("user")

    writer = sink_of("store", Each(save)).writer(SLICE)
    writer.write(pa.table({"n": [1, 2]}))
    with pytest.raises(RunError) as caught:
        writer.close()
    assert str(caught.value) == (
        "MS201 in step 'store': save failed on batch 7, slice 2 (2 rows): KeyError: 'user'\n"
        "  What to do: fix it, then run the job again: with a checkpoint, it resumes after the "
        "last committed batch\n"
        "  More: millstream help MS201"
    )
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("error", [FAULTS["exit"][0], FAULTS["text"][0], FAULTS["huge"][0]])
def test_a_function_may_fail_in_any_way(error):
    def save(rows, batch, slice):
        raise error

    writer = sink_of("store", Each(save)).writer(SLICE)
    writer.write(pa.table({"n": [1]}))
    with pytest.raises(RunError, match=f"MS201 in step 'store': .*{type(error).__name__}"):
        writer.close()


def test_there_is_nothing_to_commit():
    sink_of("save", Each(print)).committer().commit("a1b2c3d4", 7, [b"", b""])
