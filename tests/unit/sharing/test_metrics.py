"""What the daemon shows of a slicer's interval."""

from types import SimpleNamespace

from sample_sharing import reading

from windtunnel.sharing.daemon.metrics import Metrics


def test_findings_are_exported_until_they_are_gone():
    plan = SimpleNamespace(ls=(1,), be=(0,), loads=dict)
    metrics = Metrics(SimpleNamespace(plan=plan, tenants={}, carried_ns=0, events=SimpleNamespace(last=0)))
    row = 'windtunnel_share_finding{cpu="1",finding="overload"} 1.0'
    metrics.read({1: reading(1, kicks=7)}, {1: ["overload"]})
    assert row in metrics.text().decode()
    metrics.count("pvcc_foreign")
    metrics.read({1: reading(1, kicks=7)}, {1: []})
    text = metrics.text().decode()
    assert row not in text and 'windtunnel_share_kicks_total{cpu="1"} 14.0' in text
    assert "windtunnel_share_pvcc_foreign_total 1.0" in text
