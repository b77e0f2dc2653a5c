"""``millstream console``: jobs and topics in a browser."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.connecting import Config, Servers, Settings
from millstream.cli.printing import print_line
from millstream.kafka.settings import client_settings
from millstream.system.interrupts import on_interrupt, on_termination

_PANEL = "Beyond this machine"


def command(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8265,
    host: Annotated[
        str, typer.Option(rich_help_panel=_PANEL, help="The address to listen at.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_PANEL, help="A file with the token that it asks for."
        ),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_PANEL, help="A certificate in PEM."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_PANEL, help="Its key.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show everything, and change nothing.")
    ] = False,
    servers: Servers = None,
    settings: Settings = None,
    config: Config = None,
) -> None:
    """Opens the console: jobs, their live pictures and topics, in a browser."""
    # What only this command needs: a web server.
    from millstream.console.cluster import Cluster
    from millstream.console.serve import opened_console
    from millstream.console.settings import Settings as ConsoleSettings
    from millstream.console.settings import read_token

    token = None if token_file is None else read_token(token_file)
    console = ConsoleSettings(host, port, token, cert, key, read_only)
    cluster = Cluster(servers, client_settings(config, settings or ()))
    over = threading.Event()
    with (
        on_interrupt(lambda *_: over.set()),
        on_termination(lambda *_: over.set()),
        opened_console(console, cluster) as address,
    ):
        print_line(f"the console is at {address}; Ctrl-C ends it")
        while not over.wait(1.0):
            pass
    signal.signal(signal.SIGINT, signal.default_int_handler)
