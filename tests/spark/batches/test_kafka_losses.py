"""Records that retention took before a job could read them are counted, each once."""

from __future__ import annotations

import json

from checkpoints import noted
from millstream.kafka.admin.topics import create_topic, delete_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import topic_names
from millstream.spark.batches.kafka_losses import Losses
from waiting import until


def test_each_record_that_is_gone_is_counted_once(tmp_path, opened, trimmed):
    ends = [{trimmed: {"0": end}} for end in (3, 7, 12, 20)]
    losses = Losses(opened(trimmed, on_data_loss="continue"), noted(tmp_path, *([e] for e in ends)))
    assert [losses.of(batch) for batch in range(1, 4)] == [{trimmed: 4}, {trimmed: 3}, {}]


def test_what_is_gone_counts_from_where_the_job_begins(tmp_path, opened, trimmed):
    checkpoint = noted(tmp_path, [{trimmed: {"0": 20}}])
    for start, lost in [({0: 6}, {trimmed: 4}), ("latest", {}), ("earliest", {})]:
        source = opened(trimmed, on_data_loss="continue", start=start)
        assert Losses(source, checkpoint).of(0) == lost


def test_what_is_gone_where_that_fails_the_job_is_not_counted(tmp_path, opened, trimmed):
    assert Losses(opened(trimmed), str(tmp_path / "nothing")).of(1) == {}


def test_a_topic_that_is_deleted_does_not_end_a_job_that_is_to_continue(
    tmp_path, broker, opened, trimmed, caplog
):
    connection, gone = Connection(broker.servers), f"{trimmed}-gone"
    create_topic(connection, gone, partitions=1)
    (both,) = opened(None, pattern=f"{trimmed}.*", on_data_loss="continue")
    delete_topic(connection, gone)
    until(lambda: gone not in topic_names(connection))
    before, after = {trimmed: {"0": 5}, gone: {"0": 5}}, {trimmed: {"0": 12}}
    checkpoint = noted(tmp_path, [before], [after], [after | {gone: {"0": 6}}])
    assert Losses([both], checkpoint).of(1) == {"None": 5}
    (tmp_path / "spark/offsets/1").write_text(f"v1\n{{}}\n{json.dumps(before)}")
    assert Losses([both], checkpoint).of(2) == {}, "Spark did not know of it when it began"
    assert "is not counted" in caplog.text
