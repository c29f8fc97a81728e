"""Runs on interfaces of the kernel whose NICs QEMU emulates, by the wires that work on interfaces: af_xdp and af_packet."""

import re
from typing import NamedTuple

import machine
import pytest
from guest_runs import ENGINE, SHORT
from in_guest import guest, supervised
from real_runs import assert_sound, drops, messages, ports
from scenario_tools import written

from windtunnel.runs import Run
from windtunnel.scenario import load, resolve

INTERFACES = ["eth0", "eth1"]
NO_OFFLOADS = "guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,guest_csum=off"
"""Of what virtio-net's driver must not have where an XDP program is to run in it."""
MODELS = {"e1000e": "e1000e", "igb": "igb", "vmxnet3": "vmxnet3", f"virtio-net-pci,{NO_OFFLOADS}": "virtio-pci"}
"""QEMU's models, and the kernel's drivers for them."""


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs a scenario on two interfaces in a guest, with one queue each."""

    def in_guest(wire: str, model: str, *sets: str) -> Run:
        if machine.qemu_with(model) is None:
            pytest.skip(f"no QEMU here emulates an {model}: make -C tests/guest qemu says why")
        monkeypatch.setenv("WT_GUEST_NICS", f"{model} {model}")
        monkeypatch.setenv("WT_GUEST_DRIVER", MODELS[model])
        if model == "igb":
            monkeypatch.setenv("WT_GUEST_NODES", "0 1")
        data = {
            "memory": "no-huge",
            "wire": {"kind": wire},
            "client": {"interface": INTERFACES[0]},
            "server": {"interface": INTERFACES[1]},
            "workload": [{"handler": "l_app"}],
        }
        spec = resolve(load(written(tmp_path, data), [*SHORT, *sets]), guest(interfaces=INTERFACES))
        return supervised(ENGINE, spec, tmp_path / "run")

    return in_guest


class Seen(NamedTuple):
    """What the guest's kernel says of an interface after the run."""

    node: int
    received: int
    sent: int


def seen_by_the_kernel(run: Run) -> dict[str, Seen]:
    said = re.findall(r"guest: (\S+) on node (\S+) received (\d+), sent (\d+)", (run.path / "engine.log").read_text())
    return {name: Seen(*map(int, numbers)) for name, *numbers in said}


@pytest.mark.parametrize("wire", ["af_xdp", "af_packet"])
@pytest.mark.parametrize("model", MODELS)
def test_two_interfaces(execute, wire, model):
    run = execute(wire, model)
    assert_sound(run)
    assert messages(run).responses > 0 and messages(run).lost == 0
    kernel = seen_by_the_kernel(run)
    for side, interface in zip(("client", "server"), INTERFACES, strict=True):
        assert drops(run, side).keys() <= {"not_ipv4", "not_for_us"}, "the kernel's own frames"
        assert kernel[interface].sent >= ports(run, side)["tx_packets"] > 0
        assert kernel[interface].received >= ports(run, side)["tx_packets"], "each has its response"


def test_memory_is_with_the_nic_behind_an_interface(execute):
    """Without hugepages, too, where EAL looks at no node."""
    run = execute("af_packet", "igb")
    assert_sound(run)
    kernel, notes = seen_by_the_kernel(run), run.record.all_notes()
    assert {kernel[name].node for name in INTERFACES} == {0, 1}
    for side, name in zip(("client", "server"), INTERFACES, strict=True):
        node = kernel[name].node
        assert f"memory of the {side} by NUMA nodes: mbufs on {node}, rings on {node}" in notes
