"""C-states of recorded hosts: what is read, what is found, and the command that would change it."""

import struct
import subprocess
from pathlib import Path

import pytest

from windtunnel.host.cpus import Cpus
from windtunnel.host.idle_states import IdleState, IdleStates, latency_limit_us, read_idle_states
from windtunnel.host.judge_cpus import SHORT_WAKE_US, c_states

ICE_LAKE = [("POLL", 0), ("C1", 1), ("C1E", 4), ("C6", 170)]
"""Of intel_idle on an Ice Lake server (drivers/idle/intel_idle.c), as the paper's Xeon Gold 5318Y is one."""


@pytest.fixture
def host(tmp_path: Path):
    """Writes a recorded host. `disabled`: (CPU, state)."""

    def written(
        states: list[tuple[str, int]], disabled: set[tuple[int, int]] = frozenset(), driver="intel_idle"
    ) -> Path:
        for cpu in (0, 1):
            for number, (name, latency) in enumerate(states):
                directory = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}"
                directory.mkdir(parents=True)
                (directory / "name").write_text(f"{name}\n")
                (directory / "latency").write_text(f"{latency}\n")
                (directory / "disable").write_text(f"{int((cpu, number) in disabled)}\n")
        of_all = tmp_path / "sys/devices/system/cpu/cpuidle"
        of_all.mkdir(parents=True)
        (of_all / "current_driver").write_text(f"{driver}\n")
        return tmp_path

    return written


def allows(root: Path, limit_us: int) -> None:
    (root / "dev").mkdir()
    (root / "dev/cpu_dma_latency").write_bytes(struct.pack("=i", limit_us))


def judged(idle: IdleStates | None):
    return c_states(Cpus.model_construct(idle_states=idle))


def test_states_of_the_allowed_cpus_are_read(host):
    root = host(ICE_LAKE, {(0, 3)})
    module = root / "sys/module/intel_idle/parameters"
    module.mkdir(parents=True)
    (module / "max_cstate").write_text("9\n")
    of_all = read_idle_states(root, [0, 1])
    assert of_all == IdleStates(
        driver="intel_idle",
        states=[IdleState(name=name, latency_us=us) for name, us in ICE_LAKE],
        max_cstate=9,
        limit_us=None,
    )
    assert [state.name for state in read_idle_states(root, [0]).entered] == ["C1", "C1E"]


def test_a_guest_without_a_driver_has_none(host, tmp_path):
    assert read_idle_states(host([], driver="none"), [0, 1]) is None
    assert read_idle_states(tmp_path / "nothing", [0, 1]) is None
    assert judged(None).verdict == "unknown" and judged(None).remedy is None


def test_deep_states_are_named_with_what_disables_them(host):
    found = judged(read_idle_states(host(ICE_LAKE), [0, 1]))
    assert (found.verdict, found.value) == ("fair", "C1 (1 us), C1E (4 us), C6 (170 us) by intel_idle")
    assert "up to 170 us late" in found.meaning


@pytest.mark.slow
def test_the_command_disables_what_the_finding_is_about(host):
    """As a shell runs it on the recorded host: all states that are slower, and no other one."""
    root = host(ICE_LAKE)
    remedy = judged(read_idle_states(root, [0, 1])).remedy.replace("/sys/", f"{root}/sys/").replace("sudo ", "")
    subprocess.run(["sh", "-c", remedy], check=True, stdout=subprocess.DEVNULL)
    assert [(state.name, state.latency_us <= SHORT_WAKE_US) for state in read_idle_states(root, [0, 1]).entered] == [
        ("C1", True)
    ]


def test_disabled_states_are_not_entered(host):
    every = {(cpu, state) for cpu in (0, 1) for state in (1, 2, 3)}
    found = judged(read_idle_states(host(ICE_LAKE, every), [0, 1]))
    assert (found.verdict, found.value, found.remedy) == ("good", "none is entered by intel_idle", None)


def test_a_limit_that_a_program_holds_counts(host):
    root = host(ICE_LAKE)
    allows(root, 3)
    found = judged(read_idle_states(root, [0, 1]))
    assert (found.verdict, found.value) == ("good", "C1 (1 us) by intel_idle; /dev/cpu_dma_latency allows 3 us")


def test_no_limit_is_none(tmp_path):
    assert latency_limit_us(tmp_path) is None, "it cannot be read"
    allows(tmp_path, 2_000_000_000)
    assert latency_limit_us(tmp_path) is None, "no program has set one"
    (tmp_path / "dev/cpu_dma_latency").write_bytes(b"\1")
    assert latency_limit_us(tmp_path) is None


def test_a_record_from_before_has_none():
    assert Cpus.model_fields["idle_states"].default is None
