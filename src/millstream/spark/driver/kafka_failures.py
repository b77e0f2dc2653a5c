"""Errors of Java's client of Kafka, which reads the records: Spark hands on only text."""

from __future__ import annotations

from millstream.kafka.client.rights import Right, missing_right
from millstream.model.errors import KafkaError
from millstream.spark.compat.messages import DATA_LOSS, KAFKA_RAISED, KAFKA_READ


def lost_records(text: str) -> KafkaError | None:
    """The error for records that Spark was to read, and that Kafka no longer has."""
    found = DATA_LOSS.search(text)
    if found is None:
        return None
    return KafkaError(
        "MS350",
        f"records were gone before they were read, by retention or with their topic: "
        f"{found['what']}",
        fix="keep records for longer than the job may be away, retention.ms; to continue without "
        "them, counted, write read_kafka(…, on_data_loss='continue')",
    )


def client_error(text: str) -> KafkaError | None:
    """The error for what Java's client has raised, if it has.

    >>> raised = "org.apache.kafka.common.errors.TopicAuthorizationException: "
    >>> print(client_error(raised + "Not authorized to access topics: [scores]").what)
    a right is missing to read topic 'scores': Read on topic 'scores'
    """
    found = KAFKA_RAISED.search(text)
    if found is None:
        return None
    why, name = found["why"], found["why"].rpartition(": ")[2].strip("[]")
    match found["kind"]:
        case "SslAuthentication" | "SaslAuthentication":
            return _kept_out(why)
        case "TopicAuthorization":
            return missing_right(Right("Read", "topic", name), f"read topic {name!r}")
        case "GroupAuthorization":
            return missing_right(Right("Read", "group", name), "read topics in Spark")
        case "UnknownTopicOrPartition":
            return _gone(text)
        case "Timeout":
            return _away(why)
    return None


def _kept_out(why: str) -> KafkaError:
    """Python's client has got in before the job began."""
    return KafkaError(
        "MS320",
        f"Kafka does not let Spark's client in: {why}",
        fix="if it did before, see what has changed, a password or a certificate; else give "
        "read_kafka(…, options=…) settings that Java's client knows, too",
    )


def _gone(text: str) -> KafkaError:
    read = KAFKA_READ.search(text)
    which = f"a topic of {read['topics']}" if read else "a topic that the job reads"
    return KafkaError(
        "MS321",
        f"{which} is gone: it was deleted while the job ran",
        fix="create it again, and run the job again with read_kafka(…, on_data_loss='continue'): "
        "it reads the new topic from its beginning",
    )


def _away(why: str) -> KafkaError:
    return KafkaError(
        "MS320",
        f"no Kafka broker answers Spark's client any more: {why}",
        fix="see that the brokers run, then run the job again: it continues where it was",
    )
