"""The routes of topics: the list, a topic, its messages, and what can be changed of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from confluent_kafka import TopicPartition
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.answers import answer, bad_request, fields, whole
from millstream.console.cluster import Cluster
from millstream.console.messages import (
    MOST_SCANNED,
    MOST_SHOWN,
    TOGETHER,
    Offsets,
    containing,
    everything,
    read,
    shown,
    starts_at,
    volume,
)
from millstream.kafka.admin import topics as admin
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.deliveries import Deliveries
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.partitioning import CLIENT_SETTINGS
from millstream.kafka.client.positions import BEGINNING, END, offsets_at
from millstream.kafka.client.records import NewRecord, Record, header_name
from millstream.reports.masking import HIDDEN, is_secret

MOST_TOPICS = 2_000
MOST_PARTITIONS = 1_000
"""Partitions of a topic in one answer."""
_COUNTED = 500  # partitions of all topics up to which their offsets are in the list
_WHOLE = 2 << 20  # bytes of a single value
_NEWEST = 200  # messages of all partitions together that the newest ones are chosen from
_LOOKED = 20_000  # the same with a filter


def connection_of(request: Request) -> Connection:
    """The connection of the console."""
    cluster: Cluster = request.app.state.cluster
    return cluster.connection()


def topics(request: Request) -> Response:
    """All topics, with their partitions, and how many offsets they have if they are few."""
    cluster: Cluster = request.app.state.cluster
    connection, found = cluster.metadata()
    names = sorted(found.topics)[:MOST_TOPICS]
    rows = [_listed(found.topics[name]) for name in names]
    total = sum(row["partitions"] for row in rows)
    if total <= _COUNTED:
        counts = _counts(connection, {row["name"]: row["partitions"] for row in rows})
        rows = [{**row, "messages": counts.get(row["name"], 0)} for row in rows]
    brokers = [f"{each.host}:{each.port}" for each in found.brokers.values()]
    return answer({"servers": connection.servers, "brokers": brokers, "topics": rows})


def _listed(topic: Any) -> dict[str, Any]:
    partitions = topic.partitions.values()
    return {
        "name": topic.topic,
        "internal": topic.topic.startswith("__"),
        "partitions": len(partitions),
        "replication": max((len(each.replicas) for each in partitions), default=0),
        "behind": sum(len(each.isrs) < len(each.replicas) for each in partitions),
        "leaderless": sum(each.leader < 0 for each in partitions),
    }


def _counts(connection: Connection, topics: dict[str, int]) -> dict[str, int]:
    places = [TopicPartition(name, n) for name, count in topics.items() for n in range(count)]
    starts, ends = (offsets_at(connection.admin, places, each) for each in (BEGINNING, END))
    counts: dict[str, int] = {}
    for place, end in ends.items():
        counts[place.topic] = counts.get(place.topic, 0) + end - starts[place]
    return counts


def topic(request: Request) -> Response:
    """A topic: its partitions and the settings that differ from those of the brokers."""
    name = request.path_params["topic"]
    size = request.query_params.get("size") == "1"
    first = whole(request, "first", 0, 0, 1_000_000)
    shown_ones = range(first, first + MOST_PARTITIONS)
    connection = connection_of(request)
    (found,) = admin.describe_topics(connection, [name], size=size, numbers=shown_ones)
    settings = {key: HIDDEN if is_secret(key) else value for key, value in found.settings.items()}
    partitions = found.partitions[first : first + MOST_PARTITIONS]
    ends = [(each.start, each.end) for each in partitions]
    return answer(
        {
            "name": found.name,
            "id": found.id,
            "internal": found.internal,
            "replication": found.replication,
            "count": len(found.partitions),
            "messages": sum(end - start for start, end in ends if start is not None and end),
            "partitions": [asdict(each) for each in partitions],
            "settings": settings,
        }
    )


def messages(request: Request) -> Response:
    """Messages from a position on: an offset, a time, ``end``, or an offset for each partition."""
    query = request.query_params
    count = whole(request, "count", 50, 1, MOST_SHOWN)
    partition = whole(request, "partition", -1, -1, 2**31 - 1)
    wanted = containing(query.get("key", ""), query.get("text", ""))
    connection = connection_of(request)
    position = query.get("from", "end") or "end"
    if len(position) > 20_000:
        raise bad_request("the position is too long", "name an offset or a time")
    chosen = [] if partition < 0 else [partition]
    existing = partitions_of(connection, request.path_params["topic"], chosen)
    places = existing[:TOGETHER]
    back = min(count, _NEWEST // len(places)) if wanted is everything else _LOOKED // len(places)
    starts = starts_at(connection, places, position, max(1, back))
    most = MOST_SCANNED if position == "end" else count
    found, following, seen = read(connection, starts, most, wanted)
    if position == "end":
        starts, found = _newest(following, found, count)
    return answer(
        {
            "messages": [shown(each) for each in found],
            "first": _position(starts),
            "next": _position(following),
            "seen": seen,
            "partitions": len(places),
            "of": len(existing),
        }
    )


def _newest(following: Offsets, found: list[Record], count: int) -> tuple[Offsets, list[Record]]:
    """The newest of the records that were read from all partitions, and where they begin."""
    kept = found[-count:]
    starts = dict(following)
    for each in kept:
        place = TopicPartition(each.topic, each.partition)
        starts[place] = min(starts[place], each.offset)
    return starts, kept


def _position(offsets: dict[TopicPartition, int]) -> str:
    return ",".join(f"{place.partition}:{at}" for place, at in offsets.items())


def message(request: Request) -> Response:
    """One message, as a whole."""
    partition = whole(request, "partition", 0, 0, 2**31 - 1)
    offset = whole(request, "offset", 0, 0, 2**62)
    connection = connection_of(request)
    (place,) = partitions_of(connection, request.path_params["topic"], [partition])
    found, _, _ = read(connection, {place: offset}, 1, everything)
    if not found or found[0].offset != offset:
        raise bad_request(f"partition {partition} has no message {offset}", "name another offset")
    return answer(shown(found[0], _WHOLE))


def bars(request: Request) -> Response:
    """How many messages were written over time."""
    return answer(volume(connection_of(request), request.path_params["topic"]))


async def produce(request: Request) -> Response:
    """Writes a message, and answers where it is."""
    body = await fields(request, key=str, value=str, headers=dict, partition=int, tombstone=bool)
    return await run_in_threadpool(_produce, request, body)


def _produce(request: Request, body: dict[str, Any]) -> Response:
    name = request.path_params["topic"]
    connection = connection_of(request)
    partition = body["partition"]
    partitions_of(connection, name, () if partition is None else [partition])
    if body["value"] is None and not body["tombstone"]:
        raise bad_request("the message has no value", "write one, or send null on purpose")
    record = _record(body)
    arrived: list[Any] = []
    deliveries = Deliveries()

    def delivered(failure: Any, message: Any) -> None:
        deliveries.add(1, failure)
        arrived.append(message)

    producer = connection.producer({**CLIENT_SETTINGS, "message.timeout.ms": 10_000})
    producer.produce(
        name,
        record.value,
        record.key,
        partition=-1 if partition is None else partition,
        on_delivery=delivered,
        headers=list(record.headers),
    )
    producer.flush(15)
    deliveries.check()
    (made,) = arrived
    return answer({"partition": made.partition(), "offset": made.offset()})


def _record(body: dict[str, Any]) -> NewRecord:
    headers = body["headers"] or {}
    if len(headers) > 50 or not all(isinstance(each, str) for each in headers.values()):
        raise bad_request("headers are at most 50 names with texts", "send others")
    try:
        named = tuple((header_name(name), value.encode()) for name, value in headers.items())
        key = None if body["key"] is None else body["key"].encode()
        return NewRecord(None if body["value"] is None else body["value"].encode(), key, named)
    except ValueError as error:  # half of a character
        raise bad_request(str(error), "write text") from error


async def create(request: Request) -> Response:
    """Creates a topic."""
    body = await fields(request, name=str, partitions=int, replication=int, settings=dict)
    settings = {str(name): str(value) for name, value in (body["settings"] or {}).items()}
    if not body["name"]:
        raise bad_request("the topic has no name", "write one")
    for what, most in (("partitions", 10_000), ("replication", 100)):
        if body[what] is not None and not 1 <= body[what] <= most:
            raise bad_request(f"{what} is not from 1 to {most:,}", "write another number")
    await run_in_threadpool(
        lambda: admin.create_topic(
            connection_of(request),
            body["name"],
            partitions=body["partitions"],
            replication=body["replication"],
            settings=settings,
        )
    )
    return answer({"created": body["name"]})


async def delete(request: Request) -> Response:
    """Deletes a topic, if its name is typed."""
    name = request.path_params["topic"]
    if (await fields(request, name=str))["name"] != name:
        raise bad_request(f"the name typed is not {name!r}", "type it as it is shown")
    await run_in_threadpool(lambda: admin.delete_topic(connection_of(request), name))
    return answer({"deleted": name})


ROUTES = [
    Route("/api/topics", topics),
    Route("/api/topics", create, methods=["POST"]),
    Route("/api/topics/{topic}", topic),
    Route("/api/topics/{topic}/messages", messages),
    Route("/api/topics/{topic}/messages", produce, methods=["POST"]),
    Route("/api/topics/{topic}/message", message),
    Route("/api/topics/{topic}/volume", bars),
    Route("/api/topics/{topic}/delete", delete, methods=["POST"]),
]
