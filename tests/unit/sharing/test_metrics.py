"""What the daemon shows of a slicer's interval."""

from types import SimpleNamespace

from windtunnel.sharing.daemon.metrics import Metrics
from windtunnel.sharing.slicers import SliceReading


def a_reading(cpu: int, **keys) -> SliceReading:
    given = {"slice": None, "gap": None, "late": None, "mean_slice_ns": None, "others_share": None, "lost_records": 0}
    return SliceReading(
        cpu=cpu,
        slice_ns=100_000,
        interval_ns=10**9,
        source="schedstat",
        kicks=7,
        own_share=1.0,
        members=[],
        warnings=[],
        **given | keys,
    )


def test_findings_are_exported_until_they_are_gone():
    plan = SimpleNamespace(ls=(1,), be=(0,), loads=dict)
    metrics = Metrics(SimpleNamespace(plan=plan, tenants={}, carried_ns=0, events=SimpleNamespace(last=0)))
    row = 'windtunnel_share_finding{cpu="1",finding="overload"} 1.0'
    metrics.read({1: a_reading(1)}, {1: ["overload"]})
    assert row in metrics.text().decode()
    metrics.count("pvcc_foreign")
    metrics.read({1: a_reading(1)}, {1: []})
    text = metrics.text().decode()
    assert row not in text and 'windtunnel_share_kicks_total{cpu="1"} 14.0' in text
    assert "windtunnel_share_pvcc_foreign_total 1.0" in text
