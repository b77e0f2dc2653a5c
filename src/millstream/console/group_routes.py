"""The routes of consumer groups: the list, a group with its lag, reset with a preview, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millstream.console.answers import answer, bad_request, fields
from millstream.console.events import event_stream
from millstream.console.topic_routes import connection_of
from millstream.kafka.admin.groups import (
    delete_group,
    describe_group,
    group_lags,
    list_groups,
    reset_group,
)
from millstream.kafka.client.positions import parse_position

MOST_GROUPS = 1_000
MOST_PARTITIONS = 1_000
_COUNTED = 50  # groups up to which their lags are in the list
_EVERY = 2.0  # seconds between two looks at a group's lag


def groups(request: Request) -> Response:
    """All groups, with their states and, if they are few, how far they are behind in each topic."""
    connection = connection_of(request)
    found = list_groups(connection)[:MOST_GROUPS]
    names = [each.name for each in found]
    lags = group_lags(connection, names) if len(names) <= _COUNTED else {}
    return answer({"groups": [{**asdict(each), "lags": lags.get(each.name)} for each in found]})


def _described(request: Request) -> dict[str, Any]:
    found = describe_group(connection_of(request), request.path_params["group"])
    rows = sorted(found.partitions, key=lambda each: -(each.lag or 0))
    return {
        "name": found.name,
        "state": found.state,
        "type": found.type,
        "members": [asdict(each) for each in found.members[:MOST_PARTITIONS]],
        "lag": sum(each.lag or 0 for each in found.partitions),
        "count": len(found.partitions),
        "topics": sorted({each.topic for each in found.partitions}),
        "partitions": [
            {**asdict(each), "lag": each.lag, "member": each.member and each.member.client}
            for each in rows[:MOST_PARTITIONS]
        ],
    }


def group(request: Request) -> Response:
    """A group: its members, and how far it is behind in each partition."""
    return answer(_described(request))


async def group_events(request: Request) -> Response:
    """A group, again whenever it has changed."""
    return await event_stream(request, lambda: _described(request), _EVERY)


async def reset(request: Request) -> Response:
    """Moves a group in a topic to a position; without ``execute`` only shows what would change."""
    body = await fields(request, topic=str, to=str, execute=bool)
    if not body["topic"] or not body["to"]:
        raise bad_request("a reset needs a topic and a position", "choose both")
    moves = await run_in_threadpool(
        lambda: reset_group(
            connection_of(request),
            request.path_params["group"],
            {body["topic"]: ()},
            to=parse_position(body["to"]),
            execute=bool(body["execute"]),
        )
    )
    return answer({"moves": [asdict(each) for each in moves], "done": bool(body["execute"])})


async def delete(request: Request) -> Response:
    """Deletes a group without members, if its name is typed."""
    name = request.path_params["group"]
    if (await fields(request, name=str))["name"] != name:
        raise bad_request(f"the name typed is not {name!r}", "type it as it is shown")
    await run_in_threadpool(lambda: delete_group(connection_of(request), name))
    return answer({"deleted": name})


ROUTES = [
    Route("/api/groups", groups),
    Route("/api/groups/{group}", group),
    Route("/api/groups/{group}/events", group_events),
    Route("/api/groups/{group}/reset", reset, methods=["POST"]),
    Route("/api/groups/{group}/delete", delete, methods=["POST"]),
]
