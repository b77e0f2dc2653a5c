"""Finds checkpoints of which a part is missing or damaged, before Spark or the job trips over it.

A checkpoint without its plan would be taken for a new one: the job would get a new id, by which its
sinks recognise nothing that it has written before, and its state would never be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millstream.engine.state.blobs import READABLE, VERSION
from millstream.model.errors import RunError
from millstream.plan.nodes import FrameSource, KafkaSource, SocketSource, Source
from millstream.spark.compat.offset_log import COMMITS, OFFSETS, is_entry, last_batch
from millstream.spark.sources.kafka_starts import STARTS
from millstream.system.folders import Folder

PLAN = "plan.json"
_WHAT: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: isinstance(value, int),
    "run": lambda value: isinstance(value, str) and len(value) >= 8,
    "labels": lambda value: _is_list(value, int) and bool(value),
    "plan": lambda value: _is_list(value, str),
    "file_tasks": lambda value: value is None or (isinstance(value, dict) and _is_texts(value)),
}
"""What the plan keeps, and what each of that must be."""


def kept_plan(place: Folder) -> dict[str, Any]:
    """What the checkpoint keeps of the job and its plan.

    MS207 if it is of another format, which may keep other things; MS210 if it is not whole.
    """
    try:
        kept = json.loads(place.read(PLAN))
    except ValueError as error:  # no JSON, or no text at all
        raise _damaged(place, PLAN, f"is no JSON: {error}") from error
    if not isinstance(kept, dict):
        raise _damaged(place, PLAN, "is no JSON object")
    for name, is_right in _WHAT.items():
        if name not in kept:
            raise _damaged(place, PLAN, f"has no {name!r}")
        if not is_right(kept[name]):
            raise _damaged(place, PLAN, f"has a {name!r} that is none: {kept[name]!r}")
        if name == "version" and kept[name] not in READABLE:
            raise _of_another_format(place, kept[name])
    return kept


def check_no_state(place: Folder) -> None:
    """MS210: there is no plan, but Spark has kept something for the job."""
    if place.names("spark") or place.folders("spark"):
        raise RunError(
            "MS210",
            f"the checkpoint {place.path!r} has state of Spark, but no {PLAN}: nothing says which "
            "job the state is of, or what that job has written",
            fix=f"put {PLAN} back from a copy of the checkpoint, or give the job another name or "
            "checkpoint to start over",
        )


def check_logs(place: Folder, sources: Iterable[Source]) -> None:
    """MS210: the newest of what Spark has noted of the job cannot be read, or is gone."""
    _check_log(place, "spark/metadata", _is_object)
    begun, committed = last_batch(place, OFFSETS), last_batch(place, COMMITS)
    for log, newest in ((OFFSETS, begun), (COMMITS, committed)):
        if newest is not None:
            _check_log(place, f"{log}/{newest}", is_entry)
    if committed is not None and (begun is None or committed > begun):
        # Spark notes a batch before it begins.
        raise _damaged(place, f"{OFFSETS}/{committed}", "is missing")
    if begun is None:
        return
    if "metadata" not in place.names("spark"):
        raise _damaged(place, "spark/metadata", "is missing")
    _check_starts(place, sources, first=committed is None)
    there = place.folders("spark/sources")
    for number in _noted_sources(sources):
        if str(number) not in there:
            name = f"spark/sources/{number}" if there else "spark/sources"
            raise _damaged(place, name, "is missing")


def _check_starts(place: Folder, sources: Iterable[Source], first: bool) -> None:
    """Checks what the job has noted of where topics begin, of which its first batch has need."""
    if not any(isinstance(source, KafkaSource) and not source.bounded for source in sources):
        return
    _check_log(place, STARTS, _is_object)
    if first and STARTS not in place.names() and not place.folders("spark/sources"):
        raise _damaged(place, STARTS, "is missing")


def _noted_sources(sources: Iterable[Source]) -> Iterator[int]:
    """The numbers of sources of which Spark notes more than offsets: where they begin, or files.

    Of sockets it does not, and of topics the job itself does. A stream of the user's own may have
    any number of sources, so that the numbers of those after it are not known.
    """
    for number, source in enumerate(sources):
        if isinstance(source, FrameSource) and not source.bounded:
            return
        of_topics = isinstance(source, KafkaSource) and not source.bounded
        if not of_topics and not isinstance(source, SocketSource):
            yield number


def _check_log(place: Folder, name: str, is_right: Callable[[str], bool]) -> None:
    folder, _, file = name.rpartition("/")
    if file not in place.names(folder):
        return  # the job was killed before its first batch
    try:
        right = is_right(place.read(name).decode())
    except ValueError:
        right = False
    if not right:
        raise _damaged(place, name, "is empty or cut off")


def _is_object(text: str) -> bool:
    """An object of JSON, such as Spark's id of the query."""
    return isinstance(json.loads(text), dict)


def _is_list(value: Any, of: type) -> bool:
    return isinstance(value, list) and all(type(each) is of for each in value)


def _is_texts(value: dict[Any, Any]) -> bool:
    return all(isinstance(each, str) for each in value.values())


def _of_another_format(place: Folder, version: int) -> RunError:
    return RunError(
        "MS207",
        f"the checkpoint {place.path!r} is of format {version}, where {VERSION} is known",
        fix="resume it with the Millstream that wrote it, or name another checkpoint",
    )


def _damaged(place: Folder, file: str, why: str) -> RunError:
    return RunError(
        "MS210",
        f"the checkpoint {place.path!r} is damaged: {file} {why}",
        fix="put the folder back from a copy that was made while the job was stopped, or give the "
        "job another name or checkpoint to start over",
    )
