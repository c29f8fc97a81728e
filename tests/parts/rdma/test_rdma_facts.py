"""RDMA of a host below a directory: the library, devices with their ports, GIDs and MTU, and what hinders them; what providers offer."""

import json
import re

import pytest
from in_process import run

from windtunnel.host.facts import collect
from windtunnel.parts.rdma.facts import RdmaGid, rdma_of
from windtunnel.parts.rdma.findings import BUILD, judge_devices, providers
from windtunnel.parts.rdma.query import RdmaOffer

EMPTY, LOCAL, GID = (
    "0000:0000:0000:0000:0000:0000:0000:0000\n",
    "fe80:0000:0000:0000:0000:00ff:fe00:0001\n",
    "0000:0000:0000:0000:0000:ffff:0a09:0001\n",
)


def library(root):
    (root / "usr/lib/any").mkdir(parents=True)
    (root / "usr/lib/any/libfabric.so.1").touch()


def device(root, name="rxe0", *, state="4: ACTIVE\n", layer="Ethernet", gids=(LOCAL, EMPTY, GID), mtu=1500):
    """As the kernel shows one: places of the GID table that are empty have no attributes."""
    port = root / "sys/class/infiniband" / name / "ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "state").write_text(state)
    (port / "link_layer").write_text(f"{layer}\n")
    for table in ("types", "ndevs"):
        (port / "gid_attrs" / table).mkdir(parents=True)
    for number, gid in enumerate(gids):
        (port / "gids" / str(number)).write_text(gid)
        if gid != EMPTY and layer == "Ethernet":
            (port / "gid_attrs/types" / str(number)).write_text("RoCE v2\n")
            (port / "gid_attrs/ndevs" / str(number)).write_text("eth7\n")
    interface = root / "sys/class/net/eth7"
    interface.mkdir(parents=True, exist_ok=True)
    (interface / "mtu").write_text(f"{mtu}\n")


def read_rdma(below):
    return rdma_of(collect(below))


def findings(below, has_engine=False, **facts):
    """By subject; of a host whose other facts are this one's."""
    host = collect().model_copy(update={"rdma": read_rdma(below), "root": False} | facts)
    return {finding.subject: finding for finding in judge_devices(host, has_engine)}


def test_a_device_is_read_with_its_port(tmp_path):
    library(tmp_path)
    device(tmp_path)
    found = read_rdma(tmp_path)
    [one] = found.devices
    assert (one.name, one.hinder, found.library, found.interfaces) == ("rxe0", None, True, ["eth7"])
    [port] = one.ports
    assert (port.number, port.state, port.link_layer) == (1, "ACTIVE", "Ethernet")
    assert (port.interface, port.mtu) == ("eth7", 1024)
    assert port.gids == [
        RdmaGid(index=0, address="fe80::ff:fe00:1", kind="RoCE v2", interface="eth7"),
        RdmaGid(index=2, address="::ffff:10.9.0.1", kind="RoCE v2", interface="eth7"),
    ]


@pytest.mark.parametrize(("interface", "mtu"), [(1500, 1024), (4191, 2048), (4192, 4096), (9000, 4096), (300, None)])
def test_the_mtu_follows_from_the_network_interfaces(tmp_path, interface, mtu):
    device(tmp_path, mtu=interface)
    assert read_rdma(tmp_path).devices[0].ports[0].mtu == mtu


def test_all_of_a_ready_device_is_said(tmp_path):
    device(tmp_path)
    device(tmp_path, "mlx5_0", layer="InfiniBand", gids=(LOCAL,))
    said = findings(tmp_path)
    rxe = said["RDMA device rxe0"]
    assert rxe.verdict == "good" and rxe.value == (
        "port 1 ACTIVE, Ethernet (eth7), MTU 1024, GIDs 0 fe80::ff:fe00:1 (RoCE v2), 2 ::ffff:10.9.0.1 (RoCE v2)"
    )
    assert "carries at most 1024 bytes" in rxe.meaning and "mtu 4200" in rxe.remedy
    infiniband = said["RDMA device mlx5_0"]
    assert infiniband.value == "port 1 ACTIVE, InfiniBand, MTU not available, GIDs 0 fe80::ff:fe00:1"
    assert (infiniband.meaning, infiniband.remedy) == ("ready", None)


def test_a_device_with_the_largest_mtu_has_no_remedy(tmp_path):
    device(tmp_path, mtu=4200)
    said = findings(tmp_path)["RDMA device rxe0"]
    assert (said.verdict, said.meaning, said.remedy) == ("good", "ready", None)


@pytest.mark.parametrize(
    ("change", "words", "remedy"),
    [
        ({"state": "1: DOWN\n"}, "rxe0 has no active port", "sudo ip link set dev eth7 up"),
        ({"gids": [EMPTY]}, "rxe0 has no GID", "sudo ip address add"),
        ({"gids": ["no address\n"]}, "rxe0 has no GID", "sudo ip address add"),
        ({"state": "2: INIT\n", "layer": "InfiniBand"}, "rxe0 has no active port", "opensm"),
    ],
)
def test_what_hinders_a_device_is_said_with_its_remedy(tmp_path, change, words, remedy):
    device(tmp_path, **change)
    said = findings(tmp_path)["RDMA device rxe0"]
    assert said.verdict == "fair" and said.meaning.startswith(words) and remedy in said.remedy


def test_a_host_without_devices_is_told_how_to_make_one(tmp_path):
    (tmp_path / "sys/class/net/lo").mkdir(parents=True)
    (tmp_path / "sys/class/net/ens3").mkdir()
    said = findings(tmp_path)
    assert said["RDMA devices"].value == "none" and "tcp, udp, shm" in said["RDMA devices"].meaning
    assert said["RDMA devices"].remedy.endswith("rdma link add rxe0 type rxe netdev ens3")
    assert "RDMA memory" not in said


def test_without_the_library_there_is_no_wire(tmp_path):
    said = findings(tmp_path)["RDMA library"]
    assert said.verdict == "fair" and said.value == "no libfabric" and "libfabric-dev" in said.remedy
    library(tmp_path)
    assert findings(tmp_path)["RDMA library"].verdict == "good"
    assert not re.search(r"\brm\b", BUILD), "what is called build/ where the reader is"


def test_beside_an_installed_engine_the_library_is_not_missing(tmp_path):
    assert "RDMA library" in findings(tmp_path) and "RDMA library" not in findings(tmp_path, has_engine=True)


@pytest.mark.parametrize(
    ("limit", "root", "verdict"),
    [("unlimited", False, "good"), (8 << 20, False, "fair"), (8 << 20, True, "good"), (1 << 30, False, "good")],
)
def test_the_limit_of_locked_memory_is_held_against_a_pool(tmp_path, limit, root, verdict):
    device(tmp_path)
    memory = collect().memory.model_copy(update={"lockable_bytes": limit})
    said = findings(tmp_path, memory=memory, root=root)["RDMA memory"]
    assert said.verdict == verdict and ("memlock" in (said.remedy or "")) == (verdict == "fair")


def offer(provider, kind, **claims):
    numbers = {"domain": "lo", "largest": 1472, "endpoints": 256, "most_sends": 1024, "most_receives": 0}
    return RdmaOffer(provider=provider, type=kind, **(numbers | claims))


def test_what_providers_offer_is_said():
    said = providers([offer("udp", "ud"), offer("udp", "ud", domain="eth7"), offer("sockets", "rdm")])
    assert said.verdict == "good" and said.value == (
        "udp: ud, messages of 1472 B, 1024 sends and any number of receives per queue, 256 queue pairs"
    )
    assert said.meaning.endswith("no use for sockets")
    assert "messages of any size" in providers([offer("tcp", "rc", largest=(1 << 64) - 1)]).value


def test_no_provider_and_no_libfabric_have_remedies():
    none, without = providers([offer("sockets", "rdm")]), providers(None)
    assert (none.verdict, none.value) == ("fair", "none") and none.remedy.startswith("fi_info")
    assert without.verdict == "fair" and "built without libfabric" in without.meaning
    assert "libfabric-dev" in without.remedy


def test_the_doctor_has_facts_and_findings(tmp_path):
    engine = tmp_path / "windtunnel-engine"
    engine.write_text("#!/bin/sh\n[ $1 != --rdma ] && echo windtunnel-engine 9.9 || echo null\n")
    engine.chmod(0o755)
    shown = json.loads(run("host", "doctor", "--json", WINDTUNNEL_ENGINE=str(engine)).output)
    subjects = [finding["subject"] for finding in shown["findings"]]
    assert {"RDMA providers", "engine"} <= set(subjects) and "RDMA library" not in subjects
    assert set(shown["facts"]["rdma"]) == {"library", "devices", "interfaces"}
