"""``millstream produce``: lines of standard input or a file as the records of a topic."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Literal

import typer
from confluent_kafka.admin import AclOperation

from millstream.cli.connecting import Config, Servers, Settings, all_pairs, connected, unescaped
from millstream.cli.interrupting import EXIT_CODE, interrupts
from millstream.cli.printing import AsJson, print_json
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.deliveries import Deliveries
from millstream.kafka.client.lines import Lines
from millstream.kafka.client.metadata import longest_batch, partitions_of
from millstream.kafka.client.partitioning import CLIENT_SETTINGS, Partitioner, partitioner
from millstream.kafka.client.producing import produce
from millstream.kafka.client.records import (
    Encoding,
    NewRecord,
    decoded,
    header_name,
    record_timestamp,
)
from millstream.kafka.client.rights import check_topic_rights
from millstream.model.amounts import counted

_LONGEST = 100_000_000  # bytes of a record: brokers accept no longer request, and check the rest
_BATCH = 1_000_000  # bytes of records that are sent together

_Acks = Literal["all", "1", "0"]
_Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]


_Topic = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)]
_File = Annotated[
    typer.FileBinaryRead, typer.Argument(metavar="FILE", help="Default: standard input.")
]
_KeySeparator = Annotated[
    str | None,
    typer.Option("--key-separator", "-k", metavar="TEXT", help="Separates key and value."),
]
_KeyOption = Annotated[str | None, typer.Option("--key", help="The key of records without one.")]
_Headers = Annotated[
    list[str] | None,
    typer.Option("--header", "-H", metavar="NAME=VALUE", help="On each record. Repeatable."),
]
_JsonLines = Annotated[
    bool,
    typer.Option("--json-lines", help="Each line is a record as consume --json writes it."),
]
_Null = Annotated[
    str | None,
    typer.Option("--null", metavar="TEXT", help="A key or value of this text is null."),
]
_Encoding = Annotated[Encoding, typer.Option("--encoding", help="How keys and values are written.")]
_Timestamp = Annotated[
    str | None,
    typer.Option("--timestamp", metavar="TIME", help="Event time with its zone. Default: now."),
]
_Partition = Annotated[
    int | None, typer.Option("--partition", "-p", min=0, help="For all records.")
]
_By = Annotated[
    Partitioner,
    typer.Option("--partitioner", help="java: by key, with the hash of Java's clients."),
]
_AcksOption = Annotated[
    _Acks,
    typer.Option("--acks", help="With less than all, writing is no longer idempotent."),
]
_Rate = Annotated[
    float | None, typer.Option("--rate", metavar="N", help="At most N records a second.")
]


def command(
    topic: _Topic,
    file: _File = "-",  # type: ignore[assignment]
    key_separator: _KeySeparator = None,
    key: _KeyOption = None,
    headers: _Headers = None,
    json_lines: _JsonLines = False,
    null: _Null = None,
    encoding: _Encoding = "text",
    timestamp: _Timestamp = None,
    partition: _Partition = None,
    by: _By = "java",
    compression: Annotated[_Compression, typer.Option("--compression", "-z")] = "none",
    acks: _AcksOption = "all",
    rate: _Rate = None,
    json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Writes lines to a topic, each as a record."""
    if rate is not None and rate <= 0:
        raise typer.BadParameter("it must be more than 0", param_hint="--rate")
    lines = Lines(
        key_separator=None if key_separator is None else os.fsencode(unescaped(key_separator)),
        null=None if null is None else os.fsencode(null),
        encoding=encoding,
        json=json_lines,
    )
    fixed = NewRecord(
        None,
        None if key is None else _key(key, encoding),
        tuple(_header(*each) for each in all_pairs(headers, "--header")),
        None if timestamp is None else record_timestamp(timestamp),
        partition,
    )
    connection = connected(servers, settings, config)
    partitions = partitions_of(connection, topic)
    check_topic_rights(connection, [topic], AclOperation.WRITE, "write to topic")
    if partition is not None:
        partitions_of(connection, topic, [partition])
    producer = connection.producer(_producer_settings(connection, topic, acks, compression))
    deliveries = Deliveries() if json else Deliveries(lambda line: typer.echo(line, err=True))
    choose = partitioner(by, len(partitions))
    with interrupts() as interrupted:
        records = _completed(lines.records(interrupted.lines(file)), fixed)
        try:
            produce(
                producer,
                topic,
                records,
                choose,
                deliveries,
                rate=rate,
                stop_requests=lambda: interrupted.count,
            )
        finally:
            _report(deliveries, json)
    deliveries.check()
    if interrupted.count:
        raise typer.Exit(EXIT_CODE)


def _report(deliveries: Deliveries, json: bool) -> None:
    if json:
        counts = {"produced": deliveries.arrived, "failed": deliveries.failed}
        print_json({**counts, "failures": deliveries.failures})
    else:
        typer.echo(f"produced {counted(deliveries.arrived, 'record')}", err=True)


def _producer_settings(
    connection: Connection, topic: str, acks: _Acks, compression: _Compression
) -> dict[str, object]:
    return {
        **CLIENT_SETTINGS,
        "acks": acks,
        "enable.idempotence": acks == "all",
        "compression.type": compression,
        "message.max.bytes": _LONGEST,
        # A broker does not accept any record of a batch that is too long.
        "batch.size": min(_BATCH, longest_batch(connection, topic) or _BATCH),
    }


def _key(text: str, encoding: Encoding) -> bytes:
    try:
        return decoded(os.fsencode(text), encoding)
    except ValueError as error:
        raise typer.BadParameter(f"it is not {encoding}: {error}", param_hint="--key") from None


def _header(name: str, value: str) -> tuple[str, bytes]:
    try:
        return header_name(name), os.fsencode(value)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--header") from None


def _completed(records: Iterable[NewRecord], fixed: NewRecord) -> Iterator[NewRecord]:
    """Records with the values of the command line, where they do not have their own."""
    for record in records:
        yield replace(
            record,
            key=fixed.key if record.key is None else record.key,
            headers=fixed.headers + record.headers,
            timestamp=fixed.timestamp if record.timestamp is None else record.timestamp,
            partition=fixed.partition if record.partition is None else record.partition,
        )
