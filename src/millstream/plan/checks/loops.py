"""MS145: what a program writes does not come round to it as input, for it would never end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

from millstream.model.errors import PlanError, in_step
from millstream.plan.nodes import FilesSource, KafkaSource, Sink, Source, walk
from millstream.plan.targets import Files, Kafka


def check_no_loops(sinks: tuple[Sink, ...]) -> None:
    """No sink writes, by way of others or directly, into an endless source that it gets rows of."""
    feeds = {sink: set(_fed(sink, sinks)) for sink in sinks}
    try:
        TopologicalSorter(feeds).prepare()
    except CycleError as error:
        ring: list[Sink] = error.args[1]
        with in_step(ring[0].name):
            raise PlanError(
                "MS145",
                f"the program reads what it writes: {_place(ring[0])}",
                fix="write to another place; to run rows through steps again, write them there, "
                "and read that place in a program of its own that ends",
            ) from None


def _fed(sink: Sink, sinks: tuple[Sink, ...]) -> Iterator[Sink]:
    """The sinks whose rows come into ``sink``."""
    sources = [node for node in walk(sink) if isinstance(node, Source) and not node.bounded]
    return (each for each in sinks if any(_reads(source, each) for source in sources))


def _reads(source: Source, sink: Sink) -> bool:
    match source, sink.target:
        case KafkaSource(), Kafka() as target if _servers(source) == _servers(target):
            by_name = source.pattern is not None and re.fullmatch(source.pattern, target.topic)
            return bool(by_name) or target.topic in source.topics
        case FilesSource(), Files() as target:
            folder = target.path.rstrip("/")
            written = folder, f"{folder}/part-0.{target.format}"
            return any(_is_at(path, source.path.rstrip("/")) for path in written)
    return False


def _is_at(path: str, pattern: str) -> bool:
    """Whether a path is one of a pattern, in which a star stands for names without slashes."""
    names, patterns = path.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def _servers(of: KafkaSource | Kafka) -> set[str] | None:
    return None if of.servers is None else set(re.split(r"[\s,]+", of.servers.strip()))


def _place(sink: Sink) -> str:
    match sink.target:
        case Kafka(topic=topic):
            return f"the topic {topic!r}"
        case Files(path=path):
            return f"the folder {path!r}"
    raise AssertionError(sink.target)
