"""Records of Kafka come in once, from where the program was."""

from __future__ import annotations

from millstream.dstream import StreamingContext
from topics import new_topic, put
from waiting import until


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
    ssc.start()
    until(lambda: ssc.awaitTerminationOrTimeout(0) or len(written()) == 1)
    put(broker.servers, second, [("é", "running"), (None, "no key")])
    until(lambda: len(written()) == 3)
    ssc.stop(False)
    put(broker.servers, first, [("k", "stopped")])
    ssc = StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup)
    ssc.start()
    until(lambda: len(written()) == 4)
    ssc.stop(False)
    assert sorted(written()) == sorted(
        map(repr, [("k", "before"), ("é", "running"), (None, "no key"), ("k", "stopped")])
    )
