"""Access rules: which requests may read a page, and which may change something.

Every user of the host and every page in a browser can reach loopback. So a browser must have signed in with the access token, and the
connection's user is read from the kernel. A change is a POST with the token of a form that this process has served, from a page of our own
origin. The origin differs at each start, and no other is served: a process that binds our port after our end does not get our origin. A browser
sends a cookie to every port of a name, so it is the name that nobody else knows. A Unix socket is opened by its owner, or by a browser through ssh -L, under any port. Beyond loopback the
kernel does not know the user: there the connection is TLS, whose certificate has our names.
"""

import os
import re
import secrets
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Any, Literal
from urllib.parse import parse_qs

from windtunnel.exchange import connection_users, http_server
from windtunnel.parts.ui.sign_in import MOST_BYTES, OPEN, SignIn

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
TOKEN = "token"
"""Name of the form's field."""
_PORT = re.compile(r"(?::(\d{1,5}))?")
HTTP = 80
OWN = "windtunnel.own"
"""Key in the connection's scope: whether this user of this host made it, who may start runs."""
SIGNED_IN = "windtunnel.signed_in"
"""Key in the connection's scope: whether the request has the cookie."""


@dataclass(frozen=True)
class Allowed:
    """The rules for requests. Only its owner and root can open the transport "unix"."""

    transport: Literal["loopback", "unix", "tls"]
    name: str
    """The host name that a browser must use; beyond loopback any name is allowed."""
    port: int | None = None
    """The port of a server on loopback."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def host(self, value: str) -> bool:
        """Whether the header Host names this server."""
        if self.transport == "tls":
            return True
        name, rest = value[: len(self.name)], value[len(self.name) :]
        port = _PORT.fullmatch(rest)
        return name.lower() == self.name and port is not None and self.port in (None, int(port[1] or HTTP))

    def origin(self, value: str, host: str) -> bool:
        return value.lower() == f"{'https' if self.transport == 'tls' else 'http'}://{host.lower()}"

    def form(self, body: bytes) -> bool:
        """Whether the form has our token."""
        tokens = parse_qs(body.decode(errors="replace")).get(TOKEN, [])
        return len(tokens) == 1 and compare_digest(tokens[0].encode(), self.token.encode())


class Guard:
    """An ASGI application in front of another, which applies the rules."""

    def __init__(self, app: Any, allowed: Allowed, sign_in: SignIn):
        self._app, self._allowed, self._sign_in = app, allowed, sign_in
        self._limited = http_server.Limits(self._read, most_body=self._most_body)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles a request. It waits for no body before it knows the user."""
        if scope["type"] != "http":
            return
        users = (
            connection_users.users(scope.get("client"), scope.get("server"))
            if self._allowed.transport == "loopback"
            else []
        )
        if (why := self._refusal(scope, users)) is not None:
            await _refuse(send, why, for_good=not self._is_known(scope, users))
            return
        scope[OWN] = self._allowed.transport == "unix" or users == [os.geteuid()]
        scope[SIGNED_IN] = self._sign_in.knows(scope)
        if scope[SIGNED_IN]:
            http_server.prove(scope)
        await self._limited(scope, receive, _with_headers(send, for_good=not scope[SIGNED_IN]))

    def _is_known(self, scope: Any, users: list[int]) -> bool:
        """Whether the client is known. An unknown one gets one request on a connection."""
        if self._allowed.transport == "loopback":
            return connection_users.is_own_or_root(users)
        return self._allowed.transport == "unix" or self._sign_in.knows(scope)

    def _most_body(self, scope: Any) -> int:
        return http_server.MOST_BODY if scope[SIGNED_IN] else MOST_BYTES

    async def _read(self, scope: Any, receive: Any, send: Any) -> None:
        if not scope[SIGNED_IN] and scope["path"] not in OPEN:
            await self._sign_in(scope, receive, send)
            return
        if scope["method"] == "POST":
            message = await receive()
            if not self._allowed.form(message.get("body", b"")):
                await _refuse(send, "the form is not of this server: load the page again")
                return
            receive = _replayed(message, receive)
        await self._app(scope, receive, send)

    def _refusal(self, scope: Any, users: list[int]) -> str | None:
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._allowed.host(hosts[0]):
            return "this is not the address that windtunnel ui has printed"
        if scope["method"] not in ("GET", "POST"):
            return "only GET and POST are served"
        if scope["method"] == "POST":
            origins = [value for name, value in headers if name == b"origin"]
            if len(origins) != 1 or not self._allowed.origin(origins[0], hosts[0]):
                return "a page of another origin may change nothing here"
        if self._allowed.transport == "loopback" and not connection_users.is_own_or_root(users):
            return "another user's connection"
        return None


def is_own(scope: Any) -> bool:
    """Whether the request is of this user on this host."""
    return bool(scope[OWN])


def _replayed(message: Any, receive: Any) -> Any:
    """A receive function that returns the message that was read already, then the following ones."""
    first = [message]

    async def again() -> Any:
        return first.pop() if first else await receive()

    return again


def _with_headers(send: Any, for_good: bool) -> Any:
    """A send function that adds our headers. `for_good`: the connection ends with the response."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [*message.get("headers", []), *([(b"connection", b"close")] if for_good else [])]
            names = {name for name, _ in own}  # a report has a policy of its own
            message["headers"] = [*own, *(header for header in HEADERS if header[0] not in names)]
        await send(message)

    return sending


async def _refuse(send: Any, why: str, for_good: bool = False) -> None:
    """Sends a refusal. The connection stays open unless `for_good`: if it closed while a body arrives, the kernel would drop the refusal."""
    body = f"refused: {why}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await _with_headers(send, for_good)({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
