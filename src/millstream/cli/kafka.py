"""``millstream kafka``: real Kafka brokers on this machine, for development and tests."""

from __future__ import annotations

import typer

app = typer.Typer(help="Real Kafka brokers on this machine.", no_args_is_help=True)
