"""The only page that a browser gets before it has sent the token; afterwards a cookie replaces the token.

The token is in the address that `windtunnel ui` prints, or beyond loopback in the file of --token.
"""

import contextlib
import secrets
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qs, quote

COOKIE, SECURE = "windtunnel", "__Host-windtunnel"
"""Name of the cookie, and its name over TLS: a browser accepts a name with this prefix only over TLS and only for this host."""
OPEN = ("/assets/page.css", "/assets/ui.css")
"""Files that the page itself needs."""
FIELD = "access"
"""Name of the token's field in the form and in the query of an address."""
MOST_BYTES, MOST_FIELDS = 4096, 16
"""Bounds of a form or a query that is searched for a token."""


class SignIn:
    """An ASGI application. `page`: returns its HTML for a problem with the previous attempt."""

    def __init__(self, token: str, page: Any, tls: bool):
        self._token, self._page, self._tls = token.encode(), page, tls
        self._name = SECURE if tls else COOKIE
        self._cookie = secrets.token_urlsafe(32)

    def knows(self, scope: Any) -> bool:
        """Whether the request has the cookie and needs no other address."""
        ours = f"{self._name}={self._cookie}".encode()
        cookies = [cookie for name, value in scope["headers"] if name == b"cookie" for cookie in value.split(b";")]
        return any(compare_digest(cookie.strip(), ours) for cookie in cookies) and not _token_in(scope["query_string"])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Redirects to the address without the token if the token is right, else sends the form."""
        if scope["method"] == "POST":
            token, place = _token_in((await receive()).get("body", b"")), "/"
        else:
            token, place = _token_in(scope["query_string"]), "/" + quote(scope["path"].lstrip("/"))
        if not token:
            await self._send(send, 401, "")
            return
        if not compare_digest(token.strip().encode(), self._token):
            await self._send(send, 401, "This is not the token.")
            return
        cookie = f"{self._name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self._tls else ''}"
        headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Any, status: int, problem: str) -> None:
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": self._page(problem).encode()})


def _token_in(fields: bytes) -> str:
    """The token in a form or in the query of an address; empty if there is none, or if the text is too long to search."""
    if len(fields) > MOST_BYTES:
        return ""
    with contextlib.suppress(ValueError):
        return parse_qs(fields.decode(errors="replace"), max_num_fields=MOST_FIELDS).get(FIELD, [""])[-1]
    return ""
