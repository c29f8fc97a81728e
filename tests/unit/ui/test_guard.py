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


def asked(allowed, connection, method="GET", body=b"", **headers) -> int:
    """The status of a request; 200 where it came through."""
    headers = {"host": HOST} | {name: value for name, value in headers.items() if value is not None}
    scope = {
        "type": "http",
        "method": method,
        "path": "/",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": connection["client"],
        "server": connection["server"],
    }
    statuses = []

    async def inside(scope, receive, send):
        if method == "POST":
            assert (await receive())["body"] == body
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            assert b"content-security-policy" in dict(message["headers"])

    asyncio.run(Guard(inside, allowed)(scope, receive, send))
    return statuses[0]


@pytest.mark.parametrize("host", [HOST, "localhost:8642", "LOCALHOST:8642"])
def test_our_own_names_are_served(allowed, connection, host):
    assert asked(allowed, connection, host=host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example:8642", "127.0.0.1", "127.0.0.1:8643", "127.0.0.1.evil.example:8642", ""]
)
def test_a_name_that_was_rebound_is_refused(allowed, connection, host):
    assert asked(allowed, connection, host=host) == 403


def test_a_form_of_ours_comes_through(allowed, connection):
    body = f"token={allowed.token}".encode()
    assert asked(allowed, connection, "POST", body, origin=f"http://{HOST}") == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:8642", "http://localhost:8642"]
)
def test_another_origin_changes_nothing(allowed, connection, origin):
    body = f"token={allowed.token}".encode()
    assert asked(allowed, connection, "POST", body, origin=origin) == 403


@pytest.mark.parametrize("body", [b"", b"token=", b"token=x", b"token=%FF", b"\xff\xfe", b"other=1"])
def test_a_form_without_our_token_changes_nothing(allowed, connection, body):
    assert asked(allowed, connection, "POST", body, origin=f"http://{HOST}") == 403


def test_a_token_twice_is_refused(allowed, connection):
    body = f"token={allowed.token}&token={allowed.token}".encode()
    assert asked(allowed, connection, "POST", body, origin=f"http://{HOST}") == 403


def test_other_methods_are_refused(allowed, connection):
    assert asked(allowed, connection, "DELETE", origin=f"http://{HOST}") == 403


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
        ("loopback", {os.geteuid()}, True),
        ("loopback", {os.geteuid(), 0, 12345}, None),
        ("unix", set(), True),
        ("tls", {os.geteuid()}, False),
    ],
)
def test_only_this_user_on_this_host_may_start_what_this_user_may(monkeypatch, connection, door, found, own):
    monkeypatch.setattr(whose, "users", lambda client, server: found)
    seen = []

    async def inside(scope, receive, send):
        seen.append(scope[OWN])

    async def send(message):
        pass

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", HOST.encode())]}
    asyncio.run(Guard(inside, Allowed(door, (HOST,)))(scope | connection, None, send))
    assert seen == ([] if own is None else [own])


def test_root_may_look_and_starts_nothing(monkeypatch, connection):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(whose, "users", lambda client, server: {0})
    seen = []

    async def inside(scope, receive, send):
        seen.append(scope[OWN])

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", HOST.encode())]}
    asyncio.run(Guard(inside, Allowed("loopback", (HOST,)))(scope | connection, None, None))
    assert seen == [False]
