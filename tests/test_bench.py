"""The benchmark runs, and sees answers that are wrong. What it measures is no matter of tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def a_run(folder: Path, updates: bool = False):
    """A contender that has written the truth about three small batches."""
    from benchmarks.answers import truth
    from benchmarks.inputs import windowed
    from benchmarks.spec import Spec

    spec = Spec("millstream", str(folder / "run"), window_seconds=10, updates=updates)
    fed = windowed(folder, keys=10, rows=500, batches=3)
    Path(spec.output).mkdir(parents=True)
    write(truth(spec, fed), spec.output)
    return spec, fed


def write(rows: pl.DataFrame, output: str) -> None:
    window = pl.struct(start=pl.from_epoch("start", "s"))
    rows.select("key", "n", "s", window.alias("window")).write_parquet(f"{output}/part-0.parquet")


def test_each_contender_writes_the_truth(tmp_path):
    figures = tmp_path / "figures.json"
    asked = ["--quick", "--only", "keys-1k", "--against", "rocksdb", "--json", str(figures)]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", *asked], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "200 keys, final panes" in ran.stdout
    (result,) = json.loads(figures.read_text())["results"]
    # 200 keys; 50 s of events, of which the last windows stay open. Spark closes a batch later.
    assert result["rows written"] == {"millstream": 800, "rocksdb": 400}


@pytest.mark.parametrize("updates", [False, True])
def test_the_truth_is_what_plain_counting_finds(tmp_path, updates):
    from benchmarks.answers import check, written

    spec, fed = a_run(tmp_path, updates)
    results: dict[tuple[int, int], tuple[int, int]] = {}
    expected = []
    for batch in fed:
        touched = {}
        for file in batch.files:
            for row in pl.read_parquet(file).iter_rows(named=True):
                second = int(row["ts"].timestamp())
                at = (second - second % 10, row["key"])
                n, s = results.get(at, (0, 0))
                results[at] = touched[at] = (n + 1, s + row["price"])
        expected += [(*at, *result) for at, result in touched.items()]
    if not updates:
        newest = max(second for second, _ in results)
        # Events go on for 77 s: with the watermark at 72, all windows but the last have ended.
        expected = [(*at, *result) for at, result in results.items() if at[0] < newest]
    assert check(spec, fed) == len(expected)
    assert sorted(written(Path(spec.output)).rows()) == sorted(expected)


def test_a_wrong_answer_is_reported_with_its_window_and_its_key(tmp_path):
    from benchmarks.answers import WrongAnswerError, check, written

    spec, fed = a_run(tmp_path)
    rows = written(Path(spec.output)).sort("start", "key")
    wrong = rows.with_columns(s=pl.col("s") + (pl.int_range(pl.len()) == 0))
    write(wrong, spec.output)
    first = rows.row(0, named=True)
    with pytest.raises(WrongAnswerError) as error:
        check(spec, fed)
    message = str(error.value)
    assert message.startswith("Millstream wrote")
    assert f"{first['start']} ┆ {first['key']}" in message
    assert "(1 in all)" in message


def test_an_unknown_measurement_is_an_error():
    asked = [sys.executable, "-m", "benchmarks", "--only", "keys-2k"]
    ran = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "no measurement 'keys-2k'; there are keys-1k, " in ran.stderr


def test_the_truth_of_windows_that_overlap_is_what_plain_counting_finds(tmp_path):
    from benchmarks.answers import truth
    from benchmarks.inputs import sliding
    from benchmarks.spec import Spec

    spec = Spec("millstream", str(tmp_path / "run"), window_seconds=3600, slide_seconds=60)
    fed = sliding(tmp_path, keys=3, rows=300, batches=3)
    results: dict[tuple[int, int], tuple[int, int]] = {}
    newest = 0.0
    for file in (file for batch in fed for file in batch.files):
        for row in pl.read_parquet(file).iter_rows(named=True):
            time = row["ts"].timestamp()
            last = int(time) // 60 * 60
            for start in range(last - 3540, last + 60, 60):
                n, s = results.get((start, row["key"]), (0, 0))
                results[start, row["key"]] = n + 1, s + row["price"]
            newest = max(newest, time)
    expected = [(*at, *sums) for at, sums in results.items() if at[0] + 3600 <= newest - 5]
    assert sorted(truth(spec, fed).rows()) == sorted(expected)


@pytest.mark.parametrize("program", ["interval_join", "window_join", "temporal_join"])
@pytest.mark.parametrize("engine", ["millstream", "rocksdb"])
def test_the_truth_of_joins_is_what_two_loops_find(tmp_path, program, engine):
    from benchmarks.answers import WrongAnswerError, check
    from benchmarks.inputs import windowed
    from benchmarks.spec import Spec

    spec = Spec(engine, str(tmp_path / "run"), window_seconds=10, program=program)
    fed = windowed(tmp_path, keys=5, rows=200, batches=3)
    rows = [
        (row["key"], row["price"], row["ts"].timestamp())
        for file in (file for batch in fed for file in batch.files)
        for row in pl.read_parquet(file).iter_rows(named=True)
    ]
    passed = max(time for _, _, time in rows) - 5
    match program:
        case "interval_join":
            meets = [(a, n) for a, _, s in rows for b, n, t in rows if a == b and 0 <= t - s <= 2]
        case "window_join":
            until = passed if engine == "millstream" else passed + 100
            meets = [
                (a, n)
                for a, _, s in rows
                for b, n, t in rows
                if a == b and s // 10 == t // 10 and s // 10 * 10 + 10 <= until
            ]
        case _:  # the newest version of a row is the row itself
            meets = [(key, price) for key, price, time in rows if time < passed]
    Path(spec.output).mkdir(parents=True)
    made = pl.DataFrame(meets, schema=["key", "n"], orient="row")
    made.write_parquet(f"{spec.output}/part-0.parquet")
    assert check(spec, fed) == len(meets) > 0
    made[1:].write_parquet(f"{spec.output}/part-0.parquet")
    with pytest.raises(WrongAnswerError):
        check(spec, fed)
