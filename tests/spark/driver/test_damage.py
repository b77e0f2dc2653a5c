"""A checkpoint of which a part is missing or damaged is refused, and the part is named."""

from __future__ import annotations

import json

import pytest

from millstream.engine.state.blobs import VERSION
from millstream.model.errors import RunError
from millstream.spark.driver.damage import PLAN, check_no_state, kept_plan
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
