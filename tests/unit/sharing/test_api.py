"""The HTTP API: what it grants, refuses, shows and bounds."""

import asyncio
import json
import os
import tempfile
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_tools import Pools, Turns
from pydantic import ValidationError

from windtunnel.errors import UserError
from windtunnel.exchange import connections
from windtunnel.exchange import http_server as http
from windtunnel.exchange.address import Address
from windtunnel.sharing import threads
from windtunnel.sharing.daemon import access, api, core
from windtunnel.sharing.daemon import events as events_module
from windtunnel.sharing.daemon.api_page import kind
from windtunnel.sharing.daemon.autoscale import Memory
from windtunnel.sharing.daemon.core import Chosen, Core
from windtunnel.sharing.daemon.events import KEPT, WAITING, Events
from windtunnel.sharing.daemon.keys import Autoscale, Serve
from windtunnel.sharing.slicers import SLICERS

KV = {"kv1": {"weight": 64, "slo_p99": "1ms"}, "kv2": {"weight": 64}}


def make_core(pools):
    carrier = SimpleNamespace(
        slicers={}, now=pools.carrier.now, reslice=lambda kind, slice_ns: pools.carrier.reslice(kind, slice_ns)
    )
    return Core(Serve(), pools, carrier, Chosen(Turns, 100_000), "none")


class Api:
    """The API without a socket."""

    def __init__(self, pools):
        self.pools, self._app, self.access = pools, api.make(make_core(pools)), lambda scope: None

    def ask(self, method, path, body=None, **how) -> httpx.Response:
        async def run():
            transport = httpx.ASGITransport(http.Limits(self._app, self.access))
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                return await client.request(method, path, json=body, **how)

        return asyncio.run(run())

    def get(self, path):
        return self.ask("GET", path).json()


@pytest.fixture
def pools():
    return Pools((0, 1, 2), **KV)


@pytest.fixture
def daemon(pools):
    return Api(pools)


@cache
def one_daemon() -> Api:
    """For what changes nothing: it takes longer to make than to ask."""
    return Api(Pools((0, 1, 2), **KV))


@pytest.fixture
def guarded(monkeypatch):
    """One with tokens: of an administrator, of a reader, and of a tenant that reports."""
    with tempfile.TemporaryDirectory() as directory:
        for name, letter in (("admin", "a"), ("read", "r"), ("kv1", "k")):
            file = Path(directory) / name
            file.write_text(letter * 40)
            file.chmod(0o600)
        tenants = [{"name": name, "pid": 1, "report_token_file": name} for name in ("kv1",)]
        keys = Serve.model_validate({"api": {"token_file": "admin", "read_token_file": "read"}, "tenant": tenants})
        monkeypatch.setattr(one_daemon(), "access", access.tokens_of(keys, Path(directory)))
        yield one_daemon()


def bearer(letter: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {letter * 40}"}


def test_a_weight_is_changed_and_shown(daemon):
    planned = daemon.ask("PATCH", "/v1/tenants/kv1", {"weight": 192}).json()
    assert planned == {"dry_run": False, "changed": 1, "ls": [2], "be": [0, 1], "loads": {"2": 256}, "overfull": {}}
    tenant, pools = daemon.get("/v1/tenants/1"), daemon.get("/v1/pools")
    assert (tenant["weight"], tenant["cpus"], tenant["promised"], tenant["entitled"]) == (192, [2], 0.75, 0.75)
    assert (pools["weight"], pools["room"]) == (256, 256)


def test_slicer_and_slice_change_without_a_restart(daemon, monkeypatch):
    done = []
    monkeypatch.setitem(SLICERS, "other", type("Other", (Turns,), {"name": "other"}))
    monkeypatch.setitem(SLICERS, "turns", Turns)
    daemon.pools.carrier.reslice = lambda kind, slice_ns: done.append((kind.name, slice_ns))
    bodies = ({"slice_ns": 200_000}, {"slicer": "other"}, {"slicer": "other"}, {"slicer": "none"}, {"slice_ns": 5})
    one, two, same, unknown, short = (daemon.ask("PATCH", "/v1/pools", body) for body in bodies)
    assert done == [("turns", 200_000), ("other", 200_000)]
    assert (one.json()["slicer"], one.json()["slice_ns"]) == ("turns", 200_000)
    assert [response.json()["slicer"] for response in (two, same)] == ["other", "other"]
    assert unknown.status_code == 422 and 'no slicer "none"' in unknown.json()["error"]
    assert short.status_code == 422 and "slice_ns" in short.json()["error"]


def test_the_autoscaler_of_a_tenant_changes_without_a_restart(daemon):
    rule = daemon.ask("PUT", "/v1/tenants/kv1/autoscale", {"by": "queue", "queue": 9})
    assert (rule.json()["autoscaled"], daemon.pools.tenants["kv1"].rule.queue) == (True, 9)
    without = daemon.ask("PUT", "/v1/tenants/kv2/autoscale", {"by": "p99"})
    assert without.status_code == 422 and "kv2 has no slo_p99" in without.json()["error"]
    assert daemon.ask("PUT", "/v1/tenants/kv2/autoscale", {"by": "load"}).status_code == 422
    assert daemon.ask("DELETE", "/v1/tenants/kv1/autoscale").json()["autoscaled"] is False


def test_a_batch_is_all_or_nothing_and_a_dry_run_nothing(daemon, pools):
    changes = [{"tenant": "kv1", "weight": 256}, {"tenant": "2", "weight": 100}]
    dry = daemon.ask("POST", "/v1/batch", {"dry_run": True, "changes": changes}).json()
    assert (dry["ls"], dry["dry_run"]) == ([2, 1], True)
    carried = len(pools.carrier.carried)
    changes = [{"tenant": "kv1", "weight": 256}, {"tenant": "kv2", "weight": 257}]
    bad = daemon.ask("POST", "/v1/batch", {"changes": changes})
    assert bad.status_code == 422
    assert "kv2: a weight of 257 is not between 1 and 256" in bad.json()["error"]
    assert pools.weights() == {"kv1": 64, "kv2": 64}
    assert len(pools.carrier.carried) == carried


def test_what_the_system_refuses_is_taken_back(daemon, pools):
    pools.carrier.refuses = "the kernel refused: Operation not permitted"
    response = daemon.ask("PATCH", "/v1/tenants/kv1", {"weight": 200})
    assert (response.status_code, response.json()["error"]) == (409, "the kernel refused: Operation not permitted")
    assert pools.weights()["kv1"] == 64


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/tenants/nobody", None, 404),
        ("PATCH", "/v1/tenants/nobody", {"weight": 1}, 404),
        ("DELETE", "/v1/tenants/nobody", None, 404),
        ("PATCH", "/v1/tenants/kv1", {"weight": 0}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": -5}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": 10**9}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": 10**30}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": "64"}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": None}, 422),
        ("PATCH", "/v1/tenants/kv1", {"wieght": 64}, 422),
        ("PATCH", "/v1/tenants/kv1", {"min": 100}, 422),
        ("PATCH", "/v1/tenants/kv1", {"weight": 512, "max": 512}, 409),
        ("POST", "/v1/tenants", {"name": "kv1", "pid": 1}, 409),
        ("POST", "/v1/tenants", {"name": "x", "pid": 1, "weight": 8, "min": 9}, 422),
        ("POST", "/v1/batch", {"changes": []}, 422),
        ("POST", "/v1/tenants", {"name": "../x", "pid": 1}, 422),
        ("POST", "/v1/tenants/kv1/report", {"polls": 2}, 422),
    ],
)
def test_bad_requests_are_refused_and_change_nothing(method, path, body, status):
    daemon = one_daemon()
    before = daemon.pools.weights()
    response = daemon.ask(method, path, body)
    assert (response.status_code, response.json().keys()) == (status, {"error", "remedy"})
    assert daemon.pools.weights() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/tenants", '{"name": "\\ud800", "pid": 1}', 422),
        ("POST", "/v1/tenants", '{"name": "x", "pid": 1, "\\udfff": 1}', 422),
        ("POST", "/v1/batch", '{"changes": [{"tenant": "\\ud800", "weight": 1}]}', 422),
        ("PATCH", "/v1/pools", '{"slicer": "\\ud800"}', 422),
        ("PUT", "/v1/tenants/kv1/autoscale", '{"by": "\\ud800"}', 422),
        ("GET", "/v1/tenants/%ED%A0%80", "", 404),
        ("GET", "/%ED%A0%80", "", 404),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_in_words(method, path, body, status):
    """It can be sent, as JSON, and no response can hold it."""
    response = one_daemon().ask(method, path, content=body, headers={"content-type": "application/json"})
    assert (response.status_code, response.json().keys()) == (status, {"error", "remedy"})


def test_who_is_added_is_where_the_response_says(daemon):
    added = daemon.ask("POST", "/v1/tenants", {"name": "kv.3", "pid": 1, "weight": 1})
    assert (added.status_code, added.headers["location"]) == (201, "/v1/tenants/kv.3")
    there = daemon.ask("GET", added.headers["location"])
    assert (there.status_code, there.json()) == (200, added.json())


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/v2/tenants", 404, "no /v2/tenants"),
        ("PUT", "/v1/tenants/kv1", 405, "no PUT of /v1/tenants/kv1"),
        ("POST", "/docs", 405, "no POST of /docs"),
    ],
)
def test_a_path_or_method_that_is_not_there_is_an_error_like_others(method, path, status, words):
    response = one_daemon().ask(method, path)
    assert (response.status_code, response.json()["error"]) == (status, words)
    assert status == 404 or response.headers["allow"]


def test_an_objective_alone_chooses_a_weight(daemon, pools):
    daemon.ask("PATCH", "/v1/tenants/kv2", {"slo_p99_ns": 150_000})
    assert (pools.tenants["kv2"].wish.weight, pools.tenants["kv2"].wish.slo_ns) == (128, 150_000)


def test_exit_parks_and_a_weight_takes_back(daemon):
    daemon.ask("POST", "/v1/exit")
    parked = daemon.get("/v1/tenants/kv1")
    daemon.ask("PATCH", "/v1/tenants/kv1", {"weight": 64})
    back = daemon.get("/v1/tenants/kv1")
    assert (parked["parked"], parked["cpus"]) == (True, [])
    assert (back["parked"], back["cpus"]) == (False, [2])


def test_a_report_moves_the_weight_as_far_as_there_is_room(monkeypatch):
    pools = Pools((0, 1), **KV)
    pools.tenants["kv1"].rule, pools.tenants["kv1"].memory = Autoscale(rest="1ms"), Memory()
    daemon, moments = Api(pools), iter(range(0, 10**9, 2_000_000))
    monkeypatch.setattr(core.time, "monotonic_ns", lambda: next(moments))
    reports = [{"p99_ns": p99} for p99 in (4_000_000, 900_000, 8_000_000)]
    weights = [daemon.ask("POST", "/v1/tenants/kv1/report", report).json()["weight"] for report in reports]
    assert weights == [128, 128, 192]
    assert [event["why"] for event in pools.events.since(0) if event["event"] == "scaled"] == [
        "p99 4000 us against 1000 us: 64 -> 128",
        "p99 8000 us against 1000 us: 128 -> 256; ls has room for 192",
    ]


def test_metrics_are_openmetrics(daemon):
    daemon.ask("POST", "/v1/tenants/kv1/report", {"wait_p99_ns": 250_000})
    text = daemon.ask("GET", "/metrics").text
    assert 'windtunnel_share_weight{pool="ls",tenant="kv1"} 64.0' in text
    assert 'windtunnel_share_wait_to_serve_seconds{quantile="0.99",tenant="kv1"} 0.00025' in text
    assert text.endswith("# EOF\n")


def test_the_api_is_described_also_by_a_page_that_needs_no_network():
    page, described = one_daemon().ask("GET", "/docs"), one_daemon().get("/openapi.json")
    assert {"/v1/tenants", "/v1/batch", "/v1/watch", "/v1/pools", "/v1/exit", "/metrics"} <= described["paths"].keys()
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert described["security"] == [{"token": []}, {}]
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.text
    assert not [word for word in ("<script", "src=", "//", "url(", "@import") if word in page.text]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert f">{method.upper()} {path}</h3>" in page.text
            assert operation["description"].split(".")[0].replace("'", "&#39;") in page.text
    for name, body in described["components"]["schemas"].items():
        assert f'<h3 id="{name}">' in page.text
        assert all(f"<td>{field}</td>" in page.text for field in body.get("properties", {}))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/Fields"}, "Fields"),
        ({"type": "integer", "minimum": 1, "maximum": 256}, "a whole number from 1 to 256"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number from 0"),
        ({"anyOf": [{"enum": ["ls", "be"]}, {"type": "null"}]}, '"ls", or "be", or null'),
        ({"type": "array", "items": {"type": "string", "maxLength": 9}}, "a list of: text of at most 9 characters"),
        ({}, "any JSON"),
    ],
)
def test_a_schema_in_words(schema, words):
    assert kind(schema) == words


@pytest.mark.parametrize(
    ("sent", "status"),
    [(None, 401), ("Bearer", 401), ("Bearer wrong", 401), ("Basic " + "a" * 40, 401), ("Bearer " + "a" * 39, 401)]
    + [("Bearer " + "a" * 40, 200)],
)
@pytest.mark.parametrize("path", ["/v1/tenants", "/metrics", "/docs", "/openapi.json"])
def test_without_a_token_there_is_nothing(guarded, path, sent, status):
    headers = {"Authorization": sent} if sent else {}
    assert guarded.ask("GET", path, headers=headers).status_code == status


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
    assert path.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("lives", [True, False])
def test_a_report_of_a_process_that_has_ended_is_of_nobody(lives):
    """Its number may be that of a member by now."""
    pools = Pools((0, 1, 2), **KV)
    pools.tenants["kv1"].processes = {os.getpid(): threads.started(os.getpid())}
    state = {http.PEER: SimpleNamespace(pid=os.getpid(), lives=lambda: lives)}
    refusal = access.OwnReports(pools)({"method": "POST", "path": "/v1/tenants/kv1/report", "state": state})
    assert refusal == (None if lives else access.NOT_ITS_OWN)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
FIELDS = st.fixed_dictionaries(
    {}, optional={name: JSON | st.integers(-5, 600) for name in ("weight", "min", "max", "cap", "slo_p99_ns", "pool")}
)


@cache
def long_lived() -> Api:
    return Api(Pools((0, 1, 2), **KV))


@given(FIELDS)
def test_whatever_is_asked_the_pools_hold(body):
    daemon = long_lived()
    pools = daemon.pools
    content = json.dumps(body).encode(errors="replace")
    response = daemon.ask("PATCH", "/v1/tenants/kv1", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (200, 409, 422)
    wish = pools.tenants["kv1"].wish
    assert wish.least <= wish.weight <= (wish.most or 256)
    shared = [tenant.wish.weight for tenant in pools.tenants.values() if tenant.wish.shares]
    assert sum(pools.plan.loads().values()) == sum(shared)
    assert len(pools.plan.ls) <= 2


@asynccontextmanager
async def served(pools, allowed=lambda scope: None):
    """The real server on a loopback port."""
    with http.tcp_socket(Address("127.0.0.1", 0)) as listening:
        server = http.server(http.Limits(api.make(make_core(pools)), allowed))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            assert not task.done()
            await asyncio.sleep(0.001)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


async def raw(port, *parts):
    """What comes back for some bytes, until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        return b""
    finally:
        writer.close()


HEAD = b"GET /v1/pools HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([b"\x00\xff\r\n\r\n"], b"400"),
        ([HEAD + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n"], b"400"),
        ([b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"], b"413"),
        (
            [b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"]
            + [b"10000\r\n" + b"x" * 65536 + b"\r\n"] * 20,
            b"413",
        ),
        ([HEAD + b"Connection: close\r\n\r\n"], b"200"),
    ],
)
def test_hostile_requests_are_bounded(parts, status):
    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            said = await raw(port, *parts)
            assert (await raw(port, HEAD + b"Connection: close\r\n\r\n"))[9:12] == b"200"
            return said

    # Whoever sends more than is read may find the connection reset before it reads.
    said = asyncio.run(run())[9:12]
    assert said == status or (said == b"" and sum(map(len, parts)) > 1 << 19)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "sent", "status"),
    [
        ("HEAD_S", b"", b""),
        ("HEAD_S", HEAD, b""),
        ("BODY_S", b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", b"413"),
    ],
    ids=["silent", "slow head", "slow body"],
)
def test_who_is_slow_is_cut_off(monkeypatch, limit, sent, status):
    monkeypatch.setattr(http, limit, 0.05)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            return await raw(port, sent)

    assert asyncio.run(run())[9:12] == status


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET /v1/ten", HEAD + b"\r\n"], ids=["silent", "half a head", "idle"])
def test_one_connection_too_many_ends_the_one_that_waited_longest(monkeypatch, sent):
    """Who holds all of them without a request must not keep the owner out."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            held = []
            for _ in range(20):
                held.append(await asyncio.open_connection("127.0.0.1", port))
                held[-1][1].write(sent)
                if sent.endswith(b"\r\n\r\n"):
                    await held[-1][0].readuntil(b"\r\n\r\n")
            response = await raw(port, HEAD + b"Connection: close\r\n\r\n")
            ended = [await _ended(reader) for reader, _ in held]
            for _, writer in held:
                writer.close()
            return response, ended

    response, ended = asyncio.run(run())
    assert response.startswith(b"HTTP/1.1 200") and ended[0] and sum(ended) >= 17


async def _ended(reader) -> bool:
    """Whether the server has closed the connection: in a moment, or not."""
    try:
        async with asyncio.timeout(0.05):
            while await reader.read(4096):
                pass
            return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.slow
def test_where_all_connections_are_served_one_more_is_closed(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            watchers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for reader, writer in watchers:
                writer.write(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readuntil(b": windtunnel share\n\n")
            third = await raw(port, HEAD + b"\r\n")
            for _, writer in watchers:
                writer.close()
            return third

    assert asyncio.run(run()) == b""


@pytest.mark.slow
def test_a_watcher_hears_and_one_that_does_not_read_is_dropped(monkeypatch):
    monkeypatch.setattr(http, "SLOW_S", 0.05)

    async def run():
        pools = Pools((0, 1, 2), **KV)
        async with served(pools) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b": windtunnel share\n\n")
            pools.events.publish("news", text="hello")
            heard = await reader.readuntil(b"hello")
            for _ in range(200):
                for n in range(WAITING // 2):
                    pools.events.publish("news", text="x" * 2000, n=n)
                await asyncio.sleep(0.01)
                if not pools.events._watchers:
                    break
            left = len(pools.events._watchers)
            writer.close()
            return heard, left

    heard, left = asyncio.run(run())
    assert b"event: news" in heard
    assert left == 0


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [False, True])
def test_the_holder_of_one_token_leaves_watches_for_the_others(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(events_module, "MOST_OF_ONE", 2)
    for name in ("admin", "read"):
        (tmp_path / name).write_text(name[0] * 40)
        (tmp_path / name).chmod(0o600)
    tokens = access.tokens_of(
        Serve.model_validate({"api": {"token_file": "admin", "read_token_file": "read"}}), tmp_path
    )

    async def begun(port, letter):
        """What a watch begins with, after its head."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /v1/watch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {letter * 40}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return head.split()[1] + await reader.readuntil(b"}" if b" 503 " in head else b"\n\n"), writer

    async def run():
        async with served(Pools((0, 1, 2), **KV), tokens) as port:
            asked = [lambda letter=letter: begun(port, letter) for letter in "rrrra"]
            found = await asyncio.gather(*(ask() for ask in asked)) if at_once else [await ask() for ask in asked]
            for _, writer in found:
                writer.close()
            return [b": windtunnel share" in said for said, _ in found]

    heard = asyncio.run(run())
    assert sum(heard[:4]) == 2 and heard[4]


def test_events_are_bounded_and_a_slow_queue_ends():
    async def run():
        events = Events()
        with events.watch() as queue:
            for n in range(5000):
                events.publish("news", n=n)
            ended = [queue.get_nowait() for _ in range(queue.qsize())]
        return ended, len(events.since(0)), events.last

    assert asyncio.run(run()) == ([None], KEPT, 5000)


def test_who_comes_back_hears_what_it_missed():
    async def run():
        events = Events()
        for n in range(5):
            events.publish("news", n=n)
        with events.watch(since=3) as queue:
            return [queue.get_nowait()["n"] for _ in range(queue.qsize())]

    assert asyncio.run(run()) == [3, 4]


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
    with pytest.raises(UserError, match=f"{tmp_path}: the token cannot be read: is a directory"):
        http.token_of(tmp_path)
