"""The names of ``pyspark.streaming.kinesis``, for programs that import them.

Kinesis itself cannot be read: Spark's receiver for it is part of the engine of Spark Streaming.
"""

from __future__ import annotations

from typing import Any, NoReturn

from millstream.dstream.graph.node import unusable
from millstream.dstream.inputs.kafka import utf8_decoder

__all__ = ["InitialPositionInStream", "KinesisUtils", "MetricsLevel", "utf8_decoder"]


class InitialPositionInStream:
    """Where PySpark begins to read."""

    LATEST, TRIM_HORIZON = 0, 1


class MetricsLevel:
    """How much PySpark reports to CloudWatch."""

    DETAILED, SUMMARY, NONE = 0, 1, 2


class KinesisUtils:
    """What makes DStreams of Kinesis in PySpark."""

    @staticmethod
    def createStream(*_: Any, **__: Any) -> NoReturn:
        """Raises: there is no way to read Kinesis here."""
        raise unusable(
            "Kinesis cannot be read: its receiver needs the engine of Spark Streaming",
            "copy the records to Kafka, with Kafka Connect for example, and call kafkaStream",
        )
