"""``StreamingContext``: where DStream programs begin, and what starts and stops them."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pyspark import RDD, SparkContext, StorageLevel
from pyspark.sql import SparkSession

from millstream.dstream.arguments import milliseconds
from millstream.dstream.checkpoint import program_in
from millstream.dstream.dstream import DStream
from millstream.dstream.graph.graph import Graph
from millstream.dstream.graph.node import unusable
from millstream.dstream.graph.transforms import TransformedAll
from millstream.dstream.hadoop import Files
from millstream.dstream.inputs.files import BinaryRecords, FileInput, TextLines
from millstream.dstream.inputs.input import Input
from millstream.dstream.inputs.kafka import Decoder, KafkaInput, utf8_decoder
from millstream.dstream.inputs.queue import QueueInput
from millstream.dstream.inputs.socket import SocketInput
from millstream.dstream.listener import StreamingListener
from millstream.dstream.run import Run
from millstream.model.errors import PlanError
from millstream.spark.compat.moved import reach


class StreamingContext:
    """A DStream program: ``pyspark.streaming.StreamingContext``, on Structured Streaming.

    ``batchDuration`` is the interval of the batches, in seconds.
    """

    _active: ClassVar[StreamingContext | None] = None

    def __init__(self, sparkContext: SparkContext, batchDuration: float) -> None:
        _check_context(sparkContext)
        self._begin(Graph(sparkContext, milliseconds(batchDuration)), None)

    def _begin(self, graph: Graph, folder: str | None) -> None:
        self._graph = graph
        self._folder = folder
        self._resumed = folder is not None
        self._listeners: list[StreamingListener] = []
        self._run: Run | None = None
        self._stopped = threading.Event()
        self._stopping = threading.RLock()

    @classmethod
    def getOrCreate(
        cls, checkpointPath: str, setupFunc: Callable[[], StreamingContext]
    ) -> StreamingContext:
        """The program of a checkpoint folder, to continue it; or, if there is none, a new one."""
        graph = program_in(checkpointPath)
        if graph is None:
            created = setupFunc()
            created.checkpoint(checkpointPath)
            return created
        resumed = cls.__new__(cls)
        resumed._begin(graph, Files(graph.context).full(checkpointPath))
        return resumed

    @classmethod
    def getActive(cls) -> StreamingContext | None:
        """The context that was started and not stopped, if there is one."""
        return StreamingContext._active

    @classmethod
    def getActiveOrCreate(
        cls, checkpointPath: str | None, setupFunc: Callable[[], StreamingContext]
    ) -> StreamingContext:
        """The active context; or as ``getOrCreate``; or, without a folder, a new one."""
        if not callable(setupFunc):
            raise TypeError("setupFunc should be callable.")
        active = cls.getActive()
        if active is not None:
            return active
        return setupFunc() if checkpointPath is None else cls.getOrCreate(checkpointPath, setupFunc)

    @property
    def sparkContext(self) -> SparkContext:
        """The SparkContext that the program runs on."""
        return self._graph.context

    @property
    def _sc(self) -> SparkContext:
        return self._graph.context

    @property
    def _jvm(self) -> Any:
        return reach(self._graph.context, "_jvm")

    @property
    def _jssc(self) -> StreamingContext:
        """Programs for PySpark may stop what is in the JVM; here there is only this."""
        return self

    def start(self) -> None:
        """Starts the batches; the first is at the next multiple of the interval."""
        with self._stopping:
            if self._stopped.is_set():
                raise unusable("a context that was stopped cannot be started", "make another one")
            if StreamingContext._active not in (None, self):
                raise unusable(
                    "another StreamingContext is active in this process", "stop it before"
                )
            if self._run is None:
                run = Run(self._graph, self._folder, self._listeners)
                run.start(self._resumed)
                self._run = run
                StreamingContext._active = self

    def awaitTermination(self, timeout: float | None = None) -> None:
        """Waits until the program is stopped; raises if a function of it failed."""
        self._wait(timeout)

    def awaitTerminationOrTimeout(self, timeout: float) -> bool:
        """As ``awaitTermination``, for so many seconds; returns whether the program has stopped."""
        return self._wait(timeout)

    def _wait(self, timeout: float | None) -> bool:
        end = None if timeout is None else clock.monotonic() + timeout
        while not self._stopped.is_set():
            if self._run is not None:
                self._run.raise_failure()
            left = None if end is None else end - clock.monotonic()
            if left is not None and left <= 0:
                return False
            self._stopped.wait(0.1 if left is None else min(0.1, left))
        if self._run is not None:
            self._run.raise_failure()
        return True

    def stop(self, stopSparkContext: bool = True, stopGraceFully: bool = False) -> None:
        """Stops the batches, and the SparkContext as well.

        With ``stopGraceFully``, what has arrived by now is processed before.
        """
        if self._run is not None and self._run.is_own_thread():
            # A batch cannot wait for its own end.
            threading.Thread(target=self.stop, args=(stopSparkContext, stopGraceFully)).start()
            return
        with self._stopping:
            if self._run is not None and not self._stopped.is_set():
                self._run.stop(stopGraceFully)
            self._graph.started = True
            self._stopped.set()
            if StreamingContext._active is self:
                StreamingContext._active = None
        if stopSparkContext:
            self.sparkContext.stop()

    def remember(self, duration: float) -> None:
        """Has each DStream keep its RDDs for at least so many seconds."""
        self._graph.remember = milliseconds(duration)

    def checkpoint(self, directory: str) -> None:
        """Keeps the program and its state in a folder, from which ``getOrCreate`` continues it."""
        files = Files(self.sparkContext)
        self._folder = files.full(directory)
        files.make(self._folder)
        self._graph.checkpointed = True

    def queueStream(
        self,
        rdds: Sequence[RDD[Any] | Sequence[Any]],
        oneAtATime: bool = True,
        default: RDD[Any] | Sequence[Any] | None = None,
    ) -> DStream[Any]:
        """RDDs or lists, one for each batch, or all of them in the first; then the default."""
        return self._input(QueueInput(self._graph.interval, rdds, oneAtATime, default))

    def textFileStream(self, directory: str) -> DStream[str]:
        """The lines of the files that are moved into a folder while the program runs."""
        return self._input(FileInput(self._graph.interval, directory, TextLines()))

    def binaryRecordsStream(self, directory: str, recordLength: int) -> DStream[bytes]:
        """As ``textFileStream``, for files of records that all have the same length in bytes."""
        return self._input(FileInput(self._graph.interval, directory, BinaryRecords(recordLength)))

    def socketTextStream(
        self,
        hostname: str,
        port: int,
        storageLevel: StorageLevel = StorageLevel.MEMORY_AND_DISK_2,
    ) -> DStream[str]:
        """The lines that a server sends. ``storageLevel`` has no effect.

        With a checkpoint folder, lines are written to it before they are used.
        """
        return self._input(SocketInput(self._graph.interval, hostname, port))

    def kafkaStream(
        self,
        topics: Sequence[str],
        kafkaParams: Mapping[str, Any],
        fromOffsets: Mapping[tuple[str, int], int] | None = None,
        keyDecoder: Decoder = utf8_decoder,
        valueDecoder: Decoder = utf8_decoder,
    ) -> DStream[tuple[Any, Any]]:
        """Keys and values of the records of some topics.

        ``kafkaParams`` has the address, ``bootstrap.servers``, where to begin,
        ``auto.offset.reset`` (``latest`` unless given), and other settings of librdkafka.
        ``fromOffsets`` begins with the offset of a topic and partition.
        """
        decoders = keyDecoder, valueDecoder
        offsets = fromOffsets or {}
        return self._input(KafkaInput(self._graph.interval, topics, kafkaParams, offsets, decoders))

    def transform(
        self, dstreams: Sequence[DStream[Any]], transformFunc: Callable[..., RDD[Any]]
    ) -> DStream[Any]:
        """What a function makes of a list of the RDDs of some DStreams."""
        return DStream(self, TransformedAll([each._node for each in dstreams], transformFunc))

    def union(self, *dstreams: DStream[Any]) -> DStream[Any]:
        """The elements of all these DStreams, which must have the same slide."""
        if not dstreams:
            raise unusable("there are no DStreams to unite", "give union at least one")
        if len(dstreams) == 1:
            return dstreams[0]
        nodes = [each._node for each in dstreams]
        return DStream(self, TransformedAll(nodes, lambda rdds: rdds[0].context.union(rdds)))

    def addStreamingListener(self, streamingListener: StreamingListener) -> None:
        """Calls a listener as batches begin and end."""
        self._listeners.append(streamingListener)

    def _input(self, node: Input) -> DStream[Any]:
        return DStream(self, node)


def _check_context(context: object) -> None:
    if isinstance(context, SparkSession):
        raise unusable(
            "a DStream program needs a SparkContext, not a SparkSession",
            "write StreamingContext(spark.sparkContext, …)",
        )
    if not isinstance(context, SparkContext):
        raise PlanError(
            "MS128",
            f"a DStream program needs a SparkContext, not {type(context).__name__}: Spark"
            " Connect has no RDDs",
            fix="run the program with SparkContext or SparkSession.builder.master(…), without"
            " .remote(…) and SPARK_REMOTE",
        )
