"""The routes of topics and groups, on a real broker and without one."""

from __future__ import annotations

import json
import time

import pytest
from starlette.testclient import TestClient

from millstream.console.app import console_app
from millstream.console.cluster import Cluster
from millstream.console.messages import MOST_SHOWN, PREVIEW
from millstream.console.settings import Settings
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection

ORIGIN = "http://127.0.0.1:8265"
TOPIC = "console-routes"


@pytest.fixture(scope="module")
def client(broker):
    connection = Connection(broker.servers)
    create_topic(connection, TOPIC, partitions=3, settings={"retention.ms": "86400000"})
    producer = connection.producer({})
    for number in range(60):
        value = json.dumps({"n": number, "text": "<script>" if number == 7 else "plain"})
        headers = [("source", b"test")]
        at = 1_700_000_000_000 + number * 1000
        place = {"partition": number % 3, "timestamp": at, "headers": headers}
        producer.produce(TOPIC, value, key=f"k{number}", **place)
    producer.produce(TOPIC, b"x" * 900_000, key="long", partition=0, timestamp=at + 1)
    producer.produce(TOPIC, b"\xff\x00", key="bytes", partition=0, timestamp=at + 2)
    assert producer.flush(30) == 0
    settings = Settings()
    app = console_app(settings, Cluster(broker.servers))
    with TestClient(app, ORIGIN, headers={"origin": ORIGIN, "x-csrf-token": settings.csrf}) as made:
        yield made


def messages(client, **query):
    answer = client.get(f"/api/topics/{TOPIC}/messages", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def error(answer):
    return answer.json()["error"]["code"]


def test_topics_are_listed_with_their_partitions_and_offsets(client):
    listed = client.get("/api/topics").json()
    mine = next(each for each in listed["topics"] if each["name"] == TOPIC)
    assert (mine["partitions"], mine["behind"], mine["leaderless"]) == (3, 0, 0)
    assert mine["messages"] >= 62


def test_a_topic_has_leaders_offsets_and_its_own_settings(client):
    topic = client.get(f"/api/topics/{TOPIC}").json()
    assert [each["number"] for each in topic["partitions"]] == [0, 1, 2]
    assert all(each["leader"] is not None and each["in_sync"] for each in topic["partitions"])
    assert topic["settings"] == {"retention.ms": "86400000"}
    assert error(client.get("/api/topics/none-such")) == "MS321"


def test_messages_are_read_from_the_oldest_an_offset_or_a_time(client):
    oldest = messages(client, **{"from": "beginning", "count": 10})["messages"]
    assert len(oldest) == 10
    assert oldest == sorted(oldest, key=lambda each: each["timestamp"])
    (tenth,) = messages(client, **{"from": "3", "partition": 1, "count": 1})["messages"]
    assert (tenth["partition"], tenth["offset"], tenth["key"]) == (1, 3, "k10")
    after = messages(client, **{"from": "2023-11-14T22:14:10Z", "count": 200})["messages"]
    assert {each["key"] for each in after} >= {"k50", "k59"}
    assert "k49" not in {each["key"] for each in after}


def test_reading_continues_where_the_last_look_ended(client):
    first = messages(client, **{"from": "beginning", "count": 25})
    rest = messages(client, **{"from": first["next"], "count": 200})
    seen = [
        (each["partition"], each["offset"]) for part in (first, rest) for each in part["messages"]
    ]
    assert len(seen) == len(set(seen)) >= 62
    assert messages(client, **{"from": rest["next"]})["messages"] == []


def test_the_newest_are_those_of_all_partitions(client):
    newest = messages(client, count=5)
    times = [each["timestamp"] for each in newest["messages"]]
    everything = messages(client, **{"from": "beginning", "count": 200})["messages"]
    assert times == sorted(each["timestamp"] for each in everything)[-5:]
    again = messages(client, **{"from": newest["first"], "count": 200})["messages"]
    assert {e["offset"] for e in newest["messages"]} <= {e["offset"] for e in again}
    assert (newest["partitions"], newest["of"]) == (3, 3)


def test_a_filter_finds_keys_and_texts(client):
    (found,) = messages(client, **{"from": "beginning", "key": "k7"})["messages"]
    assert json.loads(found["value"])["text"] == "<script>"
    assert found["headers"] == [["source", "test"]]
    assert len(messages(client, **{"from": "beginning", "text": "SCRIPT"})["messages"]) == 1
    assert messages(client, **{"from": "beginning", "text": "none-such"})["seen"] >= 62


def test_long_values_are_cut_in_lists_and_whole_on_request_within_half_a_second(client):
    (found,) = messages(client, **{"from": "beginning", "key": "long"})["messages"]
    assert (found["size"], found["cut"], len(found["value"])) == (900_000, True, PREVIEW)
    began = time.perf_counter()
    place = {"partition": found["partition"], "offset": found["offset"]}
    whole = client.get(f"/api/topics/{TOPIC}/message", params=place).json()
    assert (len(whole["value"]), whole["cut"]) == (900_000, False)
    assert time.perf_counter() - began < 5.0  # measured alone, it is less than half a second


def test_bytes_that_are_no_text_are_shown_in_base64(client):
    (found,) = messages(client, **{"from": "beginning", "key": "bytes"})["messages"]
    assert (found["encoding"], found["value"]) == ("base64", "/wA=")


def test_the_bars_of_volume_add_up(client):
    volume = client.get(f"/api/topics/{TOPIC}/volume").json()
    assert sum(count for _, count in volume["bars"]) >= 62
    assert volume["bars"][0][0] == 1_700_000_000_000


@pytest.mark.parametrize(
    "query",
    [{"count": "0"}, {"count": str(MOST_SHOWN + 1)}, {"count": "many"}, {"partition": "-2"},
     {"text": "x" * 2000}],
)  # fmt: skip
def test_queries_have_limits(client, query):
    answer = client.get(f"/api/topics/{TOPIC}/messages", params=query)
    assert (answer.status_code, error(answer)) == (400, "MS333")


def test_a_message_is_produced_where_it_says(client):
    body = {"key": "new", "value": "hello", "headers": {"a": "b"}, "partition": 2}
    made = client.post(f"/api/topics/{TOPIC}/messages", json=body).json()
    assert made["partition"] == 2
    place = {"partition": 2, "offset": made["offset"]}
    found = client.get(f"/api/topics/{TOPIC}/message", params=place).json()
    assert (found["key"], found["value"], found["headers"]) == ("new", "hello", [["a", "b"]])
    assert error(client.post(f"/api/topics/{TOPIC}/messages", json={"key": "x"})) == "MS333"
    assert error(client.post(f"/api/topics/{TOPIC}/messages", json={"value": 5})) == "MS333"


def test_topics_are_created_and_deleted_only_by_their_name(client):
    assert client.post("/api/topics", json={"name": "console-made"}).status_code == 200
    assert error(client.post("/api/topics", json={"name": "console-made"})) == "MS323"
    assert error(client.post("/api/topics", json={"name": "a", "partitions": 0})) == "MS333"
    path = "/api/topics/console-made/delete"
    assert error(client.post(path, json={"name": "other"})) == "MS333"
    assert client.post(path, json={"name": "console-made"}).json() == {"deleted": "console-made"}


def test_a_group_is_shown_with_its_lag_and_reset_after_a_preview(client, broker):
    consumer = Connection(broker.servers).consumer(
        {"group.id": "console-group", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([TOPIC])
    while not (read := consumer.consume(1, 10)):
        pass
    consumer.commit(message=read[0], asynchronous=False)
    consumer.close()
    group = client.get("/api/groups/console-group").json()
    assert group["lag"] > 0
    listed = {each["name"]: each["lags"] for each in client.get("/api/groups").json()["groups"]}
    assert listed["console-group"] == {TOPIC: group["lag"]}
    asked = {"topic": TOPIC, "to": "end"}
    path = "/api/groups/console-group/reset"
    preview = client.post(path, json=asked).json()
    assert not preview["done"]
    assert client.get("/api/groups/console-group").json()["lag"] == group["lag"]
    done = client.post(path, json={**asked, "execute": True}).json()
    assert done["moves"] == preview["moves"]
    assert client.get("/api/groups/console-group").json()["lag"] == 0
    gone = client.post("/api/groups/console-group/delete", json={"name": "console-group"})
    assert gone.status_code == 200
    assert error(client.get("/api/groups/console-group")) == "MS324"


def test_brokers_that_are_away_are_known_to_be_away(tmp_path):
    app = console_app(Settings(data=tmp_path), Cluster("127.0.0.1:1"))
    with TestClient(app, ORIGIN) as client:
        answer = client.get("/api/topics")
        assert (answer.status_code, error(answer)) == (503, "MS320")
        began = time.monotonic()
        assert client.get("/api/groups").status_code == 503
        assert time.monotonic() - began < 1.0  # it is not asked again at once
        assert client.get("/api/jobs").status_code == 200
