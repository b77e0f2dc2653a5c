"""The whole result table of a sink: kept by the driver, logged in the checkpoint, and resumed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.model.errors import RunError
from millstream.plan.targets import Console, Each, Memory, Table
from millstream.sinks.fence import Fence
from millstream.sinks.kinds import sink_of
from millstream.sinks.memory import Rows

BY_TEAM = Table(("team",), None)
RUN = "a1b2c3d4"


def receipt(*rows: tuple, slice: int = 0) -> bytes:
    table = pa.table({"team": [row[0] for row in rows], "n": [row[1] for row in rows]})
    return Rows(slice, len(rows), table).packed()


@pytest.fixture
def opened(tmp_path):
    def opened(target=None):
        return sink_of("totals", target or Memory(BY_TEAM)).committer(Fence("job"), str(tmp_path))

    return opened


@pytest.fixture
def committed(tmp_path):
    """Notes a batch as committed, as Spark does."""

    def committed(batch: int) -> None:
        commits = tmp_path / "spark" / "commits"
        commits.mkdir(parents=True, exist_ok=True)
        (commits / str(batch)).touch()

    return committed


def test_a_resumed_table_is_whole_whether_or_not_spark_has_committed_the_last_batch(
    opened, committed
):
    first = opened()
    first.commit(RUN, 0, [receipt(("red", 1), ("blue", 2))])
    committed(0)
    first.commit(RUN, 1, [receipt(("red", 5)), b""])
    wanted = [{"team": "red", "n": 5}, {"team": "blue", "n": 2}]
    assert first.rows() == wanted
    again = opened()
    assert again.rows() == wanted
    again.commit(RUN, 1, [receipt(("red", 5))])  # the batch is replayed
    committed(1)
    assert again.rows() == opened().rows() == wanted


def test_a_batch_without_rows_is_logged_too_and_shows_nothing(opened, committed, tmp_path, capsys):
    committer = opened(Console(20, table=BY_TEAM))
    committer.commit(RUN, 0, [receipt(("red", 1))])
    assert "red" in capsys.readouterr().out
    committer.commit(RUN, 1, [b""])
    committed(1)
    assert capsys.readouterr().out == ""
    assert opened().rows() == [{"team": "red", "n": 1}]


def test_now_and_then_the_whole_table_replaces_the_log(opened, committed, tmp_path):
    committer = opened()
    for batch in range(203):
        committer.commit(RUN, batch, [receipt((f"team {batch % 7}", batch))])
        committed(batch)
    assert sorted(opened().rows(), key=str) == sorted(committer.rows(), key=str)
    assert {row["n"] for row in committer.rows()} == set(range(196, 203))
    names = sorted(file.name for file in (tmp_path / "tables" / "totals").iterdir())
    assert names == [
        "0000000199-whole.arrow",
        "0000000199.arrow",
        *(f"0000000{n}.arrow" for n in (200, 201, 202)),
    ]


def test_retractions_take_rows_out_of_the_table(opened):
    table = pa.table({"team": ["red", "red", "blue"], "kind": ["+", "-", "+"]})
    committer = opened(Memory(Table(("team",), "kind")))
    committer.commit(RUN, 0, [Rows(0, 3, table).packed()])
    assert committer.rows() == [{"team": "blue", "kind": "+"}]


def test_a_sink_that_was_not_there_from_the_beginning_is_an_error(opened, committed):
    committed(3)
    with pytest.raises(RunError, match="MS224 in step 'totals'.*'job' has 4 batches") as caught:
        opened()
    assert "another name or checkpoint" in caught.value.fix


def test_a_sink_that_was_left_out_for_some_batches_is_an_error(opened, committed):
    committer = opened()
    for batch in (0, 1, 3):
        committer.commit(RUN, batch, [receipt(("red", batch))])
        committed(batch)
    with pytest.raises(RunError, match="MS224"):
        opened()


def test_rows_with_other_columns_than_the_table_are_errors(opened, committed):
    opened().commit(RUN, 0, [receipt(("red", 1))])
    committed(0)
    other = Rows(0, 1, pa.table({"team": ["red"], "total": [1]})).packed()
    with pytest.raises(RunError, match="MS224 in step 'totals'.*other columns"):
        opened().commit(RUN, 1, [other])


def test_a_function_gets_the_whole_table_and_its_errors_have_a_code(opened):
    calls = []

    def save(rows, batch, slice):
        calls.append((rows, batch, slice))
        if batch == 1:
            raise KeyError("team")

    committer = opened(Each(save, BY_TEAM))
    committer.commit(RUN, 0, [receipt(("red", 1))])
    with pytest.raises(RunError, match="MS201 in step 'totals': .*save failed on batch 1, slice 0"):
        committer.commit(RUN, 1, [receipt(("blue", 2))])
    assert calls == [
        ([{"team": "red", "n": 1}], 0, 0),
        ([{"team": "red", "n": 1}, {"team": "blue", "n": 2}], 1, 0),
    ]
