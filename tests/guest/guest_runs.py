"""Runs on emulated NICs with their real drivers, in a guest: `make -C tests/guest`.

Everything but the engine runs here.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import two_nodes
from in_guest import guest, supervised
from real_runs import assert_sound, drops, messages, ports, stages
from scenario_tools import SHIPPED
from two_nodes import Where

from windtunnel.engine.supervisor import Listener
from windtunnel.runs import Run
from windtunnel.scenario import load, resolve

ENGINE = Path(__file__).with_name("guest_engine")
NIC = SHIPPED / "nic.toml"
ADDRESSES = ("0000:00:02.0", "0000:00:03.0")
DRIVERS = {"e1000e": "e1000_em", "vmxnet3": "vmxnet3"}
SHORT = ("duration=1s", "warmup=200ms", "window=500ms", "client.inflight=64", "client.batch.app_tx=16")


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs nic.toml in a guest with two NICs of a model on one hub. `nodes`: of their buses, on a machine of two NUMA nodes."""

    def in_guest(
        model: str,
        *sets: str,
        nodes: tuple[Where, Where] | None = None,
        listeners: Sequence[Listener] = (),
        **environment: str,
    ) -> Run:
        if nodes:
            environment["NODES"] = " ".join(str(node).lower() for node in nodes)
        for name, value in ({"NICS": f"{model} {model}"} | environment).items():
            monkeypatch.setenv(f"WT_GUEST_{name}", value)
        at = two_nodes.addresses(nodes or (None, None))
        view = guest(hugepages=144, nics=dict(zip(at, nodes or (None, None), strict=True)), two_nodes=nodes is not None)
        places = (f"client.pci={at[0]}", f"server.pci={at[1]}")
        return supervised(ENGINE, resolve(load(NIC, [*SHORT, *places, *sets]), view), tmp_path / "run", *listeners)

    return in_guest


def refused(run: Run) -> str:
    [reason] = run.record.verdict.reasons
    return reason


def test_shipped_scenario_ends_valid_on_two_e1000e(execute):
    run = execute("e1000e")
    assert_sound(run)
    [engine] = run.record.engines
    assert engine.ready.drivers == {"client": "net_e1000_em", "server": "net_e1000_em"}
    assert messages(run).responses > 0 and messages(run).lost == 0
    for side in ("client", "server"):
        counted, seen = engine.result.xstats[side], ports(run, side)
        assert counted["rx_good_packets"] == seen["rx_packets"]
        assert counted["tx_good_packets"] == seen["tx_packets"]
        assert drops(run, side) == {}
    notes = run.record.all_notes()
    assert any("link up" in note for note in notes)
    assert any("the port computes UDP and IPv4 checksums" in note for note in notes)
    assert all(
        port.doorbells == port.tx_bursts for windows in run.windows.values() for w in windows for port in w.ports
    )


def test_thresholds_and_an_mtu_reach_the_driver(execute):
    run = execute("e1000e", "server.thresholds={rx_free=16,tx_free=16,tx_rs=16}", "client.mtu=1000", "server.mtu=1000")
    assert_sound(run)
    assert not any("does nothing with them" in note for note in run.record.all_notes())


def test_thresholds_that_the_driver_will_not_have(execute):
    """tx_rs_thresh must be below the number of descriptors less 2."""
    run = execute("e1000e", "server.tx_descriptors=256", "server.thresholds={tx_rs=256}")
    assert "NIC 0000:00:03.0 (net_e1000_em): transmit queue 0 with 256 descriptors and tx_rs_thresh 256" in refused(run)


@pytest.mark.parametrize("model", ["e1000e", "vmxnet3"])
def test_a_driver_without_rss_over_udp(execute, model):
    """DPDK's e1000 has two queues and no RSS; its vmxnet3 hashes UDP from version 4 of the device on, QEMU's is older."""
    run = execute(model, "workload.0.dispatchers=2")
    assert f"NIC 0000:00:03.0 (net_{DRIVERS[model]}) has no RSS over UDP ports and no rte_flow rules" in refused(run)


def test_a_link_that_stays_down(execute):
    assert "(net_e1000_em): its link is still down 10 s after its start" in refused(execute("e1000e", LINK="down"))


def test_a_nic_that_no_driver_has_taken(execute):
    assert "NIC 0000:00:03.0: no DPDK driver claimed it" in refused(execute("e1000e", BOUND="1"))


@pytest.mark.parametrize("queues", [2, 3])
def test_rss_brings_every_port_to_its_queue(execute, queues):
    """The device hashes, with the key that it was given: nothing comes to another queue."""
    if os.geteuid() != 0:
        pytest.skip("a tap with several queues needs root")
    model = f"virtio-net-pci,mq=on,rss=on,vectors={2 * queues + 2}"
    run = execute(model, f"workload.0.dispatchers={queues}", QUEUES=str(queues))
    assert_sound(run)
    assert any("RSS, with a key that looks at the UDP port alone" in note for note in run.record.all_notes())
    for side in ("client", "server"):
        assert "misdirected" not in drops(run, side)
        received = {entry.index: 0 for entry in stages(run, side, "nic_rx")}
        for entry in stages(run, side, "nic_rx"):
            received[entry.index] += entry.objects
        assert len(received) == queues and all(received.values()), received


def test_more_queues_than_the_nic_has(execute):
    assert "NIC 0000:00:03.0 (net_e1000_em): 3 queues, it has at most 2 (use fewer dispatchers" in refused(
        execute("e1000e", "workload.0.dispatchers=3")
    )


def test_several_queues_without_rss(execute):
    if os.geteuid() != 0:
        pytest.skip("a tap with several queues needs root")
    run = execute("virtio-net-pci,mq=on,vectors=6", "workload.0.dispatchers=2", QUEUES="2")
    assert "(net_virtio) has no RSS over UDP ports and no rte_flow rules" in refused(run)


def test_a_frame_that_would_be_scattered(execute):
    """DPDK's e1000 takes receive buffers of powers of two: an mbuf for 9000 bytes is one of 8192 to it."""
    run = execute("e1000e", "client.mtu=9000", "server.mtu=9000")
    assert "(net_e1000_em): at an MTU of 9000 it splits a frame over several mbufs" in refused(run)


def test_a_device_that_computes_udp_checksums_alone(execute):
    run = execute("vmxnet3")
    assert_sound(run)
    assert messages(run).responses > 0 and drops(run, "client") == drops(run, "server") == {}
    assert any("the port computes UDP checksums, disp_tx those of IPv4" in note for note in run.record.all_notes())


@pytest.mark.parametrize("model", ["e1000e", "vmxnet3"])
def test_the_nics_own_macs(execute, model):
    """The client learns the server's by ARP."""
    run = execute(model, "client.mac=nic", "server.mac=nic")
    assert_sound(run)
    assert messages(run).responses > 0
    notes = run.record.all_notes()
    for side, address in zip(("client", "server"), ADDRESSES, strict=True):
        assert any(f"the {side} has the MAC of NIC {address}" in note for note in notes)
    assert any("resolving" in phase.name for phase in run.record.engines[0].phases)
