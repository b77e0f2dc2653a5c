"""An error about records that were not written names a fix for its cause."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.connection import Connection
from millstream.kafka.delivery.failures import not_written
from millstream.kafka.delivery.kafka_slice import KafkaSlice

CONNECTION = Connection("broker:9092")
SLICE = KafkaSlice(CONNECTION, "totals", "millstream-1-out", 3)


@pytest.mark.parametrize(
    ("code", "reason", "right"),
    [
        (Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "", "transactional-id millstream-1-out-3"),
        (Failure.GROUP_AUTHORIZATION_FAILED, "", "group millstream-1-out"),
        (Failure.CLUSTER_AUTHORIZATION_FAILED, "", "IdempotentWrite"),
        (Failure.TOPIC_AUTHORIZATION_FAILED, "millstream-markers", "topic millstream-markers"),
        (Failure.TOPIC_AUTHORIZATION_FAILED, "totals", "topic totals"),
    ],
)
def test_a_missing_right_is_named(code, reason, right):
    error = str(not_written(CONNECTION, "totals", Failure(code, reason), SLICE))
    assert "MS328" in error
    assert right in error.replace("'", "")


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (Failure.MSG_SIZE_TOO_LARGE, "millstream topics alter totals --set max.message.bytes="),
        (Failure.INVALID_TRANSACTION_TIMEOUT, "transaction.timeout.ms"),
        (Failure._ALL_BROKERS_DOWN, "check that the brokers run"),
    ],
)
def test_another_cause_has_its_own_fix(code, fix):
    error = str(not_written(CONNECTION, "totals", Failure(code), SLICE))
    assert "MS327" in error
    assert "'totals' at broker:9092" in error
    assert fix in error
