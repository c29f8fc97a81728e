"""Who may ask for a page, and who may change something.

A page on loopback is reached by every user of the host and by every page that a browser shows. So the kernel is asked whose connection it
is; the Host must be ours, or a name that somebody rebinds to 127.0.0.1 would be served; and what changes something is a POST with the
token of a form that this process has served, from a page of our own origin.
"""

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

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
_ESTABLISHED = "01"


@dataclass(frozen=True)
class Allowed:
    """What a request must have. `hosts`: as a browser names this server; none: it listens on a Unix socket, which only its owner opens."""

    hosts: tuple[str, ...]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def host(self, value: str) -> bool:
        return not self.hosts or value.lower() in self.hosts

    def origin(self, value: str, host: str) -> bool:
        return value.lower() == f"http://{host.lower()}"

    def form(self, body: bytes) -> bool:
        """Whether it holds our token."""
        given = parse_qs(body.decode(errors="replace")).get(TOKEN, [])
        return len(given) == 1 and compare_digest(given[0].encode(), self.token.encode())


class Guard:
    """An ASGI application in front of another."""

    def __init__(self, app: Any, allowed: Allowed):
        self._app, self._allowed = app, allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        why = self._refusal(scope)
        if why is None and scope["method"] == "POST":
            message = await receive()
            if not self._allowed.form(message.get("body", b"")):
                why = "the form is not of this server: load the page again"
            receive = _given(message, receive)
        if why is not None:
            await _refuse(send, why)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Any) -> str | None:
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._allowed.host(hosts[0]):
            return "this host name is not ours"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return "only GET, HEAD and POST are served"
        if scope["method"] == "POST":
            origins = [value for name, value in headers if name == b"origin"]
            if len(origins) != 1 or not self._allowed.origin(origins[0], hosts[0]):
                return "a page of another origin may change nothing here"
        if self._allowed.hosts and not is_ours(scope.get("client"), scope.get("server")):
            return "another user's connection"
        return None


def is_ours(client: Any, server: Any, tables: Iterable[str] = ("/proc/net/tcp", "/proc/net/tcp6")) -> bool:
    """Whether the kernel says that the client's end of a connection on this host belongs to this user, or to root."""
    if not client or not server:
        return False
    ends = f"{client[1]:04X}", f"{server[1]:04X}"
    uids = [uid for table in tables for uid in _owners(Path(table), *ends)]
    return bool(uids) and all(uid in (os.geteuid(), 0) for uid in uids)


def _owners(table: Path, port: str, peer_port: str) -> Iterable[int]:
    """Of the established sockets between two ports, as proc_pid_net(5) lists them: local address, remote address, state, ..., uid."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:  # a kernel without IPv6
        return
    for line in lines:
        words = line.split()
        if words[1].endswith(f":{port}") and words[2].endswith(f":{peer_port}") and words[3] == _ESTABLISHED:
            yield int(words[7])


def _given(message: Any, receive: Any) -> Any:
    """Gives the message that was read already, and then what comes after it."""
    first = [message]

    async def again() -> Any:
        return first.pop() if first else await receive()

    return again


def _with_headers(send: Any) -> Any:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = message.get("headers", [])
            known = {name for name, _ in own}  # a report has a policy of its own
            message["headers"] = [*own, *(header for header in HEADERS if header[0] not in known)]
        await send(message)

    return sending


async def _refuse(send: Any, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"refused: {why}\n".encode()})
