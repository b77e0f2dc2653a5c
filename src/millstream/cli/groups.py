"""``millstream groups``: how far consumer groups have read, and resetting their positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, TypeAlias

import typer

from millstream.cli.connecting import Config, Servers, Settings, connected
from millstream.cli.printing import AsJson, print_done, print_json, print_line, print_table
from millstream.kafka.admin import groups
from millstream.kafka.client.positions import parse_position
from millstream.model.amounts import counted

app = typer.Typer(help="Consumer groups of a Kafka cluster.", no_args_is_help=True)

_Name: TypeAlias = Annotated[str, typer.Argument(metavar="GROUP", show_default=False)]


@app.command("list")
def list_groups(
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """The groups, with their states."""
    found = groups.list_groups(connected(servers, settings, config))
    if as_json:
        print_json([asdict(group) for group in found])
    elif found:
        print_table(
            ["group", "state", "type"], [(each.name, each.state, each.type) for each in found]
        )


@app.command()
def describe(
    name: _Name,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """A group's members, and its lag in each partition."""
    group = groups.describe_group(connected(servers, settings, config), name)
    if as_json:
        lags = [asdict(each) | {"lag": each.lag} for each in group.partitions]
        print_json(asdict(group) | {"partitions": lags})
        return
    print_line(f"{group.name}: {group.state}, {counted(len(group.members), 'member')}")
    print_table(
        ["topic", "partition", "offset", "end", "lag", "consumer", "host", "client"],
        [
            (
                each.topic,
                each.partition,
                each.offset,
                each.end,
                each.lag,
                each.member and each.member.id,
                each.member and each.member.host,
                each.member and each.member.client,
            )
            for each in group.partitions
        ],
    )


@app.command()
def reset(
    name: _Name,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:P,…]",
            help="A topic, or some of its partitions. May be repeated.",
        ),
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="All topics that the group has read.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="POSITION",
            help="earliest, latest, an offset, -N before the end, or a time with its zone.",
        ),
    ] = None,
    shift: Annotated[
        int | None, typer.Option("--shift", metavar="N", help="Forward by N, or back by -N.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it; without it, only show the changes.")
    ] = False,
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Resets the offsets of a group without members. Shows the changes; --execute makes them."""
    if (to is None) == (shift is None):
        raise typer.BadParameter("give one of them", param_hint="--to, --shift")
    if bool(topics) == all_topics:
        raise typer.BadParameter("give one of them", param_hint="--topic, --all-topics")
    moves = groups.reset_group(
        connected(servers, settings, config),
        name,
        _partitions(topics or ()),
        to=None if to is None else parse_position(to),
        shift=shift or 0,
        execute=execute,
    )
    if as_json:
        print_json({"executed": execute, "offsets": [asdict(move) for move in moves]})
        return
    print_table(
        ["topic", "partition", "offset", "new offset"],
        [(each.topic, each.partition, each.before, each.after) for each in moves],
    )
    if not execute:
        typer.echo("nothing has changed; --execute does it", err=True)


@app.command()
def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP…", show_default=False)],
    as_json: AsJson = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Deletes groups without members, with their offsets."""
    connection = connected(servers, settings, config)
    print_done("deleted", names, lambda name: groups.delete_group(connection, name), as_json)


def _partitions(given: Iterable[str]) -> dict[str, set[int]]:
    """The partitions of each topic; an empty set means all.

    >>> _partitions(["scores:0", "totals:1", "scores:2,0", "totals"])
    {'scores': {0, 2}, 'totals': set()}
    """
    found: dict[str, set[int]] = {}
    for topic, numbers in map(_topic, given):
        already = found.setdefault(topic, numbers)
        found[topic] = already | numbers if already and numbers else set()
    return found


def _topic(text: str) -> tuple[str, set[int]]:
    topic, colon, numbers = text.partition(":")
    try:
        return topic, {int(number) for number in numbers.split(",")} if colon else set()
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not TOPIC or TOPIC:0,1", param_hint="--topic"
        ) from None
