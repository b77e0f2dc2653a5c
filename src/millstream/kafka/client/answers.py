"""The answers of a cluster to requests, and its failures as errors that name a fix."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException

from millstream.kafka.client.rights import Right, is_missing_right, missing_right
from millstream.model.errors import KafkaError, PlanError

Key = TypeVar("Key")

_TIMEOUT = 15.0  # seconds
_RETRY_EVERY = 0.1  # seconds
_NOT_READY = {
    Failure.COORDINATOR_LOAD_IN_PROGRESS,
    Failure.COORDINATOR_NOT_AVAILABLE,
    Failure.NOT_COORDINATOR,
    Failure.LEADER_NOT_AVAILABLE,
    Failure.NOT_LEADER_FOR_PARTITION,
    Failure.NOT_CONTROLLER,
    Failure.FENCED_LEADER_EPOCH,
    Failure.UNKNOWN_LEADER_EPOCH,
}
_NO_ANSWER = {Failure._TIMED_OUT, Failure._TRANSPORT, Failure._ALL_BROKERS_DOWN, Failure._RESOLVE}
_FIXES = {
    Failure.TOPIC_ALREADY_EXISTS: "choose another name, or add --if-not-exists",
    Failure.TOPIC_EXCEPTION: "use letters, digits, '.', '_' and '-', at most 249 of them",
    Failure.INVALID_REPLICATION_FACTOR: "ask for at most as many replicas as there are brokers",
    Failure.INVALID_PARTITIONS: "give the new total: more partitions than the topic has now",
    Failure.INVALID_CONFIG: "correct the setting; Kafka's documents list those of a topic",
    Failure.OFFSET_OUT_OF_RANGE: "write an offset from the first of the partition to its end",
}


def answers(
    ask: Callable[[], Mapping[Key, Future[Any]]], doing: str, needs: Right
) -> dict[Key, Any]:
    """The answers to requests that need a right, or the error that names the cause."""
    try:
        return raw_answers(ask)
    except KafkaException as error:
        raise request_error(error.args[0], doing, needs) from error
    except (ValueError, OverflowError) as error:  # the client has limits that no cluster exceeds
        what = f"Kafka's client cannot ask the cluster to {doing}: {error}"
        raise PlanError(
            "MS113", what, fix="write a value within the limits of the client"
        ) from error


def raw_answers(ask: Callable[[], Mapping[Key, Future[Any]]]) -> dict[Key, Any]:
    """The answers to requests, which are repeated while a broker is not ready for them."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        try:
            return {key: future.result() for key, future in ask().items()}
        except KafkaException as error:
            if error.args[0].code() not in _NOT_READY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_EVERY)


def request_error(failure: Failure, doing: str, needs: Right) -> KafkaError:
    """The error for a request that the cluster did not fulfil, and the right that it needs.

    >>> failure = Failure(Failure.INVALID_REPLICATION_FACTOR, "there is 1 broker, not 3")
    >>> needs = Right("Create", "topic", "scores")
    >>> print(request_error(failure, "create topic 'scores'", needs).what)
    the cluster did not create topic 'scores': there is 1 broker, not 3 (INVALID_REPLICATION_FACTOR)
    """
    if is_missing_right(failure):
        return missing_right(needs, doing)
    if failure.code() in _NO_ANSWER:
        return KafkaError(
            "MS320",
            f"no Kafka broker answered the request to {doing}: {failure.str()}",
            fix="check that the brokers run, and try again",
        )
    fix = _FIXES.get(failure.code(), "fix what the cluster reports, or try again if it was busy")
    what = f"the cluster did not {doing}: {failure.str().rstrip('.')} ({failure.name()})"
    return KafkaError("MS323", what, fix=fix)
