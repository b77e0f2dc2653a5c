"""The answers of the console: JSON, and one shape for every error."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from millstream.model.errors import MillstreamError, RunError
from millstream.reports.masking import masked

_STATUS = {"MS226": 404, "MS321": 404, "MS324": 404, "MS320": 503}


def answer(value: Any) -> Response:
    """A value as JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return Response(text.encode(errors="replace"), media_type="application/json")


def error_answer(error: MillstreamError, status: int | None = None) -> Response:
    """An error as JSON, with its code and what to do."""
    shown = {"code": error.code, "what": masked(error.what), "fix": masked(error.fix or "")}
    return JSONResponse({"error": shown}, status or _STATUS.get(error.code, 400))


def refusal(what: str, fix: str) -> RunError:
    """MS332: a request that the console does not serve."""
    return RunError("MS332", what, fix=fix)


def refused(status: int, what: str, fix: str) -> Response:
    """MS332 as an answer."""
    return error_answer(refusal(what, fix), status)


def bad_request(what: str, fix: str) -> RunError:
    """MS333: a request that cannot be understood, or asks for too much."""
    return RunError("MS333", what, fix=fix)


def whole(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A number of the query, within limits."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > 18 or not least <= int(text) <= most:
        raise bad_request(
            f"{name}={text[:50]!r} is not a whole number from {least} to {most}", "write another"
        )
    return int(text)


async def fields(request: Request, **types: type | tuple[type, ...]) -> dict[str, Any]:
    """The body of a request: an object with these fields, each of its type or left out."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        raise bad_request("the request is no JSON", "send an object") from None
    if not isinstance(body, dict):
        raise bad_request("the request is no object", "send an object")
    for name, value in body.items():
        kind = types.get(name)
        wrong = kind is None or (value is not None and not isinstance(value, kind))
        if wrong or (isinstance(value, bool) and kind is int):
            raise bad_request(
                f"the field {name[:50]!r} is unknown, or of another type", "leave it out"
            )
    return {name: body.get(name) for name in types}


def on_error(_request: Request, error: Exception) -> Response:
    """What is raised in a route, as an answer."""
    assert isinstance(error, MillstreamError)
    return error_answer(error)
