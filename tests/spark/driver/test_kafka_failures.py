"""What Java's client of Kafka raises becomes an error that says what to do; no Spark runs here."""

from __future__ import annotations

import pytest

from millstream.model.errors import KafkaError
from millstream.spark.driver.failures import explained

QUERY = "Current Committed Offsets: {KafkaV2[Subscribe[scores, bonus]]: {}}"


@pytest.mark.parametrize(
    ("kind", "why", "code", "what", "fix"),
    [
        ("TopicAuthorization", "Not authorized to access topics: [scores]", "MS328",
         "Read on topic 'scores'", "--operation Read --topic scores"),
        ("GroupAuthorization", "Not authorized to access group: spark-1", "MS328",
         "Read on group 'spark-1'", "--operation Read --group spark-1"),
        ("UnknownTopicOrPartition", "This server does not host this topic-partition.", "MS321",
         "a topic of scores, bonus is gone: it was deleted while the job ran", "create it again"),
        ("Timeout", "Timed out waiting for a node assignment. Call: describeTopics", "MS320",
         "no Kafka broker answers Spark's client any more: Timed out", "see that the brokers run"),
        ("SaslAuthentication", "Authentication failed.", "MS320",
         "Kafka does not let Spark's client in: Authentication failed", "what has changed"),
    ],
)  # fmt: skip
def test_an_error_of_javas_client_is_explained(kind, why, code, what, fix):
    message = f"[STREAM_FAILED] …: org.apache.kafka.common.errors.{kind}Exception: {why}"
    with pytest.raises(KafkaError) as caught, explained():
        raise RuntimeError(f"{message} SQLSTATE: XXKST\n=== Streaming Query ===\n{QUERY}")
    assert caught.value.code == code
    assert what in caught.value.what
    assert fix in caught.value.fix
