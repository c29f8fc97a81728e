"""Flights on emulated NICs with their real drivers, in a guest: `make -C tests/guest`.

Everything but the engine runs here: the scenario is planned for a machine made up like the guest, and the supervisor, the run
directory and the verdict are those of `windtunnel run`.
"""

from pathlib import Path

import pytest
from real_flights import assert_sound, drops, messages, ports
from scenario_tools import SHIPPED

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Supervisor
from windtunnel.engine.verdict import judge
from windtunnel.host import facts
from windtunnel.host.dpdk import Nic
from windtunnel.runs import Run, RunWriter
from windtunnel.scenario import HostView, load, resolve

ENGINE = Path(__file__).with_name("guest_engine")
NIC = SHIPPED / "nic.toml"
ADDRESSES = ("0000:00:02.0", "0000:00:03.0")
SHORT = ("duration=1s", "warmup=200ms", "window=500ms", "client.inflight=64", "client.batch.app_tx=16")
PLACED = (f"client.pci={ADDRESSES[0]}", f"server.pci={ADDRESSES[1]}")


def guest() -> HostView:
    """The guest as the planning must see it."""
    nics = [
        Nic(address=a, device="?", driver="uio_pci_generic", interfaces=[], numa_node=None, iommu=False, addressed=[])
        for a in ADDRESSES
    ]
    return HostView(cpus=[0, 1], hugepages_free_bytes=288 << 20, hugepages_usable=True, root=True, nics=nics)


@pytest.fixture
def fly(tmp_path, monkeypatch):
    """Flies nic.toml in a guest with two NICs of a model on one hub."""

    def in_guest(model: str, *sets: str, **environment: str) -> Run:
        monkeypatch.setenv("WT_GUEST_NICS", f"{model} {model}")
        for name, value in environment.items():
            monkeypatch.setenv(f"WT_GUEST_{name}", value)
        flight = resolve(load(NIC, [*SHORT, *PLACED, *sets]), guest()).into(tmp_path / "run")
        writer = RunWriter(tmp_path / "run", flight, facts.collect())
        with Interrupts() as interrupts:
            flown = Supervisor(ENGINE, writer.log_path, [writer.line], interrupts).fly(flight.plans, flight.names)
        return writer.finish(judge(flown))

    return in_guest


def refused(run: Run) -> str:
    [reason] = run.record.verdict.reasons
    return reason


def test_shipped_scenario_ends_valid_on_two_e1000e(fly):
    run = fly("e1000e")
    assert_sound(run)
    [engine] = run.record.engines
    assert engine.ready.drivers == {"client": "net_e1000_em", "server": "net_e1000_em"}
    assert messages(run).answered > 0 and messages(run).lost == 0
    for side in ("client", "server"):
        counted, seen = engine.result.xstats[side], ports(run, side)
        assert counted["rx_good_packets"] == seen["rx_packets"]
        assert counted["tx_good_packets"] == seen["tx_packets"]
        assert drops(run, side) == {}
    notes = run.record.all_notes()
    assert any("link up" in note for note in notes)
    assert any("offloads given: rx_checksum" in note for note in notes)
    assert all(port.doorbells is None for windows in run.windows.values() for w in windows for port in w.ports)


def test_a_server_alone_lands_without_a_client(fly):
    """One-sided: the other NIC of the hub is silent."""
    run = fly("e1000e", BOUND="2")
    assert run.record.verdict.valid
