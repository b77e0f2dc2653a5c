"""A checkpoint of which a part is missing or damaged is refused, and the part is named."""

from __future__ import annotations

import json

import pytest

import millstream as ms
from millstream.engine.state.blobs import VERSION
from millstream.model.errors import RunError
from millstream.plan.nodes import FrameSource
from millstream.spark.driver.damage import PLAN, check_logs, check_no_state, kept_plan
from millstream.system.folders import Folder

WHOLE = {
    "version": VERSION,
    "run": "a1b2c3d4",
    "labels": [0, 1],
    "plan": ["rows"],
    "file_tasks": None,
}


def checkpoint(tmp_path, text):
    (tmp_path / PLAN).write_text(text)
    return Folder.of("checkpoint", str(tmp_path))


def test_a_plan_that_is_whole_is_read(tmp_path):
    assert kept_plan(checkpoint(tmp_path, json.dumps(WHOLE))) == WHOLE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        (json.dumps({**WHOLE, "labels": []}), "has a 'labels' that is none"),
        (json.dumps({k: v for k, v in WHOLE.items() if k != "run"}), "has no 'run'"),
    ],
)
def test_a_plan_that_is_damaged_says_how(tmp_path, text, message):
    with pytest.raises(RunError, match=f"MS210.*{message}"):
        kept_plan(checkpoint(tmp_path, text))


def test_state_without_a_plan_is_refused(tmp_path):
    place = Folder.of("checkpoint", str(tmp_path))
    check_no_state(place)
    (tmp_path / "spark" / "state").mkdir(parents=True)
    with pytest.raises(RunError, match=f"MS210.*no {PLAN}"):
        check_no_state(place)


def test_a_checkpoint_of_another_format_is_named_before_anything_else(tmp_path):
    (tmp_path / "plan.json").write_text('{"version": 3, "packing": null}')
    with pytest.raises(RunError, match=f"MS207: .* is of format 3, where {VERSION} is known"):
        kept_plan(Folder.of("job", str(tmp_path), "checkpoint"))


def begun(tmp_path, *sources):
    """A checkpoint of a job that has begun a batch, with notes of these sources."""
    for file, text in {
        "spark/metadata": "{}",
        "spark/offsets/0": 'v1\n{"batchTimestampMs":1}\n-',
        **{f"spark/sources/{number}/0": "v1" for number in sources},
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return Folder.of("checkpoint", str(tmp_path))


FILES = ms.read_files("/data", "json", "n int").node
SOCKET = ms.read_socket("localhost", 9999).node
STREAM = FrameSource("frame", FILES.schema, bounded=False, split=None, frame=None)


@pytest.mark.parametrize(
    ("there", "sources", "missing"),
    [
        ((), [FILES, FILES], "spark/sources"),
        ((0,), [FILES, FILES], "spark/sources/1"),
        ((1,), [FILES, FILES], "spark/sources/0"),
    ],
)
def test_notes_of_a_source_that_are_missing_are_named(tmp_path, there, sources, missing):
    with pytest.raises(RunError, match=f"MS210.*damaged: {missing} is missing"):
        check_logs(begun(tmp_path, *there), sources)


@pytest.mark.parametrize(
    ("there", "sources"),
    [
        ((0, 1), [FILES, FILES]),
        ((1,), [SOCKET, FILES]),
        ((), [STREAM, FILES]),
    ],
)
def test_sources_of_which_spark_notes_nothing_need_no_notes(tmp_path, there, sources):
    check_logs(begun(tmp_path, *there), sources)


def test_a_job_that_has_begun_no_batch_needs_none_either(tmp_path):
    check_logs(Folder.of("checkpoint", str(tmp_path)), [FILES])
