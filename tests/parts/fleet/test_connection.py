"""Which clusters are used: those that ask for a token, as Ray's two ports do, and others if the user says so."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: ./test installs it")
import grpc

from windtunnel.errors import UserError
from windtunnel.parts.fleet import connection
from windtunnel.parts.fleet.connection import connected

HEAD, CLIENT = connection.HEAD_METHOD, connection.CLIENT_METHOD


class Responds(grpc.GenericRpcHandler):
    """A cluster that responds to one method, with a code or as if it had been served."""

    def __init__(self, method: str, code: grpc.StatusCode | None):
        self._method, self._code = method, code

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self._respond) if details.method == self._method else None

    def _respond(self, request, context):
        assert request == b"" and not any(key == "authorization" for key, _ in context.invocation_metadata())
        if self._code:
            context.abort(self._code, "said by a test")
        return b""


@contextmanager
def cluster(method: str, code: grpc.StatusCode | None) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(1), handlers=[Responds(method, code)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"{'ray://' if method == CLIENT else ''}127.0.0.1:{port}"
    finally:
        server.stop(None)


@pytest.fixture
def joined(monkeypatch) -> list[str]:
    """Addresses that Ray was told to join."""
    found: list[str] = []
    monkeypatch.setattr(connection.ray, "init", lambda address, **_: found.append(address))
    monkeypatch.setattr(connection.ray, "shutdown", lambda: found.append("left"))
    return found


@pytest.mark.parametrize("method", [HEAD, CLIENT])
def test_a_cluster_that_wants_a_token_is_joined(joined, method):
    with cluster(method, grpc.StatusCode.UNAUTHENTICATED) as address, connected(address, 10, without_token=False):
        assert joined == [address]


@pytest.mark.parametrize(
    ("method", "code"),
    [
        (HEAD, None),
        (CLIENT, grpc.StatusCode.NOT_FOUND),
        (CLIENT, grpc.StatusCode.UNIMPLEMENTED),
        (HEAD, grpc.StatusCode.PERMISSION_DENIED),
    ],
)
def test_another_one_is_refused_unless_the_user_says_so(joined, method, code):
    with cluster(method, code) as address:
        with (
            pytest.raises(UserError, match="asks for no token") as refused,
            connected(address, 10, without_token=False),
        ):
            pass
        assert "RAY_AUTH_MODE=token" in refused.value.remedy and "without_token = true" in refused.value.remedy
        assert joined == []
        with connected(address, 10, without_token=True):
            assert joined == [address]


def test_one_that_stops_responding_is_not_taken_for_an_open_one(joined):
    with cluster(HEAD, grpc.StatusCode.UNAVAILABLE) as address:
        with pytest.raises(UserError, match="no Ray cluster responds"), connected(address, 10, without_token=True):
            connection.check_guarded(address)
        assert joined == [address, "left"]


@pytest.fixture
def written(monkeypatch, tmp_path) -> Path:
    """The file of the address that `ray start` writes; Ray makes its directory everybody's."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray").chmod(0o777)
    return tmp_path / "ray/ray_current_cluster"


def test_the_cluster_of_this_node_is_checked_before_it_is_joined(joined, written):
    with cluster(HEAD, grpc.StatusCode.UNAUTHENTICATED) as address:
        written.write_text(f"{address}\n")
        with connected("auto", 10, without_token=False):
            assert joined == [address]
    with cluster(HEAD, None) as address:
        written.write_text(address)
        with pytest.raises(UserError, match="asks for no token"), connected("auto", 10, without_token=False):
            pass
        assert address not in joined
        with connected("auto", 10, without_token=True):
            assert joined[-1] == address


def test_the_address_of_another_user_is_not_that_of_this_node(joined, written, monkeypatch):
    """With it they would be sent the token, and send back what is unpickled."""
    with cluster(HEAD, grpc.StatusCode.UNAUTHENTICATED) as address:
        written.write_text(address)
        mine = os.geteuid()
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(connection.os, "geteuid", lambda: mine + 1)
            elsewhere.setattr(connection, "ROOT", mine + 2)
            with pytest.raises(UserError, match=f"written by user {mine}"), connected("auto", 10, without_token=True):
                pass
        written.chmod(0o666)
        with pytest.raises(UserError, match="or others") as refused, connected("auto", 10, without_token=True):
            pass
        assert "--on HOST:6379" in refused.value.remedy
        elsewhere = written.rename(written.with_name("other"))
        written.symlink_to(elsewhere)
        with pytest.raises(UserError, match="a link"), connected("auto", 10, without_token=True):
            pass
        assert joined == []


def test_a_process_of_any_user_does_not_name_the_cluster_of_this_node(joined, written):
    with pytest.raises(UserError, match="no Ray cluster is known here"), connected("auto", 10, without_token=True):
        pass
    assert joined == []


def test_the_environment_names_the_cluster_of_this_node(joined, written, monkeypatch):
    with cluster(CLIENT, grpc.StatusCode.UNAUTHENTICATED) as address:
        monkeypatch.setenv("RAY_ADDRESS", address)
        with connected("auto", 10, without_token=False):
            assert joined == [address]
    monkeypatch.setenv("RAY_ADDRESS", "lab")
    with pytest.raises(UserError, match='"lab" is not an address'), connected("auto", 10, without_token=False):
        pass


def test_a_driver_without_the_clusters_token_is_told_so(monkeypatch):
    def refuse(address, **_):
        raise connection.AuthenticationError("no token was found")

    monkeypatch.setattr(connection.ray, "init", refuse)
    with cluster(HEAD, grpc.StatusCode.UNAUTHENTICATED) as address:
        with pytest.raises(UserError, match="refuses this driver: no token was found") as refused:
            connected(address, 10, without_token=False).__enter__()
        assert "RAY_AUTH_TOKEN_PATH" in refused.value.remedy
