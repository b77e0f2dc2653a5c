"""The ports on which local brokers listen."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack
from dataclasses import replace

from millstream.kafka.local.broker import HOST
from millstream.kafka.local.broker_failures import port_reserved, port_taken
from millstream.kafka.local.cluster import Cluster
from millstream.kafka.local.registry import running_clusters

DEFAULT_PORT = 9092


def with_free_ports(cluster: Cluster, port: int | None) -> Cluster:
    """The cluster with ports that are free now. Controllers get any: only brokers know of them."""
    count = len(cluster.brokers)
    if port is None and cluster.brokers[0].port:
        wanted = [broker.port for broker in cluster.brokers]
    elif port == 0:
        wanted = [0] * count
    else:
        first = port or DEFAULT_PORT
        wanted = list(range(first, first + count))
    with ExitStack() as bound:
        ports = [_bound(bound, port) for port in wanted + [0] * count]
    brokers = [
        replace(broker, port=port, controller_port=controller)
        for broker, port, controller in zip(
            cluster.brokers, ports[:count], ports[count:], strict=True
        )
    ]
    return replace(cluster, brokers=tuple(brokers))


def _bound(until: ExitStack, port: int) -> int:
    """A port that nobody else has, and gets until we are done; 0 asks for any."""
    listener = until.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            ours = [c for c in running_clusters() if port in [b.port for b in c.brokers]]
            raise port_taken(port, ours[0].folder.parent if ours else None) from error
        if error.errno == errno.EACCES:
            raise port_reserved(port) from error
        raise
    bound: int = listener.getsockname()[1]
    return bound
