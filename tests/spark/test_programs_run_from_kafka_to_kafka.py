"""Programs from Kafka to Kafka: formats, positions, watermarks by partition, exactly once."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime

import pytest
from pyspark import cloudpickle

import millstream as ms
import topics
from bags import bag
from millstream.jobs.in_process import run_to_the_end
from millstream.kafka.admin.groups import describe_group
from millstream.kafka.admin.topics import add_partitions, create_topic, delete_records
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position
from millstream.model.errors import KafkaError, PlanError
from millstream.spark.batches import known_topics
from millstream.spark.sources import kafka as kafka_source
from waiting import until

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test

SCORES = "team string, points int, at double"


def score(team: str, points: int, at: float) -> dict:
    return {"team": team, "points": points, "at": at}


@pytest.fixture
def new(broker):
    """Makes a topic and puts records into it, by partition."""

    def new(*partitions: list, **settings: str) -> str:
        topic = topics.new_topic(broker.servers, max(1, len(partitions)), **settings)
        for number, records in enumerate(partitions):
            topics.put(broker.servers, topic, records, number)
        return topic

    return new


def totals(source: ms.Stream) -> ms.Stream:
    by_team = source.key_by("team").window(ms.fixed("10s"), allowed_lateness="1m")
    return by_team.refine(ms.retracting).aggregate(total=ms.sum("points"), n=ms.count())


def test_what_a_job_writes_is_there_once_though_it_was_stopped_in_between(
    spark, broker, new, tmp_path
):
    first = [
        [score("red", 1, 1.0), score("blue", 2, 2.0), score("red", 3, 11.0)],
        [score("red", 4, 3.0), "no json", b"\xff\xfe", score("blue", 5, 12.5)],
    ]
    then = [[score("red", 6, 4.0), score("blue", 7, 31.0)], [score("red", 8, 32.0)]]
    source, target = new(*first), new([], [], [])

    def start():
        scores = ms.read_kafka(
            source, SCORES, event_time="at", watermark=ms.bounded("1s"), servers=broker.servers
        )
        written = totals(scores).write_kafka(target, servers=broker.servers, name="written")
        return ms.pipeline(written, scores.rejected.collect("bad")).run(
            "scores", spark=spark, checkpoint=tmp_path
        )

    job = start().process_all().stop()
    bad = [json.loads(row["record"]) for row in job.rows("bad")]
    assert [(row["topic"], row["partition"], row["offset"]) for row in bad] == [
        (source, 1, 1), (source, 1, 2),
    ]  # fmt: skip
    assert [row["value"] for row in bad] == ["no json", "//4="]
    for number, records in enumerate(then):
        topics.put(broker.servers, source, records, number)
    again = start().process_all().stop()
    assert job.progress().rows + again.progress().rows == 10
    group = describe_group(Connection(broker.servers), "scores")
    assert [each.lag for each in group.partitions] == [0, 0], (
        "Kafka's tools know how far the job has come"
    )

    rows = [row for records in (*first, *then) for row in records if isinstance(row, dict)]
    given = ms.from_rows(rows, SCORES, "at", name="given")
    expected = run_to_the_end("expected", ms.pipeline(totals(given).collect("all")).sinks)
    found: dict = {}
    for record in topics.read(broker.servers, target):
        row = record.json
        assert record.key == row["team"]
        place = (row["team"], row["window"]["start"])
        if record.headers["kind"] == "-":
            taken = found.pop(place)
            assert taken["total"] == row["total"]
        else:
            assert place not in found, "the pane before it was not taken back"
            found[place] = row
    ended = {(team, start): row["total"] for (team, start), row in found.items()}
    assert ended == {
        (row["team"], _iso(row["window"]["start"])): row["total"]
        for row in expected.rows("all")
        if row["window"]["end"].timestamp() <= 30
    }


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_the_windows_of_a_key_that_end_together_stand_in_their_order(spark, broker, new):
    starts = [*range(0, 200, 10)]
    source = new([score(team, 1, at) for at in reversed(starts) for team in ("red", "blue")])
    target = new([], [])
    scores = ms.read_kafka(
        source, SCORES, event_time="at", until="latest", servers=broker.servers
    ).key_by("team")
    for kept in (ms.sum("points"), ms.collect("points")):  # as sums, and as elements
        totals = scores.window(ms.fixed("10s")).aggregate(points=kept)
        totals.write_kafka(target, servers=broker.servers).run("order", spark=spark)
    found: dict = {}
    for record in topics.read(broker.servers, target):
        found.setdefault(record.key, []).append(record.json["window"]["start"])
    moments = [_iso(datetime.fromtimestamp(start, UTC)) for start in starts]
    assert found == {"red": moments * 2, "blue": moments * 2}


def test_a_bounded_read_is_a_batch_of_the_same_program(spark, broker, new):
    topic = new([score("red", 1, 1.0), score("red", 2, 2.0)], [score("blue", 3, 50.0)])

    def rows(**options):
        scores = ms.read_kafka(topic, SCORES, event_time="at", servers=broker.servers, **options)
        job = totals(scores).collect("all").run("bounded", spark=spark)
        assert job.progress().state == "finished"
        return {row["team"]: row["total"] for row in job.rows("all")}

    assert rows(until="latest") == {"red": 3, "blue": 3}
    assert rows(until={0: 1, 1: 0}) == {"red": 1}
    assert rows(start={0: 1}, until="latest") == {"red": 2, "blue": 3}
    assert rows(start="2000-01-01", until=datetime(2100, 1, 1, tzinfo=UTC)) == {"red": 3, "blue": 3}
    assert rows(start="2100-01-01T00:00:00Z", until="latest") == {}


def test_each_format_gives_its_columns(spark, broker, new):
    def rows(stream):
        return ms.pipeline(stream.collect("all"), stream.rejected.collect("bad")).run(
            "formats", spark=spark
        )

    def read(topic, **options):
        return ms.read_kafka(topic, until="latest", servers=broker.servers, **options)

    text = new([("k", "ünïcode ☃"), b"\xff", None, ""])
    job = rows(read(text, format="text", metadata=["key", "offset"]))
    assert [(r["value"], r["key"], r["offset"]) for r in job.rows("all")] == [
        ("ünïcode ☃", b"k", 0), (None, None, 2), ("", None, 3),
    ]  # fmt: skip
    assert [r["reason"] for r in job.rows("bad")] == ["the value is no UTF-8"]

    csv = new(["ann,3", "bob,x", "eve"])
    job = rows(read(csv, schema="user string, n int", format="csv"))
    assert [r["user"] for r in job.rows("all")] == ["ann"]
    assert len(job.rows("bad")) == 2

    raw = new([("k", "v")])
    (row,) = rows(read(raw)).rows("all")
    assert (row["key"], row["value"], row["topic"], row["partition"], row["offset"]) == (
        b"k", b"v", raw, 0, 0,
    )  # fmt: skip
    assert row["headers"] is None
    assert abs(row["timestamp"].timestamp() - datetime.now(UTC).timestamp()) < 600

    def parse(record):
        user, n = record["value"].decode().split("=")
        return {"user": user, "n": int(n)}

    own = new(["ann=3", "bob=x"])
    job = rows(read(own, format=parse, schema="user string, n int"))
    assert job.rows("all") == [{"user": "ann", "n": 3}]
    assert "invalid literal" in job.rows("bad")[0]["reason"]


def test_a_silent_partition_holds_the_watermark_and_one_that_is_added_is_read(
    spark, broker, new, tmp_path
):
    topic = new([score("red", 1, 1.0), score("red", 2, 100.0)], [])
    scores = ms.read_kafka(
        topic, SCORES, event_time="at", watermark=ms.bounded("1s"), servers=broker.servers
    )
    job = totals(scores).collect("all").run("silent", spark=spark, checkpoint=tmp_path)
    job.process_all()
    assert job.rows("all") == [], "partition 1 may still bring what is older"
    topics.put(broker.servers, topic, [score("red", 4, 2.0), score("red", 0, 90.0)], 1)
    job.process_all()
    assert [row["total"] for row in job.rows("all")] == [5]
    add_partitions(Connection(broker.servers), topic, 3)
    topics.put(broker.servers, topic, [score("blue", 7, 95.0)], 2)
    until(lambda: job.process_all().progress().rows == 5, job)
    job.stop()


def test_upserts_replace_what_came_before_and_take_back_by_tombstones(spark, broker, new, tmp_path):
    source, target = new([score("red", 1, 1.0)]), new([], cleanup_policy="compact")
    scores = ms.read_kafka(
        source, SCORES, event_time="at", watermark=ms.bounded("1s"), servers=broker.servers
    )
    visits = (
        scores.key_by("team")
        .window(ms.session("5s"), allowed_lateness="1h")
        .trigger(ms.at_watermark(early=ms.after_count(1), late=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("points"))
    )
    written = visits.write_kafka(
        target, changes="upsert", value="total", headers={"team": "team"}, servers=broker.servers
    )
    job = written.run("upserts", spark=spark, checkpoint=tmp_path).process_all()
    for more in (score("red", 2, 9.0), score("red", 4, 5.0)):  # the second joins both sessions
        topics.put(broker.servers, source, [more])
        job.process_all()
    job.stop()
    state: dict = {}
    for record in topics.read(broker.servers, target):
        state[record.key] = record.value
        assert record.headers == {"team": "red"}
    windows = {json.loads(key)["window"]["start"][17:19]: value for key, value in state.items()}
    assert windows == {"01": "7", "09": None}


def test_records_that_are_gone_fail_the_job_or_are_counted(spark, broker, new, tmp_path):
    topic = new([score("red", n, n) for n in range(5)])

    def start(on_data_loss, most=None):
        rows = ms.read_kafka(
            topic, SCORES, on_data_loss=on_data_loss, max_per_batch=most, servers=broker.servers
        )
        return rows.collect("all").run("loss", spark=spark, checkpoint=tmp_path)

    start("fail").process_all().stop()
    topics.put(broker.servers, topic, [score("red", n, n) for n in range(5, 9)])
    connection = Connection(broker.servers)
    delete_records(connection, topic, Position("offset", 7))
    with pytest.raises(KafkaError, match="MS350"):
        start("fail").process_all()
    job = start("continue", most=1).process_all().stop()
    assert [row["points"] for row in job.rows("all")] == [7, 8]
    assert job.progress().lost == 2


@pytest.mark.parametrize("how", ["named", "pattern"])
def test_a_topic_that_is_created_again_fails_the_job_or_is_read_from_its_beginning(
    spark, broker, new, tmp_path, monkeypatch, how
):
    monkeypatch.setattr(known_topics, "_LONG", 0.0)
    topic = new([score("red", n, n) for n in range(3)])
    other = new([score("other", 0, 0)])
    created = tmp_path / "created"

    def held(row):
        while not created.exists():
            time.sleep(0.05)
        return row

    def start(on_data_loss="fail"):
        names = {"topics": [topic, other]} if how == "named" else {"pattern": f"{topic}|{other}"}
        rows = ms.read_kafka(
            schema=SCORES, on_data_loss=on_data_loss, servers=broker.servers, **names
        ).map(held, schema=SCORES)
        return rows.collect("all").run(f"again-{how}", spark=spark, checkpoint=tmp_path)

    job = start()
    until(lambda: [*tmp_path.glob("*/spark/offsets/0")], job)  # it reads its first batch
    topics.create_again(broker.servers, topic)
    topics.put(broker.servers, topic, [score("blue", n, n) for n in range(5)])
    created.touch()
    with pytest.raises(KafkaError, match=f"MS350.*{topic!r} was deleted and created again"):
        job.wait()  # while it runs
    with pytest.raises(KafkaError, match="MS350.*created again"):
        start()  # and when it is resumed
    job = start("continue").process_all().stop()
    points = [(row["team"], row["points"]) for row in job.rows("all")]
    assert sorted(points) == [*(("blue", n) for n in range(5)), ("other", 0)]
    job = start().process_all().stop()  # the id is that of the new topic now
    assert job.rows("all") == []


def test_a_job_that_is_to_continue_reads_a_topic_that_is_created_again_while_it_runs(
    spark, broker, new, tmp_path
):
    topic = new([score("red", n, n) for n in range(3)])
    seen, created = tmp_path / "seen", tmp_path / "created"

    def held(row):
        if row["team"] == "last":
            seen.touch()
            while not created.exists():
                time.sleep(0.05)
        return row

    rows = ms.read_kafka(topic, SCORES, on_data_loss="continue", servers=broker.servers)
    job = rows.map(held, schema=SCORES).collect("all").run("continues", spark=spark)
    job.process_all()
    topics.put(broker.servers, topic, [score("last", 3, 3)])
    until(seen.exists, job)
    topics.create_again(broker.servers, topic)
    topics.put(broker.servers, topic, [score("blue", n, n) for n in range(6)])
    created.touch()
    until(lambda: [row["team"] for row in job.rows("all")].count("blue") == 6, job)
    job.stop()
    found = [(row["team"], row["points"]) for row in job.rows("all")]
    assert found[:3] == [("red", n) for n in range(3)]
    assert found[-6:] == [("blue", n) for n in range(6)]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_bounded_read_fails_if_its_topic_is_created_again_meanwhile(
    spark, broker, new, monkeypatch, mode
):
    topic = new([score("red", 1, 1)])
    rows = ms.read_kafka(topic, SCORES, until="latest", servers=broker.servers).collect("all")
    real, ids = kafka_source.topic_ids, [{topic: "another"}]  # as if it had it when the job began
    monkeypatch.setattr(
        kafka_source, "topic_ids", lambda *asked: ids.pop() if ids else real(*asked)
    )
    with pytest.raises(KafkaError, match="MS350.*created again while it was read"):
        rows.run("meanwhile", spark=spark, mode=mode)
    monkeypatch.undo()
    assert rows.run("meanwhile", spark=spark, mode=mode).rows() == [score("red", 1, 1)]


def test_what_cannot_be_read_or_written_is_refused_in_seconds(spark, broker, new):
    topic = new([])
    lines = ms.read_kafka(topic, format="text", servers=broker.servers)
    with pytest.raises(KafkaError, match="MS321.*no topic 'nowhere'"):
        ms.read_kafka("nowhere", servers=broker.servers).collect().run("x", spark=spark)
    with pytest.raises(KafkaError, match="MS321"):
        lines.write_kafka("nowhere", servers=broker.servers).run("x", spark=spark)
    with pytest.raises(KafkaError, match="MS320.*127.0.0.1:1"):
        ms.read_kafka(topic, servers="127.0.0.1:1").collect().run("x", spark=spark)
    with pytest.raises(PlanError, match="partition 7"):
        ms.read_kafka(topic, start={7: 0}, servers=broker.servers).collect().run("x", spark=spark)


def test_rows_go_to_the_partition_of_their_columns(spark, broker, new):
    target = new([], [], [], [])
    rows = [{"user": f"user {n}", "team": f"team {n % 3}"} for n in range(30)]
    stream = ms.from_rows(rows, "user string, team string")
    job = stream.write_kafka(
        target, key="user", partition_by="team", delivery="at_least_once", servers=broker.servers
    )
    job.run("partitions", spark=spark)
    written = topics.read(broker.servers, target)
    assert bag(record.json for record in written) == bag(rows)
    by_team = {}
    for record in written:
        assert record.key == record.json["user"]
        by_team.setdefault(record.json["team"], set()).add(record.partition)
    assert all(len(partitions) == 1 for partitions in by_team.values())


def test_a_pattern_is_one_of_whole_names(spark, broker, new):
    topic = new(["ours"])
    create_topic(Connection(broker.servers), f"{topic}-more", partitions=1)
    topics.put(broker.servers, f"{topic}-more", ["another's"])
    lines = ms.read_kafka(
        pattern=f"no-such|{topic}", format="text", until="latest", servers=broker.servers
    )
    job = lines.collect("all").run("whole", spark=spark)
    assert job.rows("all") == [{"value": "ours"}]


@pytest.mark.parametrize("how", ["pattern", "union"])
def test_rows_of_several_topics_are_there_once_though_their_batch_is_done_again(
    spark, broker, new, tmp_path, how
):
    parts = [[[f"{topic}{n}-{i}" for i in range(5)] for n in range(3)] for topic in "ab"]
    sources, target = [new(*each) for each in parts], new([], [])

    def start():
        if how == "union":
            read = [ms.read_kafka(s, format="text", servers=broker.servers) for s in sources]
            rows = read[0].union(read[1])
        else:
            pattern = "|".join(sources)
            rows = ms.read_kafka(pattern=pattern, format="text", servers=broker.servers)
        return rows.write_kafka(target, value="value", servers=broker.servers, name="out").run(
            how, spark=spark, checkpoint=tmp_path
        )

    start().process_all().stop()
    for commit in (tmp_path / how / "spark" / "commits").glob("*0*"):
        commit.unlink()  # as if it had been killed before Spark wrote that the batch is done
    start().process_all().stop()
    written = [record.value for record in topics.read(broker.servers, target)]
    assert sorted(written) == sorted(value for topic in parts for part in topic for value in part)
