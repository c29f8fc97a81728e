"""C-states: how deep the allowed CPUs may sleep, and how long they then take to wake."""

import struct
from pathlib import Path

from windtunnel.host.read import Part, number, text

CPUIDLE = "sys/devices/system/cpu/cpuidle"
POLLS = "POLL"
"""Name of the state in which the kernel itself polls."""


class IdleState(Part):
    """A state of the allowed CPUs, of those that are enabled on one of them."""

    name: str
    latency_us: int  # to wake, as its driver says


class IdleStates(Part):
    driver: str | None
    states: list[IdleState]  # ascending by latency; empty: no cpuidle driver, or all of them disabled
    max_cstate: int | None  # intel_idle.max_cstate; None: there is no intel_idle
    limit_us: int | None
    """Of /dev/cpu_dma_latency: longer states are not entered. None: no program has set one, or it cannot be read."""

    @property
    def entered(self) -> list[IdleState]:
        """The states in which a CPU sleeps."""
        sleeps = [state for state in self.states if state.name != POLLS]
        return [state for state in sleeps if self.limit_us is None or state.latency_us <= self.limit_us]


def read_idle_states(root: Path, allowed: list[int]) -> IdleStates | None:
    """None: the kernel has no driver of C-states here, as in most virtual machines."""
    driver = text(root / CPUIDLE / "current_driver")
    states = sorted({state for cpu in allowed for state in _enabled(root / f"sys/devices/system/cpu/cpu{cpu}/cpuidle")})
    if driver in (None, "none") and not states:
        return None
    return IdleStates(
        driver=driver,
        states=[IdleState(name=name, latency_us=latency_us) for latency_us, name in states],
        max_cstate=number(root / "sys/module/intel_idle/parameters/max_cstate"),
        limit_us=latency_limit_us(root),
    )


def _enabled(directory: Path) -> list[tuple[int, str]]:
    found = []
    for state in directory.glob("state*"):
        name, latency_us = text(state / "name"), number(state / "latency")
        if name is not None and latency_us is not None and number(state / "disable") == 0:
            found.append((latency_us, name))
    return found


UNLIMITED_US = 2_000_000_000
"""What the kernel says if no program has set a limit (PM_QOS_CPU_LATENCY_DEFAULT_VALUE)."""


def latency_limit_us(root: Path) -> int | None:
    """What programs that hold /dev/cpu_dma_latency open allow; root alone may read it."""
    try:
        with open(root / "dev/cpu_dma_latency", "rb", buffering=0) as device:
            raw = device.read(4)
    except OSError:
        return None
    if len(raw) != 4:
        return None
    limit: int = struct.unpack("=i", raw)[0]
    return None if limit >= UNLIMITED_US else limit
