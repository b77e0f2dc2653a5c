"""What a program has in its checkpoint folder, from which another run continues.

    program-<zero>          the graph with its functions, and the settings of Spark
    run-<zero>/query        the checkpoint of the Structured Streaming query
    run-<zero>/batch-<time> the last batch that was begun: see ``Progress``
    run-<zero>/rdds         RDDs that were checkpointed
    run-<zero>/received     what receivers got

``<zero>`` is the time at which the program was first started: a program that starts anew, and does
not continue, has a run of its own, and the run before it is removed.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.serializers import Serializer

from millstream.dstream.by_value import by_name
from millstream.dstream.graph.graph import Graph
from millstream.dstream.graph.node import Node
from millstream.dstream.hadoop import Files
from millstream.spark.compat.pickler import pickled_with_code

_OF_ONE_RUN = ("spark.app.id", "spark.app.startTime", "spark.driver.host", "spark.driver.port")


@dataclass
class Progress:
    """The state of a program after the graph of a batch was evaluated, before any output of it.

    A batch that is retried finds what its inputs took in ``taken``. RDDs that are not in ``rdds``
    are computed again, from what was taken and from older RDDs.
    """

    taken: dict[int, dict[int, Any]] = field(default_factory=dict)
    """For each input, by its number in the graph, what each batch took."""
    positions: dict[int, Any] = field(default_factory=dict)
    """For each input, where it continues."""
    rdds: dict[int, dict[int, tuple[str, Serializer]]] = field(default_factory=dict)
    """For each DStream that is checkpointed, the file of each time, and how to read it."""
    failed: list[int] = field(default_factory=list)
    """The times of batches in which a function of the program failed."""

    @classmethod
    def of(cls, graph: Graph, failed: list[int]) -> Progress:
        """The progress of a graph."""
        return cls(
            {each.number: dict(each.taken) for each in graph.inputs},
            {each.number: each.position() for each in graph.inputs},
            {node.number: _files_of(node) for node in graph.nodes() if node.checkpoint_interval},
            list(failed),
        )

    def restore(self, graph: Graph) -> None:
        """Puts a graph where another run of it was."""
        for each in graph.inputs:
            each.taken = self.taken[each.number]
            each.resume(self.positions[each.number])
        for node in graph.nodes():
            for time, (file, serializer) in self.rdds.get(node.number, {}).items():
                node.rdds[time] = graph.context._checkpointFile(file, serializer)  # type: ignore[arg-type] # any serializer will do

    def files(self) -> set[str]:
        """The files of the RDDs."""
        return {file for times in self.rdds.values() for file, _ in times.values()}


def _files_of(node: Node) -> dict[int, tuple[str, Serializer]]:
    """The files of the RDDs of a node, which are there once a job has computed them."""
    found = {}
    for time, rdd in node.rdds.items():
        file = rdd.getCheckpointFile() if rdd is not None and node.is_checkpoint(time) else None
        if rdd is not None and file is not None:
            found[time] = file, rdd._jrdd_deserializer
    return found


class Checkpoint:
    """The checkpoint folder of a program that runs."""

    def __init__(self, files: Files, folder: str, zero: int) -> None:
        self._files = files
        self._folder = folder
        self._zero = zero
        self.run = f"{folder}/run-{zero}"
        self._last: tuple[str, Progress] | None = None

    def begin(self, graph: Graph) -> None:
        """Writes the program, and removes those that were started here before."""
        settings = [
            (key, value)
            for key, value in graph.context.getConf().getAll()
            if key not in _OF_ONE_RUN
        ]
        with by_name():
            program = pickled_with_code((graph, settings))
        old = [name for name in self._files.names(self._folder) if name.startswith(_OURS)]
        self._files.write(f"{self._folder}/program-{self._zero}", program)
        for name in old:
            self._files.delete(f"{self._folder}/{name}")

    def write(self, time: int, progress: Progress) -> None:
        """Writes the progress, and removes what only the one before it needed."""
        name = f"{self.run}/batch-{time}"
        self._files.write(name, pickle.dumps(progress))
        if self._last is not None:
            before, old = self._last
            for file in [*([before] if before != name else []), *old.files() - progress.files()]:
                self._files.delete(file)
        self._last = name, progress

    def read(self) -> Progress | None:
        """The progress of the run before this one, if it had begun a batch."""
        names = [name for name in self._files.names(self.run) if name.startswith("batch-")]
        complete = [name for name in names if not name.endswith(".part")]
        if not complete:
            return None
        name = f"{self.run}/{max(complete, key=lambda each: int(each.removeprefix('batch-')))}"
        progress: Progress = pickle.loads(self._files.read(name))
        self._last = name, progress
        return progress


_OURS = ("program-", "run-")


def program_in(folder: str) -> Graph | None:
    """The graph that was last started with a checkpoint folder; None if there is none.

    It gets the SparkContext that there is, or one with the settings of that run.
    """
    context = SparkContext._active_spark_context
    files = Files(context)
    names = [name for name in files.names(folder) if name.startswith("program-")]
    complete = [name for name in names if not name.endswith(".part")]
    if not complete:
        return None
    name = max(complete, key=lambda each: int(each.removeprefix("program-")))
    graph: Graph
    graph, settings = pickle.loads(files.read(f"{folder}/{name}"))
    graph.context = context or SparkContext(conf=SparkConf().setAll(settings))
    return graph
