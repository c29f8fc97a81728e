"""Who is refused: other hosts' names, other origins, other users, forms of somebody who guesses."""

import asyncio
import os
import socket

import pytest

from windtunnel.exchange import connection_users
from windtunnel.parts.ui import sign_in
from windtunnel.parts.ui.guard import OWN, Allowed, Guard
from windtunnel.parts.ui.sign_in import SignIn

NAME = "wt-01234567.localhost"
HOST = f"{NAME}:8642"
SHARED = ("127.0.0.1:8642", "localhost:8642", "localhost", "[::1]:8642")
"""Who has the port after us has these as well, and other ports have their cookies."""
ACCESS = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def allowed():
    return Allowed("loopback", NAME, 8642)


class SignedIn(SignIn):
    """A browser has the cookie."""

    def __init__(self):
        super().__init__(ACCESS, lambda problem: problem, tls=False)

    def knows(self, scope):
        return True


@pytest.fixture
def connection():
    """Both ends of a connection of our own, by which the kernel knows us."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        yield {"client": accepted.getpeername(), "server": accepted.getsockname()}


def asked(allowed, connection, method="GET", body=b"", sign_in=None, **headers) -> tuple[int, list[bool]]:
    """The status of a request, 200 if it came through; and whether it was then taken for this user's own."""
    status, own, _ = response(allowed, connection, method, body, sign_in, **headers)
    return status, own


def response(
    allowed, connection, method="GET", body=b"", sign_in=None, path="/", **headers
) -> tuple[int, list[bool], bool]:
    """The same, and whether the connection ends with it."""
    headers = {"host": HOST} | {name: value for name, value in headers.items() if value is not None}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    statuses, own, ends = [], [], []

    async def inside(scope, receive, send):
        own.append(scope[OWN])
        if method == "POST":
            assert (await receive())["body"] == body
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        assert body is not None, "a body was waited for"
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            assert b"content-security-policy" in dict(message["headers"])
            ends.append((b"connection", b"close") in message["headers"])

    asyncio.run(Guard(inside, allowed, sign_in or SignedIn())(scope | connection, receive, send))
    return statuses[0], own, ends[0]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HOST, 200),
        (HOST.upper(), 200),
        ("evil.example:8642", 403),
        *((host, 403) for host in SHARED),
        (NAME, 403),
        (f"{NAME}:8643", 403),
        (f"{NAME}.evil.example:8642", 403),
        (f"evil.{HOST}", 403),
        ("wt-01234568.localhost:8642", 403),
        ("", 403),
    ],
)
def test_the_name_of_this_start_is_served_and_no_other(allowed, connection, host, status):
    assert asked(allowed, connection, host=host)[0] == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (NAME, 200),
        (f"{NAME}:9000", 200),
        *((host, 403) for host in SHARED),
        ("evil.example", 403),
        (f"{NAME}.evil.example:9000", 403),
        (f"{NAME}:9000.evil.example", 403),
        ("", 403),
    ],
)
def test_a_socket_behind_a_tunnel_is_served_under_any_port_of_its_name(host, status):
    assert asked(Allowed("unix", NAME), {}, host=host)[0] == status


def test_a_browser_leaves_out_the_port_of_http(connection):
    assert asked(Allowed("loopback", NAME, 80), connection, host=NAME)[0] == 200


OURS = f"http://{HOST}"
OTHERS = (None, "null", "http://evil.example", f"https://{HOST}", "http://localhost:8642", f"http://{NAME}:8643")


@pytest.mark.parametrize(
    ("method", "body", "origin", "status"),
    [
        ("POST", b"token=TOKEN", OURS, 200),
        *(("POST", b"token=TOKEN", origin, 403) for origin in OTHERS),
        *(("POST", body, OURS, 403) for body in (b"", b"token=", b"token=x", b"token=%FF", b"\xff\xfe", b"other=1")),
        ("POST", b"token=TOKEN&token=TOKEN", OURS, 403),
        ("DELETE", b"", OURS, 403),
    ],
)
def test_only_a_form_of_ours_changes_something(allowed, connection, method, body, origin, status):
    body = body.replace(b"TOKEN", allowed.token.encode())
    assert asked(allowed, connection, method, body, origin=origin)[0] == status


@pytest.mark.parametrize("fault", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"connection": {}}])
def test_no_body_is_waited_for_of_who_is_refused(allowed, connection, fault):
    """Its connection would be held for as long."""
    connection, headers = fault.get("connection", connection), {"origin": OURS} | fault
    headers.pop("connection", None)
    assert asked(allowed, connection, "POST", None, **headers)[0] == 403


def test_a_browser_without_the_token_sees_the_form_alone(allowed, connection):
    sign_in = SignIn(ACCESS, lambda problem: problem, tls=False)
    assert asked(allowed, connection, sign_in=sign_in) == (401, [])
    assert asked(allowed, connection, sign_in=sign_in, cookie=f"{sign_in._name}=x") == (401, [])
    assert asked(allowed, connection, sign_in=sign_in, cookie=f"{sign_in._name}={sign_in._cookie}")[0] == 200


def test_a_cookie_is_found_among_others_and_of_escapes_nothing_is_made(allowed, connection):
    """A quoted value of a hundred escapes would take the parser of the standard library a hundred times a hundred steps (CVE-2024-7592)."""
    sign_in = SignIn(ACCESS, lambda problem: problem, tls=False)
    ours = f"{sign_in._name}={sign_in._cookie}"
    for cookie in (f"a=b; {ours}", f"{ours};a", f'a="\\"\\""; {ours} ; b'):
        assert asked(allowed, connection, sign_in=sign_in, cookie=cookie)[0] == 200, cookie
    quoted = "".join(f"\\{ord(character):03o}" for character in sign_in._cookie)
    for cookie in (f'{sign_in._name}="{quoted}"', f"{ours}x", f"x{ours}", sign_in._cookie, ""):
        assert asked(allowed, connection, sign_in=sign_in, cookie=cookie)[0] == 401, cookie


@pytest.mark.parametrize("form", [b"%61=%61&" * 1000, b"a=1&" * 100, b"access=%s&" % ACCESS.encode() * 100])
@pytest.mark.parametrize("where", ["body", "query"])
def test_a_form_is_not_read_at_length_before_the_token_is_known(monkeypatch, where, form):
    """A form of 1 MB would keep all others waiting for a second."""
    parse = sign_in.parse_qs

    def few(text, **how):
        assert len(text) <= 4096 and how["max_num_fields"] <= 16
        return parse(text, **how)

    monkeypatch.setattr(sign_in, "parse_qs", few)
    asks = SignIn(ACCESS, lambda problem: problem, tls=False)
    statuses = []

    async def receive():
        return {"type": "http.request", "body": form, "more_body": False}

    async def send(message):
        statuses.append(message.get("status"))

    method, query = ("POST", b"") if where == "body" else ("GET", form)
    scope = {"method": method, "path": "/", "query_string": query, "headers": []}
    assert not asks.knows(scope)
    asyncio.run(asks(scope, receive, send))
    assert statuses[0] == 401


@pytest.mark.parametrize(
    ("transport", "found", "own"),
    [
        ("loopback", [1000], [True]),
        ("loopback", [0], [False]),  # root may look, and starts nothing
        ("loopback", [1000, 1000], []),
        ("unix", [], [True]),
        ("tls", [1000], [False]),
    ],
)
def test_only_this_user_on_this_host_may_start_what_this_user_may(monkeypatch, connection, transport, found, own):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(connection_users, "users", lambda client, server: found)
    assert asked(Allowed(transport, NAME, 8642 if transport == "loopback" else None), connection)[1] == own


@pytest.mark.parametrize("transport", ["loopback", "unix", "tls"])
@pytest.mark.parametrize("path", ["/", *sign_in.OPEN])
def test_whoever_has_not_signed_in_asks_once_on_a_connection(connection, transport, path):
    allowed, asks = (
        Allowed(transport, NAME, 8642 if transport == "loopback" else None),
        SignIn(ACCESS, lambda problem: problem, tls=False),
    )
    assert response(allowed, connection, sign_in=asks, path=path)[2]
    assert not response(allowed, connection, sign_in=asks, path=path, cookie=f"{asks._name}={asks._cookie}")[2]


@pytest.mark.parametrize(("signed_in", "status"), [(False, 413), (True, 200)])
def test_whoever_has_not_signed_in_sends_no_more_than_the_form(allowed, connection, signed_in, status):
    asks = SignIn(ACCESS, lambda problem: problem, tls=False)
    body = b"x" * 8192 + b"&token=" + allowed.token.encode()
    cookie = f"{asks._name}={asks._cookie}" if signed_in else None
    assert asked(allowed, connection, "POST", body, asks, origin=OURS, cookie=cookie)[0] == status
