"""The HTTP API: what it grants, changes, shows and describes."""

import json
import os
from functools import cache

import pytest
from api_tools import KV, Api, one_daemon
from hypothesis import example, given
from hypothesis import strategies as st
from pool_tools import Pools, Turns

from windtunnel_sharing.daemon import api, core
from windtunnel_sharing.daemon.api_page import kind
from windtunnel_sharing.daemon.autoscale import Memory
from windtunnel_sharing.daemon.keys import Autoscale
from windtunnel_sharing.slicers import SLICERS


@pytest.fixture
def pools():
    return Pools((0, 1, 2), **KV)


@pytest.fixture
def daemon(pools):
    return Api(pools)


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


def test_half_a_surrogate_pair_is_refused_in_words(daemon):
    """JSON can have one, and no message can."""
    body, headers = b'{"rest": "\\ud800"}', {"content-type": "application/json"}
    asked = daemon.ask("PUT", "/v1/tenants/kv1/autoscale", content=body, headers=headers)
    assert asked.status_code == 422 and r'rest: "\ud800" is not a duration' in asked.json()["error"]


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


def test_a_refusal_that_names_a_cgroup_of_any_bytes_has_words(daemon, pools):
    pools.carrier.refuses = os.fsdecode(b"its cgroup /a\xff could not be left")
    response = daemon.ask("PATCH", "/v1/tenants/kv1", {"weight": 200})
    assert (response.status_code, r"/a\xff could not" in response.json()["error"]) == (409, True)


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
        ("PATCH", "/v1/tenants/\u0661", {"weight": 1}, 404),
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
def test_bad_requests_are_refused_and_change_nothing(daemon, method, path, body, status):
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


def test_the_description_is_made_once_however_often_it_is_asked_for(monkeypatch):
    made = []
    describe, page = api.FastAPI.openapi, api.page
    monkeypatch.setattr(api.FastAPI, "openapi", lambda app: made.append("description") or describe(app))
    monkeypatch.setattr(api, "page", lambda description: made.append("page") or page(description))
    daemon = Api(Pools((0, 1, 2), **KV))
    for path in ("/openapi.json", "/docs") * 3:
        assert daemon.ask("GET", path).status_code == 200
    assert made == ["description", "page"]


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


@example({"weight": 288, "max": 424})
@given(FIELDS)
def test_whatever_is_asked_the_pools_hold(body):
    daemon = long_lived()
    pools = daemon.pools
    content = json.dumps(body).encode(errors="replace")
    response = daemon.ask("PATCH", "/v1/tenants/kv1", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (200, 409, 422)
    wish = pools.tenants["kv1"].wish
    assert wish.least <= wish.weight <= (wish.most or 256)
    # a `max` above what its threads can use is a promise for threads to come
    shared = [min(tenant.wish.weight, tenant.usable) for tenant in pools.tenants.values() if tenant.wish.shares]
    assert sum(pools.plan.loads().values()) == sum(shared)
    assert len(pools.plan.ls) <= 2
