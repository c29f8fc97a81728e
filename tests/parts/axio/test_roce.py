"""Axio's configurations for RoCE become scenarios on the wire "rdma"; what has no counterpart there is refused by name."""

import tomllib

import pytest
from axio_samples import DATA
from importing import imported, refusal
from scenario_tools import machine

from windtunnel.errors import UserError
from windtunnel.scenario import load, resolve

TOML, COLONS = (DATA / "axio-server-roce.toml").read_text(), (DATA / "axio-colon.conf").read_text()


def scenario(directory, text, *options):
    file = directory / "config"
    file.write_text(text)
    _, said = imported("axio", file, "--out", directory / "scenario.toml", *options)
    return tomllib.loads((directory / "scenario.toml").read_text()), said


@pytest.mark.parametrize("transport", ["rc", "ud"])
def test_the_backend_roce_becomes_the_wire_rdma(tmp_path, transport):
    data, said = scenario(tmp_path, TOML.replace("roce_transport = 'rc'", f"roce_transport = '{transport}'"))
    assert data["wire"] == {"kind": "rdma", "type": transport, "provider": "verbs", "inline": "0B", "signal_every": 1}
    assert data["server"] == {
        "ip": "192.0.2.2",
        "mtu": 4096 + 28,
        "batch": {"app_rx": 16, "disp_tx": 16, "disp_rx": 16, "nic_tx": 16, "nic_rx": 32},
        "rx_descriptors": 512,
        "tx_descriptors": 512,
        "mempool": {"size": 4096, "cache": 0},
        "response_mbuf": "request",
    }
    assert data["client"] == {"ip": "192.0.2.1", "mtu": 4096 + 28}
    (workload,) = data["workload"]
    assert (workload["handler"], workload["request"], workload["response"]) == ("l_app", 86, 86)
    resolve(load(tmp_path / "scenario.toml"), machine())
    assert "no RDMA" not in said and ("client.mtu=1500" in said) == (transport == "ud")


def test_what_roce_leaves_out_is_named_with_its_reason(tmp_path):
    _, said = scenario(tmp_path, TOML)
    reasons = {line.partition(": not converted: ")[2] for line in said.splitlines()}
    assert any("huge_alloc" in line and "Axio's own allocator" in line for line in reasons)
    assert any("local_mac" in line and "no frames" in line for line in reasons)
    device = next(line for line in reasons if "device_name" in line)
    assert "device_pcie" in device and "physical_port = 0" in device and "has the address" in device


@pytest.mark.parametrize("transport", ["rc", "ud"])
def test_the_option_says_what_the_colon_form_does_not(tmp_path, transport):
    data, _ = scenario(tmp_path, COLONS, "--roce", transport)
    assert (data["wire"]["kind"], data["wire"]["type"]) == ("rdma", transport)
    assert data["server"]["ip"] == "10.0.2.102" and "mac" not in data["server"]
    assert sum(workload["dispatchers"] for workload in data["workload"]) == 4


REFUSED = [
    ("roce_transport = 'rc'", "roce_transport = 'uc'", 'network.roce_transport: "uc" cannot be converted', ()),
    ("backend = 'roce'", "backend = 'efa'", 'network.backend: "efa" cannot be converted', ()),
    ("= 'huge_alloc'", "= 'ring_mp_mc'", 'mempool_handler: "ring_mp_mc" cannot be converted', ()),
    ("packet_handler = 'empty'", "packet_handler = 'echo'", 'packet_handler: "echo" cannot be converted', ()),
    ("roce_transport = 'rc'", "roce_transport = 'rc'", 'roce_transport is "rc", but --roce ud', ("--roce", "ud")),
    ("backend = 'roce'", "backend = 'dpdk'", 'network.backend is "dpdk", but --roce rc', ("--roce", "rc")),
    ("mtu = 4096", "mtu = 9000", "knobs.build.mtu: in the scenario, ", ()),
]


@pytest.mark.parametrize(("right", "wrong", "said", "options"), REFUSED, ids=[said[:40] for _, _, said, _ in REFUSED])
def test_what_has_no_counterpart_is_refused_with_its_line(tmp_path, right, wrong, said, options):
    refused = refusal(tmp_path, "axio", TOML.replace(right, wrong), *options)
    line = TOML[: TOML.index(right)].count("\n") + 1
    assert said in refused and f"text:{line}: " in refused


def test_unlike_numbers_of_queue_pairs_are_refused_with_the_line_of_the_workload(tmp_path):
    refused = refusal(tmp_path, "axio", TOML.replace("remote_dispatchers = [ 0 ]", "remote_dispatchers = [ 0, 1 ]"))
    line = TOML[: TOML.index("[[deployment.topology.workloads]]")].count("\n") + 1
    assert f"text:{line}: in the scenario, client.dispatchers = 2, dispatchers = 1" in refused


def test_the_option_is_for_configurations(tmp_path):
    with pytest.raises(UserError, match="--roce is for a configuration"):
        imported("axio", DATA / "axio-server.log", "--roce", "rc", "--out", tmp_path / "run")
