"""``millstream topics``: lists, describes and changes topics."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, TypeAlias

import typer

from millstream.cli.connecting import Config, Servers, Settings, connected, pairs
from millstream.cli.printing import (
    AsJson,
    print_done,
    print_json,
    print_line,
    print_table,
    progress_line,
)
from millstream.kafka.admin import topics
from millstream.kafka.client.metadata import topic_names
from millstream.kafka.client.positions import parse_position
from millstream.model.amounts import counted

app = typer.Typer(help="Topics of a Kafka cluster.", no_args_is_help=True)

_Names: TypeAlias = Annotated[list[str], typer.Argument(metavar="TOPIC…", show_default=False)]
_Name: TypeAlias = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)]
_Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the topic, such as retention.ms=60000."
    ),
]
_Internal: TypeAlias = Annotated[
    bool, typer.Option("--internal", help="Show Kafka's own topics too.")
]


@app.command("list")
def list_topics(
    internal: _Internal = False,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """The names of the topics."""
    names = topic_names(connected(servers, settings, config), internal=internal)
    if as_json:
        print_json(names)
    else:
        for name in names:
            print_line(name)


@app.command()
def create(
    names: _Names,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="Default: the brokers decide.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option("--replication", "-r", min=1, help="Default: the brokers decide.")
    ] = None,
    set_: _Set = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do not fail for topics that exist already.")
    ] = False,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Creates topics."""
    connection = connected(servers, settings, config)
    own = pairs(set_, "--set")
    there = set(topic_names(connection, internal=True)) if if_not_exists else set()
    make = partial(
        topics.create_topic,
        connection,
        partitions=partitions,
        replication=replication,
        settings=own,
    )
    print_done("created", [name for name in names if name not in there], make, as_json)


@app.command()
def describe(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC…]", help="Default: all.", show_default=False),
    ] = None,
    size: Annotated[
        bool, typer.Option("--size", help="Show sizes in bytes too; this runs Kafka's own tool.")
    ] = False,
    internal: _Internal = False,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Leader, replicas, offsets and settings of topics."""
    connection = connected(servers, settings, config)
    names = names or topic_names(connection, internal=internal)
    with progress_line(silent=as_json or not size) as say:
        described = topics.describe_topics(connection, names, size=size, say=say)
    if as_json:
        print_json([asdict(topic) for topic in described])
        return
    for at, topic in enumerate(described):
        if at:
            print_line()
        print_line(
            f"{topic.name}: {counted(len(topic.partitions), 'partition')}, "
            f"replication {topic.replication}, id {topic.id}"
        )
        for name, value in topic.settings.items():
            print_line(f"  {name}={value}")
        print_table(
            ["partition", "leader", "replicas", "in sync", "start", "end"] + ["size"] * size,
            [
                (
                    each.number,
                    each.leader,
                    _ids(each.replicas),
                    _ids(each.in_sync),
                    each.start,
                    each.end,
                    *([each.size] if size else []),
                )
                for each in topic.partitions
            ],
        )
    if described and not size:
        typer.secho("--size shows their size on disk", dim=True, err=True)


@app.command()
def alter(
    name: _Name,
    set_: _Set = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", metavar="NAME", help="A setting to reset to the brokers' default."),
    ] = None,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Changes settings of a topic."""
    own = pairs(set_, "--set")
    if not own and not unset:
        raise typer.BadParameter("nothing to change", param_hint="--set, --unset")
    connection = connected(servers, settings, config)
    change = partial(topics.alter_topic, connection, set_=own, unset=unset or ())
    print_done("altered", [name], change, as_json)


@app.command()
def delete(
    names: _Names,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Do not fail for topics that do not exist.")
    ] = False,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Deletes topics with all their records."""
    connection = connected(servers, settings, config)
    if if_exists:
        there = set(topic_names(connection, internal=True))
        names = [name for name in names if name in there]
    print_done("deleted", names, partial(topics.delete_topic, connection), as_json)


@app.command("add-partitions")
def add_partitions(
    name: _Name,
    total: Annotated[
        int,
        typer.Option("--total", min=1, help="The new number of partitions.", show_default=False),
    ],
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Adds partitions to a topic. Keys may be in other partitions from then on."""
    connection = connected(servers, settings, config)
    add = partial(topics.add_partitions, connection, total=total)
    print_done("altered", [name], add, as_json)


@app.command("delete-records")
def delete_records(
    name: _Name,
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="POSITION",
            help="An offset, -N for all but the last N, a time with its zone, or 'end' for all.",
            show_default=False,
        ),
    ],
    partitions: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", help="Only this one. May be repeated."),
    ] = None,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Deletes the oldest records of a topic."""
    connection = connected(servers, settings, config)
    starts = topics.delete_records(connection, name, parse_position(before), partitions or ())
    if as_json:
        print_json([{"partition": each, "start": start} for each, start in starts.items()])
    else:
        print_table(["partition", "start"], starts.items())


def _ids(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))
