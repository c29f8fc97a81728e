"""What the daemon shows of a slicer's interval."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from sample_sharing import reading

from windtunnel_sharing.daemon import metrics as metrics_module
from windtunnel_sharing.daemon.api import make_metrics as make_metrics_app
from windtunnel_sharing.daemon.metrics import Metrics


def make_metrics() -> Metrics:
    plan = SimpleNamespace(ls=(1,), be=(0,), loads=dict)
    return Metrics(SimpleNamespace(plan=plan, tenants={}, carried_ns=0, events=SimpleNamespace(last=0)))


def test_findings_are_exported_until_they_are_gone():
    metrics = make_metrics()
    row = 'windtunnel_share_finding{cpu="1",finding="overload"} 1.0'
    metrics.read({1: reading(1, kicks=7)}, {1: ["overload"]})
    assert row in metrics.text().decode()
    metrics.count("pvcc_foreign")
    metrics.read({1: reading(1, kicks=7)}, {1: []})
    text = metrics.text().decode()
    assert row not in text and 'windtunnel_share_kicks_total{cpu="1"} 14.0' in text
    assert "windtunnel_share_pvcc_foreign_total 1.0" in text


def test_whoever_asks_again_and_again_gets_what_was_made_once_an_interval(monkeypatch):
    """Anybody of this host may ask: it costs some milliseconds with many tenants."""
    made = []
    monkeypatch.setattr(metrics_module, "generate_latest", lambda registry: made.append(1) or b"%d" % len(made))
    metrics = make_metrics()

    async def run():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(make_metrics_app(metrics))) as client:
            return [(await client.get("http://localhost/metrics")).text for _ in range(3)]

    assert asyncio.run(run()) == ["1"] * 3
    metrics.read({}, {})
    assert asyncio.run(run()) == ["2"] * 3


@pytest.mark.parametrize("host", ["evil.example:9472", "localhost.evil.example", "127.0.0.1.evil.example", ""])
def test_a_name_that_may_have_been_rebound_to_loopback_gets_none(host):
    """A page in a browser of this host would read them as its own."""

    async def run():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(make_metrics_app(make_metrics()))) as client:
            asked = [host, "127.0.0.1:9472", "[::1]:9472", "LOCALHOST"]
            return [(await client.get("http://127.0.0.1/metrics", headers={"Host": each})) for each in asked]

    refused, *served = asyncio.run(run())
    assert refused.status_code == 403 and "windtunnel" not in refused.text
    assert [each.status_code for each in served] == [200] * 3
