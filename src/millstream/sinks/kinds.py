"""Who writes the rows of a sink, and who commits them, by the sink's target.

Nothing here needs Spark: tasks and the driver call it, and so do tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from millstream.model.errors import PlanError, RunError
from millstream.plan.targets import Console, Each, Files, Kafka, Memory, Table, Target
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.slices import Committer, Slice, Writer

__all__ = [
    "Committer",
    "Slice",
    "Writer",
    "check_folders",
    "check_results",
    "committer_of",
    "expect",
    "opened",
    "writer_of",
]

# Each kind of sink is imported when there is one: a worker that only collects rows has no use for
# Polars, and each worker pays for its own imports.


def writer_of(sink: str, target: Target, slice: Slice) -> Writer:
    """What takes the rows of a sink in one task.

    >>> import pyarrow as pa
    >>> writer = writer_of("numbers", Memory(), Slice("a1b2c3d4", batch=0, number=0, attempt=7))
    >>> writer.write(pa.table({"n": [1, 2]}))
    >>> committer = committer_of("numbers", Memory())
    >>> committer.commit("a1b2c3d4", batch=0, receipts=[writer.close()])
    >>> committer.rows()
    [{'n': 1}, {'n': 2}]
    """
    match target:
        case Memory():
            from millstream.sinks.memory import MemoryWriter

            return MemoryWriter(slice)
        case Files():
            from millstream.sinks.files import FilesWriter
            from millstream.system.folders import Folder

            return FilesWriter(Folder.of(sink, target.path), target, slice)
        case Kafka():
            from millstream.sinks.kafka import KafkaWriter

            return KafkaWriter(sink, target, slice)
        case Console(limit=limit):
            from millstream.sinks.memory import MemoryWriter

            return MemoryWriter(slice, limit)
        case Each(function=function):
            from millstream.sinks.each import EachWriter

            return EachWriter(sink, function, slice)
    raise TypeError(f"an unknown target: {target!r}")


def expect(sink: str, target: Target, slice: Slice) -> None:
    """Lets a sink get ready for rows that are still made."""
    if isinstance(target, Kafka):
        from millstream.sinks import kafka as kafka_sink

        kafka_sink.expect(sink, target, slice)


def committer_of(
    sink: str, target: Target, fence: Fence = NO_FENCE, checkpoint: str | None = None
) -> Committer:
    """What commits the batches of a sink: one for the life of a job, on its driver.

    Whoever calls it checks the ``fence`` before each commit. A table is kept in the ``checkpoint``,
    if there is one.
    """
    match target:
        case Memory(table=Table()) | Console(table=Table()) | Each(table=Table()):
            return _table_committer(sink, target, fence, checkpoint)
        case Memory():
            from millstream.sinks.memory import MemoryCommitter

            return MemoryCommitter()
        case Files():
            from millstream.sinks.files import FilesCommitter
            from millstream.system.folders import Folder

            return FilesCommitter(Folder.of(sink, target.path), target, fence)
        case Kafka():
            from millstream.sinks.kafka import KafkaCommitter

            return KafkaCommitter()
        case Console(limit=limit, retracts=retracts):
            from millstream.sinks.console import ConsoleCommitter

            return ConsoleCommitter(sink, limit, retracts)
        case Each():
            from millstream.sinks.each import EachCommitter

            return EachCommitter()
    raise TypeError(f"an unknown target: {target!r}")


def _table_committer(
    sink: str, target: Memory | Console | Each, fence: Fence, checkpoint: str | None
) -> Committer:
    from millstream.sinks.table_log import TableLog
    from millstream.sinks.whole_table import Show, TableCommitter

    show: Show | None = None
    match target:
        case Console(limit=limit, retracts=retracts):
            from millstream.sinks.console import printed

            show = partial(printed, sink, limit, retracts)
        case Each(function=function):
            from millstream.sinks.each import called

            show = partial(called, sink, function)
    assert target.table is not None
    log = TableLog(fence.job, sink, checkpoint) if checkpoint is not None else None
    return TableCommitter(sink, target.table, log, show)


def opened(target: Target) -> Target:
    """The target as workers see it: which brokers are meant is known where the job starts.

    Of a table, workers only hand the changes to the driver.
    """
    if isinstance(target, Console | Each) and target.table is not None:
        return Memory()
    if not isinstance(target, Kafka):
        return target
    from millstream.sinks.kafka import connection_of

    return replace(target, servers=connection_of(target).servers)


def check_results(sinks: Mapping[str, Target], anew: bool) -> None:
    """MS212: a run that writes everything ``anew`` would add to what an earlier one has written.

    Any other run writes each row once, and adds to what there is.
    """
    for sink, target in sinks.items():
        if not isinstance(target, Files) or target.mode == "append":
            continue
        if not anew and target.mode is not None:
            raise PlanError(
                "MS113",
                f"mode={target.mode!r} is for a run that writes all its rows anew: one without a "
                "checkpoint over sources that end",
                fix="leave it out: this run adds to the folder, each row once",
                step=sink,
            )
        if anew and target.mode != "overwrite":
            from millstream.sinks.partitions import results_in
            from millstream.system.folders import Folder

            place = Folder.of(sink, target.path)
            with place.errors():
                found = results_in(place.files())
            if found:
                raise _doubled(sink, target, found)


def _doubled(sink: str, target: Files, found: list[str]) -> RunError:
    count = "a file" if len(found) == 1 else f"{len(found)} files"
    return RunError(
        "MS212",
        f"{target.path!r} holds {count} of results already, such as {found[0]}, and this run would "
        "write all its rows beside them",
        fix="write_files(…, mode='overwrite') replaces them once the run has succeeded, "
        "mode='append' adds to them; with run(…, checkpoint=…) each row is written once, however "
        "often the job is run",
        step=sink,
    )


def check_folders(sinks: Mapping[str, Target]) -> None:
    """Refuses two sinks of one job in one folder: each would take the other's files for its own.

    >>> late = Files("/data/totals", "json")
    >>> check_folders({"totals": Files("file:///data/totals/", "csv"), "late": late})
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS113 in step 'late': 'totals' writes to '/data/totals', too
      What to do: give each its own folder, or write the union of both
      More: millstream help MS113
    """
    taken: dict[tuple[str, str], str] = {}
    for sink, target in sinks.items():
        if isinstance(target, Files):
            from millstream.system.folders import Folder

            first = taken.setdefault(Folder.of(sink, target.path).place, sink)
            if first != sink:
                raise PlanError(
                    "MS113",
                    f"{first!r} writes to {target.path!r}, too",
                    fix="give each its own folder, or write the union of both",
                    step=sink,
                )
