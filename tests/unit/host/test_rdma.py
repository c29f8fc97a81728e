"""RDMA of a host below a directory: the library, devices and their ports, and what hinders them."""

import pytest

from windtunnel.host.judge_system import rdma
from windtunnel.host.rdma import read_rdma

EMPTY, GID = "0000:0000:0000:0000:0000:0000:0000:0000\n", "0000:0000:0000:0000:0000:ffff:0a09:0001\n"


def host(root, *, library=True, state="4: ACTIVE\n", gids=(EMPTY, GID)):
    port = root / "sys/class/infiniband/rxe0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "state").write_text(state)
    (port / "link_layer").write_text("Ethernet\n")
    for number, gid in enumerate(gids):
        (port / "gids" / str(number)).write_text(gid)
    if library:
        (root / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
        (root / "usr/lib/x86_64-linux-gnu/libfabric.so.1").touch()
    return read_rdma(root)


def test_a_device_with_an_active_port_and_a_gid_is_ready(tmp_path):
    found = host(tmp_path)
    [device] = found.devices
    assert (device.name, device.hinder, found.library) == ("rxe0", None, True)
    [port] = device.ports
    assert (port.number, port.state, port.link_layer, port.gids) == (1, "ACTIVE", "Ethernet", 1)
    said = rdma(found)
    assert (said.verdict, said.value, said.remedy) == ("good", "libfabric; rxe0", None)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"state": "1: DOWN\n"}, "rxe0 has no active port"), ({"gids": [EMPTY]}, "rxe0 has no GID")],
)
def test_what_hinders_a_device_is_said(tmp_path, change, words):
    said = rdma(host(tmp_path, **change))
    assert said.verdict == "fair" and said.meaning.startswith(words) and said.remedy


def test_without_the_library_there_is_no_wire(tmp_path):
    said = rdma(host(tmp_path, library=False))
    assert said.verdict == "fair" and said.value == "no libfabric" and "libfabric-dev" in said.remedy


def test_a_host_without_devices_has_the_software_providers(tmp_path):
    (tmp_path / "usr/lib/any").mkdir(parents=True)
    (tmp_path / "usr/lib/any/libfabric.so.1").touch()
    said = rdma(read_rdma(tmp_path))
    assert (said.verdict, said.value) == ("good", "libfabric; no device") and "tcp, udp, shm" in said.meaning
