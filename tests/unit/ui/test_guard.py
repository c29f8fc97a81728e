"""Who is refused: other hosts' names, other origins, other users, forms of somebody who guesses."""

import asyncio
import os
import socket

import pytest

from windtunnel.ui import whose
from windtunnel.ui.guard import OWN, Allowed, Guard

HOST = "127.0.0.1:8642"


@pytest.fixture
def allowed():
    return Allowed("loopback", (HOST, "localhost:8642"))


@pytest.fixture
def connection():
    """Both ends of a connection of our own, by which the kernel knows us."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        yield {"client": accepted.getpeername(), "server": accepted.getsockname()}


def asked(allowed, connection, method="GET", body=b"", **headers) -> tuple[int, list[bool]]:
    """The status of a request, 200 where it came through; and whether it was then taken for this user's own."""
    headers = {"host": HOST} | {name: value for name, value in headers.items() if value is not None}
    scope = {
        "type": "http",
        "method": method,
        "path": "/",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    statuses, own = [], []

    async def inside(scope, receive, send):
        own.append(scope[OWN])
        if method == "POST":
            assert (await receive())["body"] == body
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            assert b"content-security-policy" in dict(message["headers"])

    asyncio.run(Guard(inside, allowed)(scope | connection, receive, send))
    return statuses[0], own


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HOST, 200),
        ("localhost:8642", 200),
        ("LOCALHOST:8642", 200),
        ("evil.example:8642", 403),
        ("127.0.0.1", 403),
        ("127.0.0.1:8643", 403),
        ("127.0.0.1.evil.example:8642", 403),
        ("", 403),
    ],
)
def test_our_own_names_are_served_and_one_that_was_rebound_is_not(allowed, connection, host, status):
    assert asked(allowed, connection, host=host)[0] == status


OURS = f"http://{HOST}"
OTHERS = (None, "null", "http://evil.example", "https://127.0.0.1:8642", "http://localhost:8642")


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


def test_the_kernel_says_whose_a_connection_is(connection):
    assert whose.users(connection["client"], connection["server"]) == {os.geteuid()}


@pytest.mark.parametrize(("uid", "ours"), [(0, True), (os.geteuid(), True), (12345, False)])
def test_a_connection_of_another_user_is_refused(tmp_path, uid, ours):
    row = f"0: 0100007F:{40000:04X} 0100007F:{8642:04X} 01 00000000:00000000 00:00000000 00000000 {uid} 0 1"
    table = tmp_path / "tcp"
    table.write_text(f"  sl  local_address\n   {row}\n")
    found = whose.users(("127.0.0.1", 40000), ("127.0.0.1", 8642), [str(table)])
    assert found == {uid}
    assert whose.may_look(found) is ours


def test_a_connection_that_the_kernel_does_not_know_is_refused(tmp_path):
    assert whose.users(("127.0.0.1", 40000), ("127.0.0.1", 8642), [str(tmp_path / "none")]) == set()
    assert whose.users(None, ("127.0.0.1", 8642)) == set()
    assert not whose.may_look(set())


@pytest.mark.parametrize(
    ("door", "found", "own"),
    [
        ("loopback", {1000}, [True]),
        ("loopback", {0}, [False]),  # root may look, and starts nothing
        ("loopback", {1000, 0, 12345}, []),
        ("unix", set(), [True]),
        ("tls", {1000}, [False]),
    ],
)
def test_only_this_user_on_this_host_may_start_what_this_user_may(monkeypatch, connection, door, found, own):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(whose, "users", lambda client, server: found)
    assert asked(Allowed(door, (HOST,)), connection)[1] == own
