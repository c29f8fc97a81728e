"""The one page that a browser beyond loopback sees before it has the access token; then a cookie stands for it."""

import secrets
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

COOKIE = "__Host-windtunnel"
"""A browser takes a cookie of such a name over TLS alone, and for this host alone."""
OPEN = ("/assets/page.css", "/assets/ui.css")
FIELD = "access"


class SignIn:
    """An ASGI application. `page`: its HTML, with what went wrong before."""

    def __init__(self, access_token: str, page: Any):
        self._token, self._page = access_token.encode(), page
        self._cookie = secrets.token_urlsafe(32)

    def knows(self, scope: Any) -> bool:
        """Whether the request has the cookie, or is for what the page itself needs."""
        if scope["path"] in OPEN:
            return True
        try:
            jar = SimpleCookie("; ".join(v.decode("latin-1") for n, v in scope["headers"] if n == b"cookie"))
        except CookieError:
            return False
        given = jar[COOKIE].value if COOKIE in jar else ""
        return compare_digest(given.encode(), self._cookie.encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            await self._send(send, 401, "")
            return
        given = parse_qs((await receive()).get("body", b"").decode(errors="replace")).get(FIELD, [""])[-1]
        if not compare_digest(given.strip().encode(), self._token):
            await self._send(send, 401, "This is not the token.")
            return
        cookie = f"{COOKIE}={self._cookie}; Path=/; Secure; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Any, status: int, problem: str) -> None:
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": self._page(problem).encode()})
