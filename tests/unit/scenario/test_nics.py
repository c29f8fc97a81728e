"""The wire `pci` as the planning sees it: a machine made up in a directory, with NICs of every condition."""

from dataclasses import replace
from pathlib import Path

import pytest
from scenario_tools import finished, refused

from windtunnel.host.dpdk import read_nics
from windtunnel.scenario import HostView, here

NEAR, FAR, KERNEL, FREE, SHARED, DISK = (f"0000:{bus:02x}:00.0" for bus in range(1, 7))


@pytest.fixture
def sysfs(tmp_path) -> Path:
    """Two NICs that DPDK may have, on nodes 0 and 1; one of the kernel, one of nobody, one of both; and a disk."""
    root = tmp_path / "machine"
    device(root, NEAR, driver="vfio-pci", node=0, iommu=True)
    device(root, FAR, driver="uio_pci_generic", node=1)
    device(root, KERNEL, driver="e1000e", interface="eth1")
    device(root, FREE, driver=None, iommu=True)
    device(root, SHARED, driver="mlx5_core", interface="mlx0")
    device(root, DISK, driver="ahci", number="0x010601")
    write(root / "sys/devices/system/cpu/online", "0-3")
    for node, cpus in ((0, "0-1"), (1, "2-3")):
        write(root / f"sys/devices/system/node/node{node}/cpulist", cpus)
    write(root / "proc/net/route", "Iface\tDestination\tGateway\neth1\t0000A8C0\t00000000\n")
    return root


def device(
    root: Path, address: str, driver: str | None, number="0x020000", node=-1, interface=None, iommu=False
) -> None:
    at = root / "sys/bus/pci/devices" / address
    for name, text in (("class", number), ("numa_node", str(node)), ("vendor", "0x8086"), ("device", "0x10d3")):
        write(at / name, text)
    if driver:
        (root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
        (at / "driver").symlink_to(root / "sys/bus/pci/drivers" / driver)
    if interface:
        (at / "net" / interface).mkdir(parents=True)
    if iommu:
        (at / "iommu_group").mkdir()


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def host(root: Path, hugepages_mib: int = 1024, **changes) -> HostView:
    pages = {"hugepages_free_bytes": hugepages_mib << 20, "hugepages_usable": hugepages_mib > 0}
    return replace(here(root), **({"cpus": [0, 1], "root": True} | pages | changes))


def pci(client: str | None, server: str | None, **keys) -> dict:
    sides = {side: {"pci": nic} for side, nic in (("client", client), ("server", server)) if nic}
    return {"wire": {"kind": "pci"}, "workload": [{"handler": "l_app"}]} | sides | keys


def test_both_sides_run_in_one_process_on_their_nics(tmp_path, sysfs):
    spec = finished(tmp_path, pci("01:00.0", SHARED), host=host(sysfs))
    [plan] = spec.plans
    nics = {e.side: e.port.options for e in plan.endpoints}
    assert (nics["client"]["pci"], nics["server"]["pci"]) == (NEAR, SHARED), "a short address is one of domain 0000"
    assert nics["client"]["steering"] == "auto" and nics["client"]["offloads"] == "rx_checksum|tx_checksum|fast_free"
    args = plan.eal.args
    assert [args[i + 1] for i, word in enumerate(args) if word == "-a"] == [SHARED, NEAR]
    assert not {"--no-pci", "--no-huge", "--iova-mode=va"} & set(args)
    assert plan.eal.memory == "hugepages"
    assert spec.notes == []


def test_a_client_asks_for_the_mac_of_a_server_that_has_its_nics(tmp_path, sysfs):
    [plan] = finished(tmp_path, pci(NEAR, FAR), "server.mac=nic", "client.mac=nic", host=host(sysfs)).plans
    assert [(e.mac, e.peer_mac) for e in plan.endpoints] == [(None, None), (None, None)]


def test_one_side_runs_alone(tmp_path, sysfs):
    [plan] = finished(tmp_path, pci(None, FAR), host=host(sysfs)).plans
    assert [e.side for e in plan.endpoints] == ["server"]
    [plan] = finished(tmp_path, pci(FAR, None), host=host(sysfs)).plans
    assert plan.endpoints[0].peer_mac is None, "a foreign peer is asked for its MAC"


def test_a_queue_keeps_an_mbuf_in_every_receive_descriptor(tmp_path, sysfs):
    demands = finished(tmp_path, pci(None, FAR), "server.rx_descriptors=512", host=host(sysfs)).demands
    assert demands["server"].mbufs["descriptors"] == 512 + 1024


@pytest.mark.parametrize(
    ("data", "about_host", "words"),
    [
        (
            pci(None, KERNEL),
            {},
            [
                "test.toml:3: NIC 0000:03:00.0 belongs to the kernel as eth1: it is bound to e1000e",
                "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0",
                "enable_unsafe_noiommu_mode",
                "eth1 has an IP address",
            ],
        ),
        (
            pci(FREE, None),
            {},
            [
                "NIC 0000:04:00.0 is bound to no driver",
                "; as root: modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci 0000:04:00.0",
            ],
        ),
        (
            pci(NEAR, "0000:0a:00.0"),
            {},
            ["no device has the PCI address 0000:0a:00.0", "0000:01:00.0 (vfio-pci)", "0000:04:00.0 (no driver)"],
        ),
        (pci(NEAR, DISK), {}, ["0000:06:00.0 is not a NIC"]),
        (pci(NEAR, None), {"nics": []}, ["has no NIC"]),
        (pci(NEAR, NEAR), {}, ["client and server have the same NIC", "--side"]),
        (pci("01:00.0", NEAR), {}, ["client and server have the same NIC", "--side"]),
        (pci(None, FAR, memory="no-huge"), {}, ['test.toml:4: the wire "pci" cannot run without hugepages']),
        (pci(None, FAR), {"hugepages_mib": 0}, ["none can be used", "nr_hugepages"]),
    ],
)
def test_a_nic_that_cannot_be_used_is_refused_with_what_to_do(tmp_path, sysfs, data, about_host, words):
    said = refused(tmp_path, data, host=host(sysfs, **about_host))
    assert all(part in said for part in words)
    assert "no-huge" not in said.partition("; ")[2], "no way out for a NIC"


def test_a_global_ipv6_address_counts_as_in_use(sysfs):
    write(
        sysfs / "proc/net/if_inet6",
        "fe80000000000000000000000000000a 02 40 20 80 eth1\n20010db800000000000000000000000a 03 40 00 80 mlx0\n",
    )
    write(sysfs / "proc/net/route", "Iface\tDestination\tGateway\n")
    assert {nic.address: nic.addressed for nic in read_nics(sysfs) if nic.addressed} == {SHARED: ["mlx0"]}


def test_two_ports_at_one_address_are_probed_once_and_named_by_their_numbers(tmp_path, sysfs):
    spec = finished(tmp_path, pci(f"{NEAR}/0", "01:00.0/1"), host=host(sysfs))
    [plan] = spec.plans
    assert {e.side: e.port.options["pci"] for e in plan.endpoints} == {"client": NEAR, "server": f"{NEAR}/1"}
    args = plan.eal.args
    assert [args[n + 1] for n, word in enumerate(args) if word == "-a"] == [NEAR]
    assert "client and server have the same NIC" in refused(tmp_path, pci(f"{NEAR}/1", f"{NEAR}/1"), host=host(sysfs))
    assert "no device has the PCI address 0000:0a:00.0" in refused(
        tmp_path, pci(None, "0000:0a:00.0/1"), host=host(sysfs)
    )


@pytest.mark.parametrize("wrong", [f"{NEAR}/", f"{NEAR}/x", f"{NEAR}/100", f"{NEAR}/01", f"{NEAR}/-1", f"{NEAR}/1/1"])
def test_what_is_no_number_of_a_port_is_refused(tmp_path, sysfs, wrong):
    assert "is not the address of a PCI device" in refused(tmp_path, pci(None, wrong), host=host(sysfs))


def test_a_nic_on_another_node_than_its_workers_is_a_note(tmp_path, sysfs):
    data = pci(NEAR, FAR)
    spec = finished(tmp_path, data, "client.cores=[0]", "server.cores=[1]", host=host(sysfs))
    assert spec.notes == [
        "NIC 0000:02:00.0 of the server is on NUMA node 1, CPU 1 is not: every packet crosses nodes; server.cores from 2-3 avoid that"
    ]
    assert not finished(tmp_path, data, "client.cores=[0]", "server.cores=[2]", host=host(sysfs, cpus=[0, 2])).notes


def test_a_wire_of_nics_needs_an_endpoint(tmp_path):
    assert 'no endpoint on the wire "pci"' in refused(tmp_path, pci(None, None))
