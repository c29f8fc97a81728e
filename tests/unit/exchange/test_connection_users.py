"""Whose a connection is, by the kernel's word."""

import os
import socket
from pathlib import Path

import pytest

from windtunnel.exchange import connection_users


@pytest.fixture
def connection():
    """Both ends of a connection of our own, by which the kernel knows us."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        yield {"client": accepted.getpeername(), "server": accepted.getsockname()}


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
