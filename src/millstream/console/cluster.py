"""The Kafka cluster that the console shows: found again when it moves, and known to be away."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import ClusterMetadata

from millstream.kafka.client.answers import request_error
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.rights import Right
from millstream.model.errors import KafkaError

_PATIENCE = 3.0  # seconds for an answer to a page
_FRESH = 3.0  # seconds for which brokers that answered are not asked whether they still do
_AWAY = 5.0  # seconds for which a cluster that did not answer is not asked again


class Cluster:
    """Connects at the first use. Any thread may use it; one at a time connects."""

    def __init__(self, servers: str | None = None, settings: Mapping[str, str] | None = None):
        self._servers = servers
        self._settings = dict(settings or {})
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._failure: tuple[float, KafkaError] | None = None
        self._answered = 0.0

    def connection(self) -> Connection:
        """A connection to brokers that answered lately; MS320 within seconds if none do."""
        with self._lock:
            if self._connection is not None and time.monotonic() < self._answered + _FRESH:
                return self._connection
        return self.metadata()[0]

    def metadata(self) -> tuple[Connection, ClusterMetadata]:
        """The connection, and what brokers report of all topics now."""
        with self._lock:
            if self._failure is not None and time.monotonic() < self._failure[0]:
                raise self._failure[1]
            try:
                connection = self._current()
                found = connection.admin.list_topics(timeout=_PATIENCE)
            except KafkaException as error:
                needs = Right("Describe", "cluster")
                raise self._away(request_error(error.args[0], "list its topics", needs)) from error
            except KafkaError as error:
                raise self._away(error) from error
            self._failure, self._answered = None, time.monotonic()
            return connection, found

    def _current(self) -> Connection:
        """The connection; another one if local brokers were started elsewhere meanwhile."""
        made = Connection.to(self._servers, self._settings)
        if self._connection is None or made.servers != self._connection.servers:
            self._connection = made
        return self._connection

    def _away(self, error: KafkaError) -> KafkaError:
        self._failure = time.monotonic() + _AWAY, error
        return error
