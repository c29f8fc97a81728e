"""A link that is lost while a run goes on, by QEMU's `set_link`: its windows are excluded, and the run goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_runs import execute  # noqa: F401 - a fixture
from monitor import Monitor
from real_runs import assert_sound, messages

from windtunnel.engine.windows import Window
from windtunnel.measure.validity.validate import validate
from windtunnel.runs import Run
from windtunnel.runs.validity import Validity
from windtunnel.scenario.validity_keys import Validity as Limits

AFTER = 2
"""Measured windows before the link is pulled."""
WITHOUT = 2
"""Measured windows before it is back."""
PATIENCE = ("workload.0.timeout=200ms", "duration=4s")
SIDES = ("client", "server")


@pytest.fixture
def monitor(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "monitor"
    monkeypatch.setenv("WT_GUEST_MONITOR", str(path))
    return path


def pulling(monitor: Path, back: bool) -> Callable[[str, object, str], None]:
    """Pulls the server's link in a measured window, and puts it back later."""
    measured = 0

    def hear(name: str, line: object, raw: str) -> None:
        nonlocal measured
        if not isinstance(line, Window) or line.phase != "measure":
            return
        measured += 1
        if measured == AFTER or (back and measured == AFTER + WITHOUT):
            with Monitor(monitor) as told:
                told.say(f"set_link e1 {'off' if measured == AFTER else 'on'}")

    return hear


def judged(run: Run) -> Validity:
    return validate(run.record.engines, run.windows, Limits())


def down_ns(run: Run, side: str) -> list[int]:
    """How long the link of a side was down, in each measured window."""
    [windows] = run.windows.values()
    return [
        port.link_down_ns or 0 for w in windows if w.phase == "measure" for port in w.ports if port.endpoint == side
    ]


@pytest.mark.parametrize("model", ["e1000e", "vmxnet3", "virtio-net-pci"])
def test_a_link_that_is_pulled_and_put_back(execute, monitor, model):  # noqa: F811
    run = execute(model, *PATIENCE, listeners=[pulling(monitor, back=True)])
    assert_sound(run)
    down = down_ns(run, "server")
    assert not any(down[:AFTER]) and any(down[AFTER : AFTER + WITHOUT + 1]) and down[-1] == 0
    assert not any(down_ns(run, "client"))
    phases = [phase.name for phase in run.record.engines[0].phases]
    assert "running, though the link of the server is down" in phases
    assert "running, and the link of the server is up again" in phases
    excluded = [mark for mark in judged(run).excluded if any("link of the server was down" in r for r in mark.reasons)]
    assert len(excluded) == sum(ns > 0 for ns in down)
    [windows] = run.windows.values()
    assert windows[-2].workloads[0].responses > 0, "it goes on"
    assert messages(run).lost > 0 and messages(run).missing == 0


def test_a_link_that_stays_away(execute, monitor):  # noqa: F811
    """The run ends at its time, and its ledgers close."""
    run = execute("e1000e", *PATIENCE, listeners=[pulling(monitor, back=False)])
    assert_sound(run)
    assert all(down_ns(run, "server")[AFTER + 1 :])
    reasons = judged(run).reasons
    assert any("link" in reason for reason in reasons), reasons
