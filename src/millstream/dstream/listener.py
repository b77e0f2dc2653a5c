"""Listeners that are called as batches begin and end, and what they get."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass, field
from typing import Any


class StreamingListener:
    """Override the methods of what you need to know, and give it to ``addStreamingListener``."""

    def onStreamingStarted(self, streamingStarted: Any) -> None:
        """The context has started; ``streamingStarted.time`` is when, in milliseconds."""

    def onReceiverStarted(self, receiverStarted: Any) -> None:
        """A receiver has started."""

    def onReceiverError(self, receiverError: Any) -> None:
        """A receiver has reported an error."""

    def onReceiverStopped(self, receiverStopped: Any) -> None:
        """A receiver has stopped."""

    def onBatchSubmitted(self, batchSubmitted: Any) -> None:
        """A batch was evaluated, and its outputs will run."""

    def onBatchStarted(self, batchStarted: Any) -> None:
        """The first output of a batch runs."""

    def onBatchCompleted(self, batchCompleted: Any) -> None:
        """All outputs of a batch have run."""

    def onOutputOperationStarted(self, outputOperationStarted: Any) -> None:
        """An output of a batch runs."""

    def onOutputOperationCompleted(self, outputOperationCompleted: Any) -> None:
        """An output of a batch has run."""


def notify(listeners: list[StreamingListener], method: str, event: Any) -> None:
    """Calls all listeners; as in Spark, one that fails does no harm to the program."""
    for listener in listeners:
        try:
            getattr(listener, method)(event)
        except Exception:
            traceback.print_exc(file=sys.stderr)


@dataclass(frozen=True)
class Time:
    """A time as Spark's listeners report it."""

    _ms: int

    def milliseconds(self) -> int:
        return self._ms


@dataclass(frozen=True)
class OutputOperationInfo:
    """One output of a batch: when it ran and why it failed; -1 and None where it did not."""

    _time: int
    _id: int
    _start: int = -1
    _end: int = -1
    _failure: str | None = None

    def batchTime(self) -> Time:
        return Time(self._time)

    def id(self) -> int:
        return self._id

    def name(self) -> str:
        return "foreachRDD"

    def description(self) -> str:
        return f"output {self._id}"

    def startTime(self) -> int:
        return self._start

    def endTime(self) -> int:
        return self._end

    def failureReason(self) -> str | None:
        return self._failure


@dataclass(frozen=True)
class StreamInputInfo:
    """What one input took for a batch."""

    _id: int
    _records: int
    _metadata: dict[str, Any]

    def inputStreamId(self) -> int:
        return self._id

    def numRecords(self) -> int:
        """How many records it took, where that is known before they are read."""
        return self._records

    def metadata(self) -> dict[str, Any]:
        return self._metadata

    def metadataDescription(self) -> str | None:
        return self._metadata.get("Description")


@dataclass(frozen=True)
class BatchInfo:
    """A batch, as far as it has run: delays are in milliseconds, or -1 if not known yet."""

    _time: int
    _submitted: int
    _started: int = -1
    _completed: int = -1
    _outputs: dict[int, OutputOperationInfo] = field(default_factory=dict)
    _inputs: dict[int, StreamInputInfo] = field(default_factory=dict)

    def batchTime(self) -> Time:
        return Time(self._time)

    def submissionTime(self) -> int:
        return self._submitted

    def processingStartTime(self) -> int:
        return self._started

    def processingEndTime(self) -> int:
        return self._completed

    def schedulingDelay(self) -> int:
        return -1 if self._started < 0 else self._started - self._submitted

    def processingDelay(self) -> int:
        return -1 if self._completed < 0 else self._completed - self._started

    def totalDelay(self) -> int:
        return -1 if self._completed < 0 else self._completed - self._submitted

    def numRecords(self) -> int:
        """How many records all inputs took; as in Spark, those of queues and files count as 0."""
        return sum(each.numRecords() for each in self._inputs.values())

    def streamIdToInputInfo(self) -> dict[int, StreamInputInfo]:
        """By the number of the input. As in Spark, queues are not among them."""
        return self._inputs

    def outputOperationInfos(self) -> dict[int, OutputOperationInfo]:
        return self._outputs


@dataclass(frozen=True)
class ReceiverInfo:
    """A receiver, which runs in a thread of the driver, and what went wrong last."""

    _id: int
    _name: str
    _active: bool
    _error: str = ""
    _error_time: int = -1

    def streamId(self) -> int:
        return self._id

    def name(self) -> str:
        return self._name

    def active(self) -> bool:
        return self._active

    def location(self) -> str:
        return "driver"

    def executorId(self) -> str:
        return "driver"

    def lastErrorMessage(self) -> str:
        return self._error

    def lastError(self) -> str:
        return self._error

    def lastErrorTime(self) -> int:
        return self._error_time


@dataclass(frozen=True)
class ReceiverEvent:
    """A receiver has started, has stopped, or has failed."""

    _info: ReceiverInfo

    def receiverInfo(self) -> ReceiverInfo:
        return self._info


@dataclass(frozen=True)
class StreamingStarted:
    """The context has started."""

    time: int


@dataclass(frozen=True)
class BatchEvent:
    """A batch has been submitted, started or completed."""

    _info: BatchInfo

    def batchInfo(self) -> BatchInfo:
        return self._info


@dataclass(frozen=True)
class OutputEvent:
    """An output has started or completed."""

    _info: OutputOperationInfo

    def outputOperationInfo(self) -> OutputOperationInfo:
        return self._info
