"""The options by which every command reaches a Kafka cluster."""

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
        help="Brokers to begin with. Else local brokers of this folder, MILLSTREAM_SERVERS, or "
        "local brokers of another folder.",
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
        help="Client settings in a file of properties, as Kafka's own tools take it.",
    ),
]


def connected(
    servers: str | None, settings: Iterable[str] | None, config: Path | None
) -> Connection:
    """The connection that the options ask for."""
    return Connection.to(servers, client_settings(config, settings or ()))


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Names and values of a repeated option; of a name that is given twice, the last.

    >>> pairs(["retention.ms=1000", "cleanup.policy=compact"], "--set")
    {'retention.ms': '1000', 'cleanup.policy': 'compact'}
    """
    return dict(all_pairs(given, option))


def all_pairs(given: Iterable[str] | None, option: str) -> Iterator[tuple[str, str]]:
    """Names and values of an option in which a name may come more than once.

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
