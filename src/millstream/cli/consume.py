"""``millstream consume``: the records of a topic, on standard output."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Annotated

import typer

from millstream.cli.connecting import Config, Servers, Settings, connected, unescaped
from millstream.cli.interrupting import EXIT_CODE, interrupts
from millstream.cli.printing import AsJson, writing_output
from millstream.cli.rendering import Parts, Shown, as_json, as_kafka_does, by_format
from millstream.kafka.client.consuming import consume
from millstream.kafka.client.positions import parse_position
from millstream.kafka.client.records import Encoding, Record
from millstream.model.amounts import counted

_Topic = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)]
_Start = Annotated[
    str,
    typer.Option(
        "--from",
        "-o",
        metavar="POSITION",
        help="beginning, end, an offset, -N for the last N records of each partition, "
        "or a time with its zone.",
    ),
]
_Partitions = Annotated[
    list[int] | None,
    typer.Option("--partition", "-p", help="Only this one. May be repeated."),
]
_Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        "-g",
        help="Read as a member of this group, from its position, and commit what was read.",
    ),
]
_Count = Annotated[
    int | None, typer.Option("--count", "-n", min=0, help="End after this number of records.")
]
_ExitAtEnd = Annotated[
    bool, typer.Option("--exit-at-end", "-e", help="Stop at the current end of the topic.")
]
_ReadCommitted = Annotated[
    bool,
    typer.Option("--read-committed", help="Leave out open and aborted transactions."),
]
_Show = Annotated[
    list[Shown] | None,
    typer.Option("--show", help="Write this before the value. May be repeated."),
]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="TEXT",
        help="As in '{key}: {value} at {timestamp:%H:%M}'; also topic, partition, offset, "
        "headers, timestamp_type.",
    ),
]
_Encoding = Annotated[
    Encoding, typer.Option("--encoding", help="How keys, values and headers are written.")
]
_Null = Annotated[str, typer.Option("--null", metavar="TEXT", help="The text for null.")]


def command(
    topic: _Topic,
    start: _Start = "end",
    partitions: _Partitions = None,
    group: _Group = None,
    count: _Count = None,
    exit_at_end: _ExitAtEnd = False,
    read_committed: _ReadCommitted = False,
    show: _Show = None,
    format_: _Format = None,
    encoding: _Encoding = "text",
    null: _Null = "null",
    json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Writes the records of a topic to standard output.

    It follows new records until Ctrl-C, --count or --exit-at-end ends it.
    """
    if json + bool(show) + (format_ is not None) > 1:
        raise typer.BadParameter("give one of them", param_hint="--json, --show, --format")
    parts = Parts(encoding, null)
    if json:
        write = as_json(parts)
    elif format_ is not None:
        write = by_format(parts, unescaped(format_))
    else:
        write = as_kafka_does(parts, show or ())
    connection = connected(servers, settings, config)
    written = 0
    with interrupts() as interrupted:
        batches = consume(
            connection,
            topic,
            start=parse_position(start),
            partitions=partitions or (),
            group=group,
            count=count,
            follow=not exit_at_end,
            committed=read_committed,
            until=lambda: interrupted.count > 0,
        )
        with closing(batches):
            for batch in batches:
                _write(batch, write)
                written += len(batch)
    if interrupted.count:
        if not json:
            typer.echo(f"consumed {counted(written, 'record')}", err=True)
        raise typer.Exit(EXIT_CODE)


def _write(batch: list[Record], write: Callable[[Record], bytes]) -> None:
    output = typer.get_binary_stream("stdout")
    lines = b"".join([write(record) + b"\n" for record in batch])
    with writing_output():
        output.write(lines)
        output.flush()
