"""Where a streaming job begins in its topics: found once, and kept until its first batch is done.

Spark asks a source for that again if the first batch is retried, and the end of a topic, or the
first record since an instant, may be another one by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyarrow import fs

from millstream.kafka.client.positions import BEGINNING
from millstream.spark.sources.kafka import Offsets, Topics
from millstream.spark.sources.kafka_source import as_json, from_json
from millstream.system.folders import Folder

STARTS = "starts.json"
"""The file, in the folder of a job's checkpoint."""


def starts_of(topics: Mapping[str, Topics], checkpoint: str) -> dict[str, Offsets]:
    """The offsets at which each source begins, by its name; of a job that is resumed, as before."""
    place = Folder.of("checkpoint", checkpoint)
    kept = kept_starts(place)
    new = {
        name: _of_spark(place, each) or each.offsets(each.source.start, BEGINNING)
        for name, each in topics.items()
        if name not in kept and not each.source.bounded
    }
    if new:
        _keep(place, {**kept, **new})
    return {**kept, **new}


def forget_start(topics: Topics, topic: str, checkpoint: str) -> None:
    """Lets a source begin at the beginning of a topic, where it was to begin elsewhere."""
    place, name = Folder.of("checkpoint", checkpoint), topics.source.name
    kept = kept_starts(place)
    starts = kept.get(name) or _of_spark(place, topics)
    if starts:
        left = {at: offset for at, offset in starts.items() if at[0] != topic}
        _keep(place, {**kept, name: left})


def kept_starts(place: Folder) -> dict[str, Offsets]:
    """What is kept in a checkpoint."""
    info = place.system.get_file_info(f"{place.root}/{STARTS}")
    if info.type == fs.FileType.NotFound:
        return {}
    return {name: from_json(each) for name, each in json.loads(place.read(STARTS)).items()}


def _keep(place: Folder, starts: Mapping[str, Offsets]) -> None:
    """Replaces what is kept; whoever is killed meanwhile leaves the one or the other."""
    text = json.dumps({name: as_json(each) for name, each in starts.items()}, indent=2)
    with place.create(f"{STARTS}.tmp") as stream:
        stream.write(text.encode())
    place.move(f"{STARTS}.tmp", to=STARTS)


def _of_spark(place: Folder, topics: Topics) -> Offsets:
    """What Spark's own source for Kafka has noted, in a checkpoint from when that was used."""
    selector = fs.FileSelector(f"{place.root}/spark/sources", allow_not_found=True)
    for source in place.system.get_file_info(selector):
        below = f"spark/sources/{source.base_name}"
        if "0" in place.names(below):
            note = place.read(f"{below}/0").decode(errors="replace").partition("\n")[2]
            if found := topics.places(note):
                return found
    return {}
