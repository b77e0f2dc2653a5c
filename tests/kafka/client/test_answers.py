"""Answers of a cluster: repeated requests, and failures as errors."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException

from millstream.kafka.client.answers import answers, raw_answers, request_error
from millstream.kafka.client.rights import Right
from millstream.model.errors import KafkaError, PlanError

NEEDS = Right("Create", "topic", "scores")


def requests(*outcomes):
    """A request that has these outcomes, one after the other."""
    left = iter(outcomes)

    def ask():
        answer: Future = Future()
        outcome = next(left)
        if isinstance(outcome, int):
            answer.set_exception(KafkaException(Failure(outcome)))
        else:
            answer.set_result(outcome)
        return {"scores": answer}

    return ask


def test_a_request_is_repeated_while_a_broker_is_not_ready():
    ask = requests(Failure.NOT_COORDINATOR, Failure.COORDINATOR_LOAD_IN_PROGRESS, "made")
    assert raw_answers(ask) == {"scores": "made"}


def test_another_failure_is_raised_at_once():
    ask = requests(Failure.TOPIC_ALREADY_EXISTS, "made")
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        raw_answers(ask)
    with pytest.raises(KafkaError, match="MS323: the cluster did not create it"):
        answers(requests(Failure.TOPIC_ALREADY_EXISTS), "create it", NEEDS)


def test_what_the_client_cannot_send_is_an_error_of_the_program():
    def ask():
        raise OverflowError("int too large to convert")

    with pytest.raises(PlanError, match="MS113: .* cannot ask the cluster to create it: int too"):
        answers(ask, "create it", NEEDS)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (Failure.TOPIC_AUTHORIZATION_FAILED, "MS328"),
        (Failure._TIMED_OUT, "MS320"),
        (Failure._ALL_BROKERS_DOWN, "MS320"),
        (Failure.INVALID_CONFIG, "MS323"),
    ],
)
def test_each_kind_of_failure_has_its_error(failure, code):
    assert request_error(Failure(failure), "create it", NEEDS).code == code
