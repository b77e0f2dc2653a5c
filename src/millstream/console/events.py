"""Server-sent events: what a page shows, sent again whenever it has changed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from millstream.console.answers import refused
from millstream.model.errors import MillstreamError
from millstream.reports.masking import masked

TICK = 1.0
"""Seconds between two looks."""
MOST_STREAMS = 64
_NOTICED = 0.2
_SHARE = 19  # a page looks for at most a twentieth of the time, so that jobs do not notice it
_QUIET = 15.0  # seconds after which something is sent, so that a broken connection is noticed


async def event_stream(
    request: Request, look: Callable[[], dict[str, Any]], every: float = TICK
) -> Response:
    """Sends what ``look`` returns, at once and after each change, until the page is closed."""
    state = request.app.state
    if state.streams >= MOST_STREAMS:
        return refused(503, f"{MOST_STREAMS} pages are open already", "close some of them")
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(request, look, every), media_type="text/event-stream", headers=headers
    )


async def _events(
    request: Request, look: Callable[[], dict[str, Any]], every: float
) -> AsyncIterator[bytes]:
    state = request.app.state
    state.streams += 1
    try:
        sent, quiet = "", 0.0
        while not state.closing:
            began = time.monotonic()
            text = await run_in_threadpool(_text, look)
            spent = time.monotonic() - began
            if text != sent:
                sent, quiet = text, 0.0
                yield f"data: {text}\n\n".encode(errors="replace")
            elif quiet >= _QUIET:
                quiet = 0.0
                yield b": still here\n\n"
            wait = max(every, _SHARE * spent)
            await _pause(state, wait)
            quiet += wait
    finally:
        state.streams -= 1


async def _pause(state: State, seconds: float) -> None:
    """Waits, but not for longer than it takes to notice that the console closes."""
    ends = asyncio.get_running_loop().time() + seconds
    while not state.closing and (left := ends - asyncio.get_running_loop().time()) > 0:
        await asyncio.sleep(min(left, _NOTICED))


def _text(look: Callable[[], dict[str, Any]]) -> str:
    try:
        value = look()
    except MillstreamError as error:
        value = {"error": {"code": error.code, "what": masked(error.what), "fix": error.fix}}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
