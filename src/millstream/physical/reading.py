"""How sources are read: in the JVM or in Python, and which steps may reject what they read."""

from __future__ import annotations

from typing import TypeGuard

from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    Function,
    KafkaSource,
    Node,
    RateSource,
    Rejected,
    Select,
    SideOutput,
    Sink,
    Source,
    Stateful,
    Union,
    WithColumns,
    unknown_kind,
)


def decodes(node: Node) -> TypeGuard[KafkaSource]:
    """Whether the values of records are decoded, which Python does."""
    return isinstance(node, KafkaSource) and node.format in ("json", "csv")


def decodes_lines(node: Node) -> TypeGuard[FilesSource]:
    """Whether the lines of files are decoded, which Python does."""
    return isinstance(node, FilesSource) and node.layout is not None


def is_on_disk(source: FilesSource) -> bool:
    """Whether its files are on a disk, judged by their path."""
    return ":" not in source.path or source.path.startswith("file:")


def can_load(node: Node) -> bool:
    """Whether it reads files that Arrow, in Python, reads as Spark would.

    Where they are bounded, Spark does: it can give parts of a large file to several cores.
    """
    return (
        isinstance(node, FilesSource)
        and node.format == "parquet"
        and not node.bounded
        and not node.options
        and node.split is None
        and "{" not in node.path
        and is_on_disk(node)
    )


def in_known_tasks(source: Source) -> bool:
    """Whether it is read in as many tasks when a batch is retried."""
    return source.bounded or isinstance(source, FilesSource | RateSource)


def may_reject(node: Node) -> bool:
    """Whether the step may send rows to ``rejected``."""
    match node:
        case KafkaSource():
            return node.format != "raw"
        case FilesSource():
            return decodes_lines(node)
        case Function() | Filter() | Select() | WithColumns():
            return node.on_error == "reject"
        case EventTime():
            return True
        case Stateful():
            return node.may_reject
        case Source() | Union() | SideOutput() | Rejected() | Sink():
            return False
    raise unknown_kind(node)
