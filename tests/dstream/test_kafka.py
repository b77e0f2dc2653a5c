"""Records of Kafka come in once, from where the program was."""

from __future__ import annotations

from millstream.dstream import StreamingContext, StreamingListener
from topics import new_topic, put
from waiting import until


class Taken(StreamingListener):
    """Records how many records were taken, and from where."""

    def __init__(self) -> None:
        self.count = 0
        self.descriptions: list[str] = []

    def onBatchCompleted(self, batchCompleted):
        info = batchCompleted.batchInfo()
        self.count += info.numRecords()
        described = [each.metadataDescription() for each in info.streamIdToInputInfo().values()]
        self.descriptions += filter(None, described)


def test_records_of_topics_come_in_once_and_a_resumed_program_continues(context, broker, tmp_path):
    first, second = new_topic(broker.servers, partitions=2), new_topic(broker.servers)
    put(broker.servers, first, [("k", "before")])
    settings = {"bootstrap.servers": broker.servers, "auto.offset.reset": "earliest"}

    def setup() -> StreamingContext:
        ssc = StreamingContext(context, 0.5)
        records = ssc.kafkaStream([first, second], settings)
        records.map(repr).saveAsTextFiles(f"{tmp_path}/batch")
        return ssc

    def written() -> list[str]:
        parts = sorted(tmp_path.glob("batch-*/part-*"))
        return [line for part in parts for line in part.read_text().splitlines()]

    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
    taken = Taken()
    ssc.addStreamingListener(taken)
    ssc.start()
    until(lambda: ssc.awaitTerminationOrTimeout(0) or len(written()) == 1)
    put(broker.servers, second, [("é", "running"), (None, "no key")])
    until(lambda: len(written()) == taken.count == 3)
    ssc.stop(False)
    last = taken.descriptions[-1]
    assert last.startswith(f"topic: {second}\tpartition: 0\toffsets: ")
    assert last.endswith(" to 2")
    put(broker.servers, first, [("k", "stopped")])
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
    ssc.start()
    until(lambda: len(written()) == 4)
    ssc.stop(False)
    assert sorted(written()) == sorted(
        map(repr, [("k", "before"), ("é", "running"), (None, "no key"), ("k", "stopped")])
    )
