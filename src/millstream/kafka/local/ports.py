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
    """The cluster with ports that are free now. Controllers get any, as only brokers use them."""
    count = len(cluster.brokers)
    if port is None and cluster.brokers[0].port:
        requested = [broker.port for broker in cluster.brokers]
    elif port == 0:
        requested = [0] * count
    else:
        first = port or DEFAULT_PORT
        requested = list(range(first, first + count))
    with ExitStack() as reserved:
        ports = [_reserve(reserved, port) for port in requested + [0] * count]
    brokers = [
        replace(broker, port=port, controller_port=controller)
        for broker, port, controller in zip(
            cluster.brokers, ports[:count], ports[count:], strict=True
        )
    ]
    return replace(cluster, brokers=tuple(brokers))


def _reserve(reserved: ExitStack, port: int) -> int:
    """Binds a port that is free, and any free one for 0, until ``reserved`` is closed."""
    listener = reserved.enter_context(socket.socket())
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
