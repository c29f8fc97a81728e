"""Who is refused: other hosts' names, other origins, other users, forms of somebody who guesses."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from windtunnel.exchange import connection_users
from windtunnel.ui import sign_in
from windtunnel.ui.guard import OWN, Allowed, Guard
from windtunnel.ui.sign_in import SignIn

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


FAMILIES = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::ffff:127.0.0.1")]


@pytest.mark.parametrize(("family", "host"), FAMILIES)
def test_the_kernel_says_whose_a_connection_is_until_its_end_is_closed(family, host):
    with socket.socket(socket.AF_INET6 if host == "::1" else socket.AF_INET) as listening:
        listening.bind(("::1" if host == "::1" else "127.0.0.1", 0))
        listening.listen()
        with socket.socket(family) as client:
            client.connect((host, listening.getsockname()[1]))
            with listening.accept()[0] as accepted:
                ends = accepted.getpeername(), accepted.getsockname()
                for users in (connection_users.users, connection_users.users_of_tables):
                    assert users(*ends) == [os.geteuid()]
                    assert users(ends[1], ends[0]) == [os.geteuid()]  # the server's own end
                    assert users((ends[0][0], 1), ends[1]) == users(ends[0], ("127.0.0.3", ends[1][1])) == []
                client.shutdown(socket.SHUT_WR)
                assert connection_users.users(*ends) == connection_users.users_of_tables(*ends) == []
                assert not connection_users.is_own_or_root([])


def test_a_kernel_without_sock_diag_is_asked_by_its_tables(monkeypatch, connection):
    monkeypatch.setattr(connection_users, "_uid_of_kernel", lambda client, server: [])
    connection_users._kernel_responds.cache_clear()
    assert connection_users.users(connection["client"], connection["server"]) == [os.geteuid()]
    connection_users._kernel_responds.cache_clear()


def test_no_table_is_read_for_a_connection(monkeypatch, connection):
    """They are as long as any user likes."""
    monkeypatch.setattr(Path, "read_text", lambda path: pytest.fail(f"{path} was read"))
    assert connection_users.users(connection["client"], connection["server"]) == [os.geteuid()]


MAPPED = "0000000000000000FFFF0000"


def row(uid: int, client: str = "0100007F", family: str = "", state: str = "01") -> str:
    ends = f"{family}{client}:{40000:04X} {family}0100007F:{8642:04X}"
    return f"   0: {ends} {state} 00000000:00000000 00:00000000 00000000 {uid} 0 1"


@pytest.mark.parametrize(
    ("rows", "users"),
    [
        ([row(12345)], [12345]),
        ([row(12345), row(0, "0200007F")], [12345]),  # the owner's, from another address
        ([row(12345, family=MAPPED)], [12345]),  # a client that connects by IPv6
        ([row(12345), row(0, family=MAPPED)], [12345, 0]),  # the kernel has no two of these at one moment
        ([row(12345), row(0)], [12345, 0]),
        ([row(0, state="06")], []),
        ([row(0, "0200007F")], []),
    ],
)
def test_a_connection_is_known_by_both_addresses_and_ports(tmp_path, rows, users):
    table = tmp_path / "tcp"
    table.write_text("\n".join(["  sl  local_address", *rows, ""]))
    assert connection_users.users_of_tables(("127.0.0.1", 40000), ("127.0.0.1", 8642), [table]) == users


@pytest.mark.parametrize("fault", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"connection": {}}])
def test_no_body_is_waited_for_of_who_is_refused(allowed, connection, fault):
    """Its connection would be held for as long."""
    connection, headers = fault.get("connection", connection), {"origin": OURS} | fault
    headers.pop("connection", None)
    assert asked(allowed, connection, "POST", None, **headers)[0] == 403


def test_a_process_asks_the_kernel_by_a_socket_of_its_own(connection):
    """One that a parent and a child share would give the one the responses to the other."""
    assert connection_users.user(connection["client"], connection["server"]) == os.geteuid()
    before = connection_users._KERNEL._socket
    child = os.fork()
    if child == 0:
        os._exit(connection_users._KERNEL._socket is not None)
    assert (
        os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        and connection_users._KERNEL._socket is before is not None
    )


def test_a_connection_that_the_kernel_does_not_know_is_refused(tmp_path):
    assert connection_users.users_of_tables(("127.0.0.1", 40000), ("127.0.0.1", 8642), [tmp_path / "none"]) == []
    assert connection_users.users(None, ("127.0.0.1", 8642)) == []


@pytest.mark.parametrize(
    ("found", "may"),
    [([0], True), ([os.geteuid()], True), ([12345], False), ([12345, 0], False), ([0, 0], False), ([], False)],
)
def test_this_user_and_root_may_look(found, may):
    assert connection_users.is_own_or_root(found) is may


def test_a_browser_without_the_token_sees_the_form_alone(allowed, connection):
    sign_in = SignIn(ACCESS, lambda problem: problem, tls=False)
    assert asked(allowed, connection, sign_in=sign_in) == (401, [])
    assert asked(allowed, connection, sign_in=sign_in, cookie=f"{sign_in._name}=x") == (401, [])
    assert asked(allowed, connection, sign_in=sign_in, cookie=f"{sign_in._name}={sign_in._cookie}")[0] == 200


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
