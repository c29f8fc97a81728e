"""Who may ask what of the HTTP API: tokens and their roles, and whose process reports."""

import asyncio
import fcntl
import os
import signal
import tempfile
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from api_tools import KV, Api, bearer, make_core
from pool_tools import Pools
from pydantic import ValidationError

from windtunnel.errors import UserError
from windtunnel.exchange import http_server as http
from windtunnel.exchange.connections import Client, Holder, Rank
from windtunnel_sharing import threads
from windtunnel_sharing.daemon import access, api
from windtunnel_sharing.daemon.keys import Pvcc, Serve


@pytest.fixture
def guarded():
    """One with tokens: of an administrator, of a reader, and of a tenant that reports."""
    with tempfile.TemporaryDirectory() as directory:
        for name, letter in (("admin", "a"), ("read", "r"), ("kv1", "k")):
            file = Path(directory) / name
            file.write_text(letter * 40)
            file.chmod(0o600)
        tenants = [{"name": name, "pid": 1, "report_token_file": name} for name in ("kv1",)]
        keys = Serve.model_validate({"api": {"token_file": "admin", "read_token_file": "read"}, "tenant": tenants})
        daemon = Api(Pools((0, 1, 2), **KV))
        daemon.access = access.tokens_of(keys, Path(directory))
        yield daemon


@pytest.mark.parametrize(
    ("sent", "status"),
    [(None, 401), ("Bearer", 401), ("Bearer wrong", 401), ("Basic " + "a" * 40, 401), ("Bearer " + "a" * 39, 401)]
    + [("Bearer " + "a" * 40, 200)],
)
@pytest.mark.parametrize("path", ["/v1/tenants", "/metrics", "/docs", "/openapi.json"])
def test_without_a_token_there_is_nothing(guarded, path, sent, status):
    headers = {"Authorization": sent} if sent else {}
    assert guarded.ask("GET", path, headers=headers).status_code == status


OTHER = 61_873
SEEN = {"p99_ns": 1000}


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("GET", "/v1/tenants", None, "ar"),
        ("GET", "/metrics", None, "ar"),
        ("GET", "/docs", None, "ar"),
        ("PATCH", "/v1/tenants/kv1", {"weight": 64}, "a"),
        ("POST", "/v1/batch", {"changes": []}, "a"),
        ("POST", "/v1/exit", None, "a"),
        ("DELETE", "/v1/tenants/none", None, "a"),
        ("POST", "/v1/tenants/kv1/report", SEEN, "ak"),
        ("POST", "/v1/tenants/kv2/report", SEEN, "a"),
        ("POST", "/v1/tenants/1/report", SEEN, "a"),
        ("POST", "/v1/tenants/kv1/report/", SEEN, "a"),
        ("GET", "/v1/tenants/kv1/report", None, "ar"),
    ],
)
def test_a_token_is_good_for_its_role_alone(guarded, method, path, body, allowed):
    for letter in "ark":
        response = guarded.ask(method, path, body, headers=bearer(letter))
        assert (response.status_code != 403) == (letter in allowed), (letter, response.text)


def test_one_token_has_one_role(tmp_path):
    for name in ("admin", "read"):
        (tmp_path / name).write_text("t" * 40)
        (tmp_path / name).chmod(0o600)
    keys = Serve.model_validate({"api": {"token_file": "admin", "read_token_file": "read"}})
    with pytest.raises(UserError, match="read: the token of another file"):
        access.tokens_of(keys, tmp_path)


UNFIT = {
    "read by others": (lambda file: file.chmod(0o644), "other users may read the token"),
    "not there": (Path.unlink, "the token cannot be read: No such file"),
    "short": (lambda file: file.write_text("short"), "not a token of 32 or more letters"),
    "a FIFO": (lambda file: (file.unlink(), os.mkfifo(file, 0o600)), "cannot be read: not a regular file"),
    "a link": (lambda file: (file.unlink(), file.symlink_to("admin")), "theirs is a link"),
    "the administrator's": (lambda file: file.write_text("a" * 40), "the token of another file"),
    "another tenant's": (lambda file: file.write_text("o" * 40), "the token of another file"),
    "of another user": (
        lambda file: os.chown(file, OTHER, OTHER),
        f"is of user {OTHER}, not of root" if os.geteuid() == 0 else None,
    ),
}


@pytest.mark.parametrize("how", UNFIT)
def test_a_tenant_whose_token_is_unfit_has_none_and_all_others_have_theirs(tmp_path, how):
    """Whatever it is: the file may be the tenant's own."""
    unfit, why = UNFIT[how]
    if why is None:
        pytest.skip("only root gives files away")
    for name in ("admin", "other", "theirs", "late"):
        (tmp_path / name).write_text(name[0] * 40)
        (tmp_path / name).chmod(0o600)
    unfit(tmp_path / "theirs")
    tenants = [{"name": name, "pid": 1, "report_token_file": name} for name in ("other", "theirs", "late")]
    tenants[1]["user"] = str(os.geteuid())
    tokens = access.tokens_of(Serve.model_validate({"api": {"token_file": "admin"}, "tenant": tenants}), tmp_path)
    assert {name: why in error.message for name, error in tokens.unfit.items()} == {"theirs": True}
    for letter, name in (("o", "other"), ("l", "late"), ("a", "other"), ("t", None)):
        headers = [(key.lower().encode(), value.encode()) for key, value in bearer(letter).items()]
        scope = {"method": "POST", "path": f"/v1/tenants/{name or 'theirs'}/report", "headers": headers}
        assert tokens(scope) == (None if name else access.NOT_KNOWN)


def test_a_token_on_which_its_owner_has_a_lease_is_not_waited_for(tmp_path):
    (tmp_path / "theirs").write_text("t" * 40)
    (tmp_path / "theirs").chmod(0o600)
    keys = Serve.model_validate({"tenant": [{"name": "theirs", "pid": 1, "report_token_file": "theirs"}]})
    with (tmp_path / "theirs").open("r+") as owner:
        fcntl.fcntl(owner, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored
        fcntl.fcntl(owner, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        unfit = access.tokens_of(keys, tmp_path).unfit
    assert "the token cannot be read: Resource temporarily unavailable" in unfit["theirs"].message
    assert not access.tokens_of(keys, tmp_path).unfit


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"tcp": "0.0.0.0:80", "token_file": "t"}, "needs tls_certificate and tls_key"),
        ({"tcp": "[::]:80", "token_file": "t"}, "needs tls_certificate and tls_key"),
        ({"tcp": "192.0.2.1:80", "token_file": "t", "tls_key": "k"}, "go together"),
        ({"metrics": "0.0.0.0:80"}, "is reached by other hosts"),
        ({"tcp": "127.0.0.1:80"}, "tcp needs token_file"),
    ],
)
def test_what_other_hosts_reach_has_a_token_and_tls(keys, words):
    with pytest.raises(ValidationError, match=words):
        Serve.model_validate({"api": keys})
    for host in ("127.0.0.1", "[::1]"):
        assert Serve.model_validate({"api": {"tcp": f"{host}:80", "token_file": "t", "metrics": f"{host}:81"}})


@pytest.mark.slow
def test_on_the_report_socket_a_process_reports_of_its_own_tenant(tmp_path):
    """The kernel says whose connection it is; the socket is everybody's."""
    pools = Pools((0, 1, 2), **KV)
    pools.tenants["kv1"].processes = {os.getpid(): threads.started(os.getpid())}
    pools.tenants["kv2"].processes = {os.getpid(): 1}  # of an earlier process of this number
    path = tmp_path / "reports.sock"

    async def run():
        with http.unix_socket(path, 0o666) as listening:
            assert path.stat().st_mode & 0o777 == 0o666
            server = http.server(http.Limits(api.make(make_core(pools)), access.OwnReports(pools)))
            task = asyncio.create_task(server.serve(sockets=[listening]))
            transport = httpx.AsyncHTTPTransport(uds=str(path))
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                asked = [
                    ("POST", "kv1/report"),
                    ("POST", "kv2/report"),
                    ("POST", "none/report"),
                    ("GET", "kv1"),
                    ("GET", "kv1/report"),
                ]
                responses = [await client.request(m, f"/v1/tenants/{p}", json=SEEN) for m, p in asked]
            server.should_exit = True
            await task
            return [response.status_code for response in responses]

    assert asyncio.run(run()) == [200, 403, 403, 403, 403]


@pytest.mark.parametrize("lives", [True, False])
def test_a_report_of_a_process_that_has_ended_is_of_nobody(lives):
    """Its number may be that of a member by now."""
    pools = Pools((0, 1, 2), **KV)
    pools.tenants["kv1"].processes = {os.getpid(): threads.started(os.getpid())}
    state = {http.PEER: SimpleNamespace(pid=os.getpid(), lives=lambda: lives)}
    refusal = access.OwnReports(pools)({"method": "POST", "path": "/v1/tenants/kv1/report", "state": state})
    assert refusal == (None if lives else access.NOT_ITS_OWN)


def test_a_token_that_others_may_read_is_refused(tmp_path):
    token = tmp_path / "token"
    token.write_text("t" * 40)
    token.chmod(0o644)
    with pytest.raises(UserError, match="other users may read"):
        http.token_of(token)
    token.chmod(0o600)
    assert http.token_of(token) == "t" * 40
    for text in ("short", "t" * 40 + " t", "ü" * 40, "t" * 40 + "\0"):
        token.write_text(text)
        with pytest.raises(UserError, match="not a token of 32 or more letters"):
            http.token_of(token)


def test_a_token_is_read_from_a_regular_file(tmp_path):
    """Without a wait: nobody writes into the FIFO."""
    token = tmp_path / "token"
    with pytest.raises(UserError, match=f"{token}: the token cannot be read: No such file") as refused:
        http.token_of(token)
    assert "openssl" in refused.value.remedy
    os.mkfifo(token, 0o600)
    with pytest.raises(UserError, match=f"{token}: the token cannot be read: not a regular file"):
        http.token_of(token)
    with pytest.raises(UserError, match=f"{tmp_path}: the token cannot be read: not a regular file"):
        http.token_of(tmp_path)


@pytest.mark.parametrize(("sent", "proven"), [(bearer("a"), 1), (bearer("x"), 0), ({}, 0)])
def test_whoever_shows_a_token_is_known_and_nobody_else(tmp_path, sent, proven):
    """Others do not take their places from then on."""
    proofs = []
    (tmp_path / "admin").write_text("a" * 40)
    (tmp_path / "admin").chmod(0o600)
    tokens = access.tokens_of(Serve.model_validate({"api": {"token_file": "admin"}}), tmp_path)
    headers = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    place = SimpleNamespace(prove=lambda: proofs.append(1))
    tokens({"method": "GET", "path": "/v1/pools", "headers": headers, "state": {http.PLACE: place}})
    assert len(proofs) == proven


def test_a_tenant_has_places_on_the_report_socket_that_its_user_has_not():
    pools = Pools((0, 1, 2), **KV)
    pools.tenants["kv1"].processes = {4711: 1}
    assert access.reporter(pools, Client(OTHER, 4711)) == Holder(("tenant", "kv1"), Rank.KNOWN)
    assert access.reporter(pools, Client(OTHER, 4712)) == Holder(OTHER, Rank.OTHER)
    assert access.reporter(pools, Client(0, 4711)) == Holder(0, Rank.OWN)


def test_a_port_has_the_digits_of_ascii():
    assert Pvcc(listen="127.0.0.1:7777").listen == "127.0.0.1:7777"
    for port in ("\u0667\u0667\u0667\u0667", "7_777", "+7777", " 7777"):
        with pytest.raises(ValueError, match="is not an address and a port"):
            Pvcc(listen=f"127.0.0.1:{port}")
