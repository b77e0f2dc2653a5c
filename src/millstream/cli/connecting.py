"""The options for the Kafka cluster, which every command has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from millstream.kafka.client.connection import Connection
from millstream.kafka.settings import client_settings

_PANEL = "The cluster"

Servers: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--servers",
        "-s",
        metavar="HOST:PORT,…",
        rich_help_panel=_PANEL,
        help="Addresses of brokers. Default: local brokers of this folder, MILLSTREAM_SERVERS, "
        "or local brokers of another folder.",
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-X",
        metavar="NAME=VALUE",
        rich_help_panel=_PANEL,
        help="A client setting, such as security.protocol=SASL_SSL. May be repeated.",
    ),
]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        rich_help_panel=_PANEL,
        help="Client settings in a properties file, as for Kafka's own tools.",
    ),
]


def connected(
    servers: str | None, settings: Iterable[str] | None, config: Path | None
) -> Connection:
    """The connection for these options."""
    return Connection.to(servers, client_settings(config, settings or ()))


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Names and values of a repeated option; if a name is given twice, the last counts.

    >>> pairs(["retention.ms=1000", "cleanup.policy=compact"], "--set")
    {'retention.ms': '1000', 'cleanup.policy': 'compact'}
    """
    return dict(all_pairs(given, option))


def all_pairs(given: Iterable[str] | None, option: str) -> Iterator[tuple[str, str]]:
    """Names and values of an option in which a name may be given more than once.

    >>> list(all_pairs(["source=file", "source=disk"], "--header"))
    [('source', 'file'), ('source', 'disk')]
    """
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{each!r} is not of the form NAME=VALUE", param_hint=option)
        yield name, value


def unescaped(text: str) -> str:
    r"""Text in which a tab or a new line may be written as \\t or \\n.

    >>> unescaped(r"key\tvalue")
    'key\tvalue'
    """
    return text.replace(r"\t", "\t").replace(r"\n", "\n")
