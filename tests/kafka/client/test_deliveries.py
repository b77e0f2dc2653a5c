"""Which records have arrived, and the error for those that have not."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.deliveries import Deliveries
from millstream.model.errors import KafkaError


def test_every_line_that_did_not_arrive_is_named_with_its_reason():
    reported: list[str] = []
    deliveries = Deliveries(reported.append)
    too_large, late = Failure(Failure.MSG_SIZE_TOO_LARGE), Failure(Failure._MSG_TIMED_OUT)
    for line in range(1, 21):
        deliveries.add(line, None if line == 3 else too_large if line % 20 else late)
    assert reported == [
        f"line {line} did not arrive: Broker: Message size too large"
        for line in (1, 2, *range(4, 12))
    ]
    with pytest.raises(KafkaError) as error:
        deliveries.check()
    assert error.value.what == (
        "19 of 20 records did not arrive: lines 1-2, 4-19 (Broker: Message size too large); "
        "line 20 (Local: Message timed out)"
    )


def test_records_that_have_all_arrived_are_no_error():
    deliveries = Deliveries(pytest.fail)
    for line in (1, 2):
        deliveries.add(line, None)
    deliveries.check()
    assert (deliveries.arrived, deliveries.failed) == (2, 0)
