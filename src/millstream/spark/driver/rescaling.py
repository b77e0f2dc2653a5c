"""Redistributes the state in a checkpoint over another number of shards, while no job runs on it.

Spark's checkpoint stays what it is: the positions of sources, the numbers of batches, the commits.
So sinks recognise what they have written, and the next batch is the one that would have come
anyway. Only the state of each stage is written anew, by a query of its own with the new number of
partitions: it runs one batch, and its snapshots get the version that the job's last batch has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

from millstream.engine.state.document import Document
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.inspection import by_step
from millstream.engine.state.resharding import (
    DifferentClocksError,
    common_clocks,
    cut_shard,
    with_new_shards,
)
from millstream.model.errors import RunError
from millstream.physical.resume import BY_CLOCK
from millstream.spark.compat.offset_log import COMMITS, OFFSETS, entry_of, last_batch
from millstream.spark.compat.state_files import (
    PARTITIONS,
    SNAPSHOTS_ONLY,
    STATE,
    partitions_in,
    set_partitions_of_batch,
    set_partitions_of_stage,
    snapshot_name,
    stages_in,
)
from millstream.spark.driver.damage import PLAN, kept_plan
from millstream.spark.driver.session import NEEDED
from millstream.spark.driver.shard_labels import labels_of
from millstream.spark.driver.state_reading import blobs_of, documents_of
from millstream.spark.driver.stopped_batch import untouched_batch
from millstream.spark.worker.processor import DOCUMENT
from millstream.spark.worker.state_loading import LoadState
from millstream.system.folders import Folder

_PIECES = "shard int, piece binary"
_LEFT_OUT = re.compile(rf"owner/|progress\.json$|{STATE}/\d+/\d+/")
"""What a new checkpoint does not have of the old one: the owner, and what is by shard."""
_LOADING = "loading"

Rows = dict[str, int]
"""How many rows the state of each step has."""


@dataclass(frozen=True)
class Rescaling:
    """One rescaling: from a checkpoint to a new one beside it."""

    job: str
    old: Folder
    new: Folder
    batch: int
    """The last batch, which is committed."""
    before: list[int]
    labels: list[int]
    clock: bool

    @classmethod
    def of(cls, job: str, folder: str, target: str, shards: int) -> Rescaling:
        """What is to be done; MS235 if it cannot be."""
        old = Folder.of(job, folder, "checkpoint")
        kept = kept_plan(old)
        batch, begun = last_batch(old, COMMITS), last_batch(old, OFFSETS)
        if batch is None or begun not in (batch, untouched_batch(old)):
            raise _refused(job, "its last batch is not committed, and must be retried as it was")
        new = Folder.of(job, target, "checkpoint")
        labels = labels_of(shards, shards)
        return cls(job, old, new, batch, kept["labels"], labels, BY_CLOCK in kept["plan"])

    def run(self, session: Callable[[], SparkSession]) -> Rows:
        """Writes the new checkpoint; returns how many rows the state of each step has."""
        with suppress(FileNotFoundError):
            self.new.system.delete_dir(self.new.root)  # of an attempt that was killed
        self._copy_all_but_state()
        for batch in {self.batch, last_batch(self.old, OFFSETS) or 0}:
            entry = entry_of(self.old, batch)
            set_partitions_of_batch(self.new, batch, entry, len(self.labels))
        stages = stages_in(self.old)
        rows = self._redistribute(session(), stages) if stages else {}
        self._write_plan()
        return rows

    def _redistribute(self, spark: SparkSession, stages: list[int]) -> Rows:
        documents = {n: documents_of(spark, self.old.path, n) for n in stages}
        loader = self._session(spark)
        for stage, document in self._common(documents).items():
            self._load(loader, stage, document)
            self._adopt(stage)
            set_partitions_of_stage(self.new, stage, len(self.labels))
        self.new.system.delete_dir(f"{self.new.root}/{_LOADING}")
        found = {n: documents_of(spark, self.new.path, n) for n in stages}
        return self._checked(documents, found)

    def _common(self, documents: dict[int, dict[int, Document]]) -> dict[int, Document]:
        """The clocks of the new shards of each stage."""
        try:
            common = {
                stage: common_clocks(list(mine.values())) for stage, mine in documents.items()
            }
        except DifferentClocksError as error:
            what = f"the shards of step {str(error)!r} have not all got the last watermark yet"
            raise _refused(self.job, what) from error
        operators = [step for each in common.values() for step in each.operators]
        shards = len(self.labels)
        return {n: with_new_shards(each, operators, shards) for n, each in common.items()}

    def _copy_all_but_state(self) -> None:
        names = [name for name in self.old.files() if not _LEFT_OUT.match(name) and name != PLAN]
        # Checksums of Hadoop are not those of files that are changed here.
        for name in (n for n in names if not n.endswith(".crc")):
            self.copy(f"{self.old.root}/{name}", name)

    def copy(self, path: str, name: str) -> None:
        """Copies a file of the old checkpoint's file system into the new checkpoint."""
        self.new.make(name.rpartition("/")[0])
        fs.copy_files(
            path,
            f"{self.new.root}/{name}",
            source_filesystem=self.old.system,
            destination_filesystem=self.new.system,
        )

    def _session(self, spark: SparkSession) -> SparkSession:
        """A session whose settings are only for what writes the state."""
        session = spark.newSession()
        settings = {
            **NEEDED,
            **SNAPSHOTS_ONLY,
            PARTITIONS: str(len(self.labels)),
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        }
        for name, value in settings.items():
            session.conf.set(name, value)
        return session

    def _load(self, spark: SparkSession, stage: int, document: Document) -> None:
        """Writes the state of a stage into a checkpoint of its own."""
        folder = f"{self.new.path}/{_LOADING}/{stage}"
        before, labels = self.before, self.labels

        def cut(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
            names = zip(table["name"].to_pylist(), table["blob"].to_pylist(), strict=True)
            blobs = InMemoryStore(names)
            mine = Document.from_json(blobs.pop(DOCUMENT))
            number = before.index(key[0].as_py())
            pieces = cut_shard(mine, blobs, number, len(before), len(labels))
            made = [(labels[to], msgspec.msgpack.encode(piece)) for to, piece in pieces]
            shards, packed = zip(*made, strict=True) if made else ((), ())
            types = (pa.int32(), pa.binary())
            columns = [pa.array(c, t) for c, t in zip((shards, packed), types, strict=True)]
            return pa.table(columns, names=["shard", "piece"])

        pieces = blobs_of(spark, self.old.path, stage).groupBy("shard").applyInArrow(cut, _PIECES)
        every = spark.createDataFrame([(label, None) for label in labels], _PIECES)
        pieces.unionByName(every).write.parquet(f"{folder}/pieces")
        stream = spark.readStream.schema(_PIECES).parquet(f"{folder}/pieces")
        loaded = stream.groupBy("shard").transformWithState(
            LoadState(document.to_json(), self.clock),
            "shard int",
            "append",
            "processingtime" if self.clock else "none",
        )
        writer = loaded.writeStream.format("noop").outputMode("append")
        writer = writer.option("checkpointLocation", f"{folder}/spark").trigger(availableNow=True)
        writer.start().awaitTermination()

    def _adopt(self, stage: int) -> None:
        """Gives the snapshots of a stage to the new checkpoint, as of the job's last batch."""
        root = f"{_LOADING}/{stage}"
        written = Folder.of(self.job, f"{self.new.path}/{root}", "checkpoint")
        for partition in partitions_in(written, 0):
            for name in written.files():
                _, mine, file = name.partition(f"{STATE}/0/{partition}/")
                if mine and not file.endswith(".crc"):
                    target = snapshot_name(self.batch + 1) if file == snapshot_name(1) else file
                    to = f"{STATE}/{stage}/{partition}/{target}"
                    self.new.make(to.rpartition("/")[0])
                    self.new.move(f"{root}/{name}", to=to)

    def _checked(
        self, old: dict[int, dict[int, Document]], new: dict[int, dict[int, Document]]
    ) -> Rows:
        """MS235 if the new state does not have all rows of the old one."""
        before, after = _rows(old.values()), _rows(new.values())
        complete = all(set(each) == set(self.labels) for each in new.values())
        if before != after or not complete:
            raise RunError(
                "MS235",
                f"the redistributed state of job {self.job!r} is not complete: it has the rows "
                f"{after}, and not {before}",
                fix="nothing is changed: resume the job as it was, and report this. What was "
                f"written is in {self.new.path!r}",
            )
        return after

    def _write_plan(self) -> None:
        """The plan last: without it, a checkpoint is not complete."""
        kept = json.loads(self.old.read(PLAN))
        with self.new.create(PLAN) as stream:
            text = json.dumps({**kept, "labels": self.labels}, indent=2, ensure_ascii=False)
            stream.write(text.encode())


def _rows(stages: Iterable[dict[int, Document]]) -> Rows:
    return {step: state.rows for each in stages for step, state in by_step(each.values()).items()}


def _refused(job: str, why: str) -> RunError:
    return RunError(
        "MS235",
        f"the state of job {job!r} cannot be redistributed now: {why}",
        fix=f"resume the job, let it process a batch, and stop it: millstream jobs resume {job}; "
        f"millstream jobs stop {job}",
    )
