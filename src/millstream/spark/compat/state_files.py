"""The files in which Spark keeps the state of a query, and how many partitions they are for.

    spark/state/<stage>/<partition>/<version>.zip    a snapshot, which names files in SSTs/
    spark/state/<stage>/_metadata/v2/<batch>         what the stage's state is, as JSON

The state after a batch has the batch's number and one as its version. A snapshot does not contain
its version: only its name does.
"""

from __future__ import annotations

import json
from typing import Any

from millstream.spark.compat.moved import moved
from millstream.spark.compat.offset_log import OFFSETS, Entry
from millstream.system.folders import Folder

STATE = "spark/state"
PARTITIONS = "spark.sql.shuffle.partitions"
SNAPSHOTS_ONLY = {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
}
"""Settings with which each version of the state is a snapshot."""


def stages_in(place: Folder) -> list[int]:
    """The numbers of the stages that have state in a job's checkpoint."""
    return sorted(int(name) for name in place.folders(STATE) if name.isdecimal())


def partitions_in(place: Folder, stage: int) -> list[int]:
    """The partitions that a stage has state in."""
    return sorted(int(n) for n in place.folders(f"{STATE}/{stage}") if n.isdecimal())


def snapshot_name(version: int) -> str:
    """The name of the snapshot of a version."""
    return f"{version}.zip"


def set_partitions_of_batch(place: Folder, batch: int, entry: Entry, partitions: int) -> None:
    """Notes in Spark's log of offsets that the query has so many partitions from a batch on."""
    settings = json.loads(entry.settings)
    if PARTITIONS not in settings.get("conf", {}):
        raise moved(f"{PARTITIONS} in the offset log of a checkpoint")
    settings["conf"][PARTITIONS] = str(partitions)
    changed = Entry(entry.version, json.dumps(settings, separators=(",", ":")), entry.offsets)
    replace_file(place, f"{OFFSETS}/{batch}", str(changed).encode())


def set_partitions_of_stage(place: Folder, stage: int, partitions: int) -> None:
    """Notes in the metadata of a stage's state that it has so many partitions."""
    folder = f"{STATE}/{stage}/_metadata/v2"
    names = [name for name in place.names(folder) if name.isdecimal()]
    if not names:
        raise moved(f"{folder} in a checkpoint")
    for name in names:
        version, *lines = place.read(f"{folder}/{name}").decode().splitlines()
        about: dict[str, Any] = json.loads("\n".join(lines))
        if "stateStoreInfo" not in about:
            raise moved(f"stateStoreInfo in {folder} of a checkpoint")
        for store in about["stateStoreInfo"]:
            store["numPartitions"] = partitions
        text = "\n".join((version, json.dumps(about, separators=(",", ":"))))
        replace_file(place, f"{folder}/{name}", text.encode())


def replace_file(place: Folder, name: str, content: bytes) -> None:
    """Writes a file of Spark anew, without the checksum that was of its old content."""
    folder, _, file = name.rpartition("/")
    place.remove(f"{folder}/.{file}.crc")
    with place.create(name) as stream:
        stream.write(content)
