"""The consumer groups of a cluster: described, reset and deleted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka import KafkaError as Failure
from confluent_kafka.admin import ConsumerGroupDescription

from millstream.kafka.client.answers import answers, raw_answers, request_error
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import cluster_topics, partitions_of
from millstream.kafka.client.positions import BEGINNING, END, Position, clamped, offsets_at
from millstream.kafka.client.rights import Right
from millstream.model.errors import KafkaError, PlanError, did_you_mean

# Kafka's own names for the states; the client reports others as unknown.
_STATES: dict[Enum, str] = {
    ConsumerGroupState.UNKNOWN: "Unknown",
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
}
_INACTIVE = {"Empty", "Dead"}


@dataclass(frozen=True)
class GroupListing:
    """A group, with its state and its protocol as Kafka names them."""

    name: str
    state: str
    type: str


@dataclass(frozen=True)
class Member:
    """A consumer that is in a group."""

    id: str
    client: str
    host: str


@dataclass(frozen=True)
class PartitionLag:
    """How far a group has read a partition, and the member that reads it now.

    ``offset`` is None where nothing is committed, ``end`` where the partition was deleted.
    """

    topic: str
    partition: int
    offset: int | None
    end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        """The number of offsets that are not read yet."""
        if self.offset is None or self.end is None:
            return None
        return max(0, self.end - self.offset)


@dataclass(frozen=True)
class Group:
    """A group, as its coordinator describes it."""

    name: str
    state: str
    type: str
    assignor: str
    members: tuple[Member, ...]
    partitions: tuple[PartitionLag, ...]


@dataclass(frozen=True)
class Move:
    """A partition's offset before and after a reset."""

    topic: str
    partition: int
    before: int | None
    after: int


def list_groups(connection: Connection) -> list[GroupListing]:
    """All consumer groups, by name."""
    doing, needs = "list its groups", Right("Describe", "cluster")
    found = answers(lambda: {"": connection.admin.list_consumer_groups()}, doing, needs)[""]
    for error in found.errors:
        raise request_error(error.args[0], doing, needs)
    return sorted(
        (
            GroupListing(each.group_id, _STATES[each.state], each.type.name.title())
            for each in found.valid
        ),
        key=lambda group: group.name,
    )


def describe_group(connection: Connection, name: str) -> Group:
    """A group's members, and its lag in each partition it has read or reads now."""
    described = _existing(connection, name)
    committed = _committed(connection, name)
    readers = {
        partition: Member(each.member_id, each.client_id, each.host)
        for each in described.members
        for partition in each.assignment.topic_partitions
    }
    return Group(
        name,
        _STATES[described.state],
        described.type.name.title(),
        described.partition_assignor,
        tuple(Member(each.member_id, each.client_id, each.host) for each in described.members),
        _lags(connection, committed, readers),
    )


def group_lags(connection: Connection, names: Collection[str]) -> dict[str, dict[str, int]]:
    """How many offsets each group has not read yet, by topic, without topics that were deleted."""
    committed = _all_committed(connection, names)
    topics = cluster_topics(connection)
    there = {
        place
        for offsets in committed.values()
        for place in offsets
        if place.topic in topics and place.partition in topics[place.topic].partitions
    }
    ends = offsets_at(connection.admin, sorted(there, key=_order), END)
    lags: dict[str, dict[str, int]] = {name: {} for name in names}
    for name, offsets in committed.items():
        for place, at in offsets.items():
            if place in ends:
                lag = lags[name].get(place.topic, 0) + max(0, ends[place] - max(0, at))
                lags[name][place.topic] = lag
    return lags


def reset_group(
    connection: Connection,
    name: str,
    topics: Mapping[str, Collection[int]],
    *,
    to: Position | None = None,
    shift: int = 0,
    execute: bool = False,
) -> list[Move]:
    """Moves a group to a position, or by ``shift`` offsets from where it is.

    ``topics`` names topics and their partitions, an empty collection meaning all; no topics mean
    all that the group has read. Without ``execute`` nothing changes. A group that does not exist is
    created if topics and a position are given.
    """
    may_be_new = topics and to is not None
    described = _described(connection, name) if may_be_new else _existing(connection, name)
    committed: dict[TopicPartition, int] = {}
    if described is not None:
        check_inactive(name, _STATES[described.state])
        committed = _committed(connection, name)
    places = [
        place
        for topic, numbers in topics.items()
        for place in partitions_of(connection, topic, numbers)
    ]
    moved = _moved(connection, places or list(committed), committed, to, shift)
    if execute and moved:
        _commit(connection, name, moved)
    return [
        Move(each.topic, each.partition, committed.get(each), moved[each])
        for each in sorted(moved, key=_order)
    ]


def delete_group(connection: Connection, name: str) -> None:
    """Deletes a group without members, with its offsets."""
    check_inactive(name, _STATES[_existing(connection, name).state])
    answers(
        lambda: connection.admin.delete_consumer_groups([name]),
        f"delete group {name!r}",
        Right("Delete", "group", name),
    )


def check_inactive(name: str, state: str) -> None:
    """MS325 if a group has members: they would overwrite a change, or fail."""
    if state not in _INACTIVE:
        raise KafkaError(
            "MS325",
            f"group {name!r} is in use: its state is {state}",
            fix="stop its consumers and wait until they have left, or for their session's timeout",
        )


def unknown_group(name: str, groups: list[str]) -> KafkaError:
    """The error for a group that does not exist."""
    fix = did_you_mean(name, groups) if groups else "there are none: a consumer creates its group"
    return KafkaError("MS324", f"the cluster has no group {name!r}", fix=fix)


def _existing(connection: Connection, name: str) -> ConsumerGroupDescription:
    described = _described(connection, name)
    if described is None:
        raise unknown_group(name, [group.name for group in list_groups(connection)])
    return described


def _described(connection: Connection, name: str) -> ConsumerGroupDescription | None:
    """The group, or None. Old brokers describe an unknown group as dead, new ones as not found."""
    described: ConsumerGroupDescription
    try:
        described = raw_answers(lambda: connection.admin.describe_consumer_groups([name]))[name]
    except KafkaException as error:
        if error.args[0].code() == Failure.GROUP_ID_NOT_FOUND:
            return None
        needs = Right("Describe", "group", name)
        raise request_error(error.args[0], f"describe group {name!r}", needs) from error
    gone = described.state is ConsumerGroupState.DEAD
    return None if gone and not _committed(connection, name) else described


def _committed(connection: Connection, name: str) -> dict[TopicPartition, int]:
    return _all_committed(connection, [name])[name]


def _all_committed(
    connection: Connection, names: Collection[str]
) -> dict[str, dict[TopicPartition, int]]:
    """The offsets of groups, which are asked for at the same time."""

    def ask() -> dict[str, Future[ConsumerGroupTopicPartitions]]:
        asked = [[ConsumerGroupTopicPartitions(name)] for name in names]
        found = [connection.admin.list_consumer_group_offsets(each) for each in asked]
        return {name: future for each in found for name, future in each.items()}

    only = next(iter(names)) if len(names) == 1 else ""
    doing = f"list the offsets of group {only!r}" if only else "list the offsets of its groups"
    return {
        name: {TopicPartition(each.topic, each.partition): each.offset for each in found}
        for name, answer in answers(ask, doing, Right("Describe", "group", only)).items()
        if (found := answer.topic_partitions) is not None
    }


def _lags(
    connection: Connection,
    committed: Mapping[TopicPartition, int],
    readers: Mapping[TopicPartition, Member],
) -> tuple[PartitionLag, ...]:
    places = sorted({*committed, *readers}, key=_order)
    topics = cluster_topics(connection)
    there = [
        each
        for each in places
        if each.topic in topics and each.partition in topics[each.topic].partitions
    ]
    ends = offsets_at(connection.admin, there, END)
    return tuple(
        PartitionLag(
            each.topic, each.partition, committed.get(each), ends.get(each), readers.get(each)
        )
        for each in places
    )


def _moved(
    connection: Connection,
    places: list[TopicPartition],
    committed: Mapping[TopicPartition, int],
    to: Position | None,
    shift: int,
) -> dict[TopicPartition, int]:
    admin = connection.admin
    if to is not None:
        return offsets_at(admin, places, to)
    unread = [f"{each.topic}:{each.partition}" for each in places if each not in committed]
    if unread:
        raise PlanError(
            "MS113",
            f"there is nothing to shift: the group has no offset in {', '.join(unread)}",
            fix="leave these partitions out, or write where the group is to begin: --to",
        )
    shifted = {each: committed[each] + shift for each in places}
    return clamped(shifted, offsets_at(admin, places, BEGINNING), offsets_at(admin, places, END))


def _commit(connection: Connection, name: str, moved: Mapping[TopicPartition, int]) -> None:
    offsets = [TopicPartition(each.topic, each.partition, at) for each, at in moved.items()]
    asked = [ConsumerGroupTopicPartitions(name, offsets)]
    doing = f"reset group {name!r}"
    moved_now = answers(
        lambda: connection.admin.alter_consumer_group_offsets(asked),
        doing,
        Right("Read", "group", name),
    )[name]
    for each in moved_now.topic_partitions:
        if each.error is not None:
            raise request_error(each.error, doing, Right("Read", "topic", each.topic))


def _order(place: TopicPartition) -> tuple[str, int]:
    return place.topic, place.partition
