"""Who may ask the console for what: hosts, the token, the origin of changes, and headers."""

from __future__ import annotations

import hmac
from secrets import token_urlsafe

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from millstream.console.answers import fields, refused
from millstream.console.settings import Settings

COOKIE = "millstream_session"
MOST_BYTES = 2 << 20
"""How large a request may be."""
_MOST_SESSIONS = 100
_OPEN = ("/static/", "/login")
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Guard:
    """Around the application: what it refuses, no route ever sees."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        self.app = app
        self._settings = settings
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, with_headers)
        else:
            await self.app(scope, _limited(receive), with_headers)

    def login(self, token: str) -> Response:
        """The answer to a token: a session, if it is the right one."""
        known = self._settings.token
        if known is None or not hmac.compare_digest(token.encode(), known.encode()):
            return refused(403, "the token is wrong", "copy it from the file of --token-file")
        session = token_urlsafe(32)
        self._sessions[session] = None
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        answer = JSONResponse({"ok": True})
        secure = self._settings.scheme == "https"
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=secure)
        return answer

    def _refusal(self, scope: Scope) -> Response | None:
        asked = HTTPConnection(scope)
        host = asked.headers.get("host", "")
        # A page of another site could have its name point to this machine.
        if self._settings.is_local and not self._is_here(host):
            return refused(421, f"the host {host!r} is not this machine", "use the printed address")
        if not self._is_known(asked):
            path = asked.url.path
            if scope["method"] == "GET" and not path.startswith("/api/"):
                return RedirectResponse("/login", 303)
            return refused(401, "no token was given", "open the console in a browser, and log in")
        return self._refused_change(scope, asked.headers, host)

    def _is_here(self, host: str) -> bool:
        return not {host, host.rpartition(":")[0]}.isdisjoint({*_LOCAL, self._settings.host})

    def _is_known(self, asked: HTTPConnection) -> bool:
        token = self._settings.token
        if token is None or asked.url.path.startswith(_OPEN):
            return True
        if asked.cookies.get(COOKIE) in self._sessions:
            return True
        given = asked.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), token.encode())

    def _refused_change(self, scope: Scope, headers: Headers, host: str) -> Response | None:
        if scope["method"] in ("GET", "HEAD"):
            return None
        if headers.get("origin") != f"{self._settings.scheme}://{host}":
            return refused(403, "the request is not from a page of the console", _RELOAD)
        if scope["path"] == "/login":
            return None
        given = headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), self._settings.csrf.encode()):
            return refused(403, "the request has no valid CSRF token", _RELOAD)
        if self._settings.read_only:
            return refused(
                403, "the console is read-only", "start it without --read-only to change things"
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return refused(413, f"the request has more than {MOST_BYTES:,} bytes", "send less")
        return None


_RELOAD = "reload the page, and try again"


async def login(request: Request) -> Response:
    """Route: a token for a session."""
    token = (await fields(request, token=str))["token"]
    guard: Guard = request.app.state.guard
    return guard.login(token or "")


def _limited(receive: Receive) -> Receive:
    """Ends a request whose body is longer than its length says, or is sent in parts."""
    got = 0

    async def limited() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message

    return limited
