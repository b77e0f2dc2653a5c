"""``millstream kafka``: real Kafka brokers on this machine, for development and tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from millstream.cli.printing import AsJson, print_json, print_line, print_table, progress_line
from millstream.kafka import local
from millstream.kafka.local.cluster import Cluster
from millstream.kafka.local.data_directory import data_folder, where_others_run
from millstream.kafka.local.ports import DEFAULT_PORT
from millstream.kafka.local.registry import running_clusters

app = typer.Typer(
    help="Real Kafka brokers on this machine, for development and tests.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Data: TypeAlias = Annotated[
    Path,
    typer.Option("--data", envvar="MILLSTREAM_DATA", help="The data directory."),
]
_DATA = Path(".millstream")


@app.command()
def up(
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=3,
            help="How many brokers. Three replicate everything, and need two of them in sync.",
            show_default="as before, initially 1",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65533,
            help="The port of the first broker; the others use the next ones. 0: any free ports.",
            show_default=f"as before, initially {DEFAULT_PORT}",
        ),
    ] = None,
    data: Data = _DATA,
    as_json: AsJson = False,
) -> None:
    """Start brokers, and wait until producers can write to them.

    They continue to run when the command ends: `millstream kafka down` stops them. Brokers that
    already run are not changed. The first time, Kafka is downloaded (about 45 MB).
    """
    with progress_line(silent=as_json) as say:
        cluster = local.up(brokers, port, data, say)
    _print(cluster, as_json)


@app.command()
def status(data: Data = _DATA, as_json: AsJson = False) -> None:
    """Show the brokers, their addresses and whether they run.

    Ends with 0 if all of them run, and with 1 if not.
    """
    cluster = local.existing(data)
    _print(cluster, as_json)
    if not all(broker.pid for broker in cluster.brokers):
        raise typer.Exit(1)


@app.command()
def down(
    wipe: Annotated[bool, typer.Option("--wipe", help="Delete the brokers' data as well.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    data: Data = _DATA,
    as_json: AsJson = False,
) -> None:
    """Stop the brokers that `up` has started, and nothing else."""
    if wipe and not yes:
        typer.confirm(f"Delete all topics and messages in {data / 'kafka'}?", abort=True, err=True)
    with progress_line(silent=as_json) as say:
        cluster = local.down(data, wipe, say)
    if as_json:
        ran = [broker.id for broker in cluster.brokers if broker.process] if cluster else []
        print_json({"stopped": ran})
    else:
        others = where_others_run(running_clusters())
        none = f"There were no brokers in {data_folder(data)}{others}."
        print_line("Kafka is down." if cluster else none)


@app.command()
def logs(
    broker: Annotated[
        int | None, typer.Option(help="Only this broker's, by its number.", show_default="all")
    ] = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")
    ] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines.")] = False,
    data: Data = _DATA,
) -> None:
    """Show what the brokers have printed and logged since they were started."""
    cluster = local.existing(data)
    brokers = cluster.brokers if broker is None else [cluster.broker(broker)]
    shown = [str(file) for each in brokers for file in each.logs]
    if not shown:
        typer.echo("there are no logs yet", err=True)
        return
    subprocess.run(
        ["tail", "-n", str(lines), *(["-F"] if follow else []), *shown],
        stdin=subprocess.DEVNULL,
        check=False,
    )


def _print(cluster: Cluster, as_json: bool) -> None:
    if as_json:
        print_json(cluster.to_dict())
        return
    rows = [
        (b.id, b.address, "running" if b.pid else "stopped", b.pid, b.log) for b in cluster.brokers
    ]
    print_table(["broker", "address", "state", "pid", "log"], rows)
