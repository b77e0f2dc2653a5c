"""Two processes on one checkpoint: the second is refused, or takes over and loses no row."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark import cloudpickle

import millstream as ms
import overtaken
from families import Family
from waiting import until

A_WHILE = 240.0  # seconds; a dozen are enough where nothing else runs
ROWS = 10


def put(folder: Path, *numbers: int) -> None:
    (folder / "input").mkdir(exist_ok=True)
    for number in numbers:
        file = folder / f"{number}.json"
        rows = range(number * ROWS, number * ROWS + ROWS)
        file.write_text("\n".join(json.dumps({"n": n}) for n in rows))
        os.utime(file, (1_000_000_000 + number,) * 2)
        file.rename(folder / "input" / file.name)


def written(folder: Path) -> list[int]:
    lines = [line for f in folder.glob("out/part-*") for line in f.read_text().splitlines()]
    return sorted(json.loads(line)["n"] for line in lines)


@pytest.fixture
def run(spark, tmp_path):
    # Workers of this session have not got the folder of the program on their path.
    cloudpickle.register_pickle_by_value(overtaken)
    program = overtaken.program(tmp_path, stands_still=False)

    def run(**how) -> ms.Job:
        return program.run("copies", checkpoint=tmp_path / "checkpoint", spark=spark, **how)

    yield run
    cloudpickle.unregister_pickle_by_value(overtaken)


def test_a_job_that_stood_still_and_was_overtaken_removes_nothing_of_its_successor(run, tmp_path):
    put(tmp_path, 0, 1, 2)
    run().process_all().stop()
    assert written(tmp_path) == list(range(3 * ROWS))
    put(tmp_path, 3, 4, 5)
    log, script = tmp_path / "log", Path(overtaken.__file__)
    with Family(script, tmp_path, log=log, scratch=tmp_path / "scratch") as old:
        until(lambda: (tmp_path / "standing").exists() or old.process.poll() is not None)
        assert old.process.poll() is None, old.printed()
        with pytest.raises(ms.MillstreamError) as refused:
            run()
        assert refused.value.code == "MS209"
        assert f"process {old.process.pid} (overtaken.py), since " in refused.value.what
        run(take_over=True).process_all().stop()
        assert written(tmp_path) == list(range(6 * ROWS))
        (tmp_path / "go").touch()
        assert old.ended(A_WHILE) == 1, old.printed()
    assert "MS351: job 'copies' no longer owns its checkpoint" in old.printed()
    assert written(tmp_path) == list(range(6 * ROWS))
    put(tmp_path, 6)
    run().process_all().stop()  # it was released
    assert written(tmp_path) == list(range(7 * ROWS))
    assert [f for f in tmp_path.glob("out/_millstream/**/*") if f.is_file()] == []


def test_one_name_is_for_one_job_at_a_time(run, spark, tmp_path):
    put(tmp_path, 0)
    job = run()
    for take_over in (False, True):
        with pytest.raises(ms.MillstreamError, match="MS209: job 'copies' runs already, in this "):
            run(take_over=take_over)
    with pytest.raises(ms.MillstreamError, match="MS209"):  # without a checkpoint, too
        overtaken.program(tmp_path, stands_still=False).run("copies", spark=spark)
    job.process_all().stop()
    run().stop()
    assert written(tmp_path) == list(range(ROWS))
