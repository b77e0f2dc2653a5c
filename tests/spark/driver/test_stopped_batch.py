"""A job that stops notes which batch it has not begun; one that starts forgets that."""

from __future__ import annotations

from millstream.sinks.fence import NO_FENCE, Fence
from millstream.spark.driver.ownership import Owner
from millstream.spark.driver.stopped_batch import (
    forget_untouched,
    note_untouched,
    untouched_batch,
)
from millstream.system.folders import Folder


def place_of(path):
    return Folder.of("totals", str(path), "checkpoint")


def test_a_batch_is_noted_and_forgotten(tmp_path):
    place = place_of(tmp_path)
    assert untouched_batch(place) is None
    note_untouched(str(tmp_path), 7, NO_FENCE)
    assert untouched_batch(place) == 7
    forget_untouched(place)
    assert untouched_batch(place) is None
    forget_untouched(place)


def test_a_damaged_note_is_none(tmp_path):
    (tmp_path / "untouched.json").write_text("{")
    assert untouched_batch(place_of(tmp_path)) is None


def test_a_job_that_was_overtaken_notes_nothing(tmp_path):
    owner = Owner.take("totals", str(tmp_path))
    old = Fence("totals", owner.fence.folder, owner.fence.number - 1, "other")
    note_untouched(str(tmp_path / "totals"), 7, old)
    assert untouched_batch(place_of(tmp_path / "totals")) is None
    note_untouched(str(tmp_path / "totals"), 7, owner.fence)
    assert untouched_batch(place_of(tmp_path / "totals")) == 7
    owner.release()
