"""The files of Spark's state name the number of partitions; a real rescaling reads them back."""

from __future__ import annotations

import json

import pytest

from millstream.model.errors import RunError
from millstream.spark.compat.offset_log import entry_of
from millstream.spark.compat.state_files import (
    PARTITIONS,
    partitions_in,
    set_partitions_of_batch,
    set_partitions_of_stage,
    stages_in,
)
from millstream.system.folders import Folder


@pytest.fixture
def place(tmp_path):
    for name in ("spark/state/0/0", "spark/state/0/1", "spark/state/10/0", "spark/offsets"):
        (tmp_path / name).mkdir(parents=True)
    return Folder.of("totals", str(tmp_path), "checkpoint")


def test_stages_and_partitions_are_found_by_number(place, tmp_path):
    (tmp_path / "spark/state/0/_metadata/v2").mkdir(parents=True)
    assert stages_in(place) == [0, 10]
    assert partitions_in(place, 0) == [0, 1]


def test_a_batch_gets_another_number_of_partitions_and_nothing_else(place, tmp_path):
    settings = {"batchTimestampMs": 5, "conf": {PARTITIONS: "2", "other": "x"}}
    file = tmp_path / "spark/offsets/3"
    file.write_text("\n".join(("v1", json.dumps(settings), '{"logOffset":1}', "-")))
    (tmp_path / "spark/offsets/.3.crc").write_text("checksum")
    set_partitions_of_batch(place, 3, entry_of(place, 3), 7)
    version, changed, *offsets = file.read_text().splitlines()
    assert (version, offsets) == ("v1", ['{"logOffset":1}', "-"])
    assert json.loads(changed) == {
        "batchTimestampMs": 5, "conf": {PARTITIONS: "7", "other": "x"}
    }  # fmt: skip
    assert not (tmp_path / "spark/offsets/.3.crc").exists()


def test_a_stage_gets_another_number_of_partitions(place, tmp_path):
    folder = tmp_path / "spark/state/0/_metadata/v2"
    folder.mkdir(parents=True)
    about = {"operatorInfo": {"operatorId": 0}, "stateStoreInfo": [{"numPartitions": 2}]}
    (folder / "0").write_text(f"v2\n{json.dumps(about)}")
    set_partitions_of_stage(place, 0, 5)
    version, text = (folder / "0").read_text().split("\n")
    assert version == "v2"
    assert json.loads(text)["stateStoreInfo"] == [{"numPartitions": 5}]


def test_files_of_another_spark_are_refused(place, tmp_path):
    (tmp_path / "spark/offsets/3").write_text("v1\n{}\n-")
    with pytest.raises(RunError, match="MS222"):
        set_partitions_of_batch(place, 3, entry_of(place, 3), 7)
    with pytest.raises(RunError, match="MS222"):
        set_partitions_of_stage(place, 10, 7)
