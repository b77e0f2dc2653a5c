"""The tasks of a Python stage, each linked to the tasks that take its rows."""

from __future__ import annotations

from millstream.physical.plan import Instance
from millstream.plan.nodes import Sink
from millstream.sinks.kinds import sink_of
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.tasks import sink_schema, task_of
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.sinks import Write
from millstream.spark.worker.tasks.task import RejectingTask, Task, in_order
from millstream.spark.worker.tasks.to_jvm import ToJvm


class TaskGraph:
    """The tasks of ``steps``. The ``last`` Python stage also has one writer for each sink."""

    def __init__(self, lowering: Lowering, steps: list[Instance], last: bool) -> None:
        self.steps = steps
        self.tasks = {instance: task_of(lowering, instance, last) for instance in steps}
        self.writes = {sink.name: _write(lowering, sink) for sink in _fed(lowering)} if last else {}
        self.to_jvm: dict[Instance, ToJvm] = {}
        for instance in steps:
            self._link(lowering, instance)

    @property
    def all(self) -> list[Task]:
        """All tasks, each before those that it gives rows to."""
        return in_order([*self.tasks.values(), *self.to_jvm.values(), *self.writes.values()])

    def readers(self, instance: Instance) -> list[Task]:
        """The tasks that take the rows of a step."""
        return [self.tasks[c] for c in _readers(instance) if c in self.tasks]

    def reject_readers(self, instance: Instance) -> list[Task]:
        """The tasks that take what a step rejects."""
        return [self.tasks[c] for c in instance.consumers if _is_reject(c) and c in self.tasks]

    def _link(self, lowering: Lowering, instance: Instance) -> None:
        task = self.tasks[instance]
        task.then += self.readers(instance)
        if isinstance(task, RejectingTask):
            task.rejected += self.reject_readers(instance)
        if any(c.phase == instance.phase + 1 for c in _readers(instance)):
            columns = self._new_columns(lowering, instance)
            self.to_jvm[instance] = ToJvm(step=instance.node.name, columns=columns)
            task.then.append(self.to_jvm[instance])
        if instance.node.name in self.writes and isinstance(instance.node, Sink):
            task.then.append(self.writes[instance.node.name])

    def _new_columns(self, lowering: Lowering, instance: Instance) -> StepColumns:
        """Columns of the next wide frame for the rows of a step."""
        number = f"{instance.stage}_{instance.phase}_{self.steps.index(instance)}"
        names = lowering.types[instance].names
        return StepColumns(
            {name: f"__millstream_p{number}_{i}" for i, name in enumerate(names)},
            f"__millstream_f{number}",
            f"__millstream_t{number}",
            f"__millstream_g{number}",
            f"__millstream_o{number}" if lowering.plan.is_ordered else None,
        )


def _readers(instance: Instance) -> list[Instance]:
    return [c for c in instance.consumers if not _is_reject(c)]


def _is_reject(instance: Instance) -> bool:
    return instance.role == "rejected"


def _fed(lowering: Lowering) -> list[Sink]:
    """The sinks that any rows can reach: a rejected output may have nothing before it."""
    fed = {instance.node for instance in lowering.plan.instances}
    return [sink for sink in lowering.plan.sinks if sink in fed]


def _write(lowering: Lowering, sink: Sink) -> Write:
    schema = sink_schema(lowering, sink)
    return Write(step=sink.name, target=sink_of(sink.name, sink.target).opened(), schema=schema)
