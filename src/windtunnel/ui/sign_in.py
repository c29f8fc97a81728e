"""The one page that a browser sees before it has given the token; then a cookie stands for it.

The token is in the address that `windtunnel ui` prints, or beyond loopback in the file of --token.
"""

import contextlib
import secrets
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

COOKIE, SECURE = "windtunnel", "__Host-windtunnel"
"""Name of the cookie, and over TLS: a browser takes one of such a name over TLS alone, and for this host alone."""
OPEN = ("/assets/page.css", "/assets/ui.css")
"""What the page itself needs."""
FIELD = "access"
"""Of the form, and of the query of an address."""
MOST_BYTES, MOST_FIELDS = 4096, 16
"""Of either, if it has a token. Whoever has none may send as many as they like."""


class SignIn:
    """An ASGI application. `page`: its HTML, with what went wrong before."""

    def __init__(self, token: str, page: Any, tls: bool):
        self._token, self._page, self._tls = token.encode(), page, tls
        self._name = SECURE if tls else COOKIE
        self._cookie = secrets.token_urlsafe(32)

    def knows(self, scope: Any) -> bool:
        """Whether the request has the cookie and needs no other address."""
        try:
            jar = SimpleCookie("; ".join(v.decode("latin-1") for n, v in scope["headers"] if n == b"cookie"))
        except CookieError:
            return False
        given = jar[self._name].value if self._name in jar else ""
        return compare_digest(given.encode(), self._cookie.encode()) and not _given(scope["query_string"])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The page of the address without the token if the token is right, else the form."""
        if scope["method"] == "POST":
            given, place = _given((await receive()).get("body", b"")), "/"
        else:
            given, place = _given(scope["query_string"]), "/" + quote(scope["path"].lstrip("/"))
        if not given:
            await self._send(send, 401, "")
            return
        if not compare_digest(given.strip().encode(), self._token):
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


def _given(fields: bytes) -> str:
    """The token in a form or in the query of an address; empty if there is none, or so much that it would take long to look."""
    if len(fields) > MOST_BYTES:
        return ""
    with contextlib.suppress(ValueError):
        return parse_qs(fields.decode(errors="replace"), max_num_fields=MOST_FIELDS).get(FIELD, [""])[-1]
    return ""
