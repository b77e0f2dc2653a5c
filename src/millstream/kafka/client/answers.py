"""What a cluster answers to requests, and its refusals as errors that say what to do."""

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

_PATIENCE = 15.0  # seconds
_A_MOMENT = 0.1  # seconds
_NOT_READY = {
    Failure.COORDINATOR_LOAD_IN_PROGRESS,
    Failure.COORDINATOR_NOT_AVAILABLE,
    Failure.NOT_COORDINATOR,
    Failure.LEADER_NOT_AVAILABLE,
    Failure.NOT_LEADER_FOR_PARTITION,
    Failure.NOT_CONTROLLER,
}
_NOBODY = {Failure._TIMED_OUT, Failure._TRANSPORT, Failure._ALL_BROKERS_DOWN, Failure._RESOLVE}
_FIXES = {
    Failure.TOPIC_ALREADY_EXISTS: "choose another name, or add --if-not-exists",
    Failure.TOPIC_EXCEPTION: "use letters, digits, '.', '_' and '-', at most 249 of them",
    Failure.INVALID_REPLICATION_FACTOR: "ask for at most as many replicas as there are brokers",
    Failure.INVALID_PARTITIONS: "give the new total: more partitions than the topic has now",
    Failure.INVALID_CONFIG: "correct the setting; Kafka's documents list those of a topic",
    Failure.OFFSET_OUT_OF_RANGE: "name an offset between the partition's first and its end",
}


def answers(
    ask: Callable[[], Mapping[Key, Future[Any]]], doing: str, needs: Right
) -> dict[Key, Any]:
    """The answers to requests, which need a right, or the error that says why there is none."""
    try:
        return awaited(ask)
    except KafkaException as error:
        raise refused(error.args[0], doing, needs) from error
    except (ValueError, OverflowError) as error:  # the client knows bounds that no cluster exceeds
        what = f"Kafka's client cannot ask the cluster to {doing}: {error}"
        raise PlanError("MS113", what, fix="write something that it can send") from error


def awaited(ask: Callable[[], Mapping[Key, Future[Any]]]) -> dict[Key, Any]:
    """The answers to requests, which are made again while a broker gets ready for them."""
    patient_until = time.monotonic() + _PATIENCE
    while True:
        try:
            return {key: future.result() for key, future in ask().items()}
        except KafkaException as error:
            if error.args[0].code() not in _NOT_READY or time.monotonic() > patient_until:
                raise
            time.sleep(_A_MOMENT)


def refused(failure: Failure, doing: str, needs: Right) -> KafkaError:
    """The error for something that the cluster did not do, and that needs a right.

    >>> told = Failure(Failure.INVALID_REPLICATION_FACTOR, "there is 1 broker, not 3")
    >>> print(refused(told, "create topic 'scores'", Right("Create", "topic", "scores")).what)
    the cluster did not create topic 'scores': there is 1 broker, not 3 (INVALID_REPLICATION_FACTOR)
    """
    if is_missing_right(failure):
        return missing_right(needs, doing)
    if failure.code() in _NOBODY:
        return KafkaError(
            "MS320",
            f"no Kafka broker answered the request to {doing}: {failure.str()}",
            fix="see that the brokers run, and try again",
        )
    fix = _FIXES.get(failure.code(), "fix what the cluster says, or try again if it was busy")
    what = f"the cluster did not {doing}: {failure.str().rstrip('.')} ({failure.name()})"
    return KafkaError("MS323", what, fix=fix)
