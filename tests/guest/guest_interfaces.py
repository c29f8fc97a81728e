"""Runs on interfaces of the kernel whose NICs QEMU emulates, by the wires that work on interfaces: af_xdp and af_packet."""

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


@pytest.mark.parametrize("wire", ["af_xdp", "af_packet"])
@pytest.mark.parametrize("model", MODELS)
def test_two_interfaces(execute, wire, model):
    run = execute(wire, model)
    print((run.path / "engine.log").read_text())
    print(run.record.all_notes(), drops(run, "client"), drops(run, "server"), [ports(run, s) for s in ("client", "server")])
    assert_sound(run)
    assert messages(run).responses > 0
