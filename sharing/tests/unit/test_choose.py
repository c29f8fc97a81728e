"""Which slicer and slice a daemon takes, by its file and by what was measured on this host."""

import pytest
from sample_sharing import probed

from windtunnel.errors import UserError
from windtunnel_sharing import costs, probe
from windtunnel_sharing.daemon.core import choose
from windtunnel_sharing.daemon.keys import Serve
from windtunnel_sharing.slicers import SLICERS

CPUS = (0, 1)


@pytest.fixture
def measured(monkeypatch):
    """What probes say of a host with two CPUs, and what the daemon said."""
    for kind in SLICERS.values():
        monkeypatch.setattr(kind, "missing", classmethod(lambda kind, cpu: None))
    kept = probed(rotor_far=(10, 459), kicker_far=(14, 530), kicker=(27, 570))
    monkeypatch.setattr(costs, "kept", lambda cpu, shield: [kept] if (cpu, shield) == (1, True) else [])
    return kept


def chosen(said=None, **keys):
    found = choose(Serve.model_validate(keys), CPUS, (said if said is not None else []).append)
    return found.kind.name, found.slice_ns, found.why


def test_auto_takes_the_least_p99_within_the_loss_limit(measured):
    assert chosen() == ("rotor-far", 135_000, "by 1 probe: 7.4% lost")
    assert chosen(max_loss=0.2)[:2] == ("rotor-far", 55_000)
    assert chosen(slice="100us") == ("rotor-far", 100_000, "by 1 probe: 10.0% lost, more than max_loss = 0.08")


def test_a_named_slicer_gets_its_own_slice(measured):
    assert chosen(slicer="kicker-far")[:2] == ("kicker-far", 185_000)
    assert chosen(slicer="kicker", slice="1ms") == ("kicker", 1_000_000, "")
    assert chosen(slicer="tick")[0] == "tick"


def test_what_the_file_says_needs_no_probe(monkeypatch):
    monkeypatch.setattr(costs, "kept", lambda cpu, shield: pytest.fail("read"))
    assert chosen(slicer="kicker", slice="200us") == ("kicker", 200_000, "")


def test_where_a_tenant_has_a_cap_no_rotor_is_taken(measured):
    tenant = {"name": "kv", "pid": 1, "weight": 64, "cap": 64}
    assert chosen(tenant=[tenant])[0] == "kicker-far"


def test_without_a_probe_the_host_is_measured_first(measured, monkeypatch):
    said, asked = [], []
    monkeypatch.setattr(
        "windtunnel_sharing.daemon.core._probed", lambda cpu, shield, say: asked.append((cpu, shield)) or measured
    )
    assert chosen(said, shield=False)[0] == "rotor-far"
    assert asked == [(1, False)]


def test_a_probe_that_measured_nothing_of_it_leaves_the_kicker(measured, monkeypatch):
    nothing = measured.model_copy(update={"costs": {}})
    monkeypatch.setattr(costs, "kept", lambda cpu, shield: [nothing])
    assert chosen() == ("kicker", probe.SLICE_NS, "the probe measured nothing of it")


def test_an_unknown_slicer_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(costs, "kept", lambda cpu, shield: pytest.fail("read"))
    with pytest.raises(UserError, match='no slicer "fast"'):
        chosen(slicer="fast")
