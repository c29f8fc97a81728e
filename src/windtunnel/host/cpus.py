"""CPUs: the online and the allowed ones, and the stability of their clocks."""

import math
import os
import re
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.host.cpu_topology import CPU, CpuTopology, read_cpu_topology
from windtunnel.host.idle_states import IdleStates, read_idle_states
from windtunnel.host.read import Part, cpu_list, number, text
from windtunnel.proc import lines

MOST_OF_RANGE = 4096
_PART = re.compile(r"\s*([0-9]{1,5})(?:-([0-9]{1,5}))?\s*", re.ASCII)


class Tsc(Part):
    """Properties of the time stamp counter, which counts all cycles, as the kernel reports them."""

    constant: bool
    nonstop: bool
    clocksource: str | None


class Cpus(Part):
    model: str | None
    online: list[int]
    allowed: list[int]
    isolated: list[int]
    nohz_full: list[int]
    topology: CpuTopology
    idle_states: IdleStates | None = None  # None: no driver of C-states, or a record from before they were read
    quota: float | None  # CPUs' worth of time that the control group grants; None: no limit
    governors: list[str]  # distinct, of the allowed CPUs; empty: no frequency control to be seen
    turbo: bool | None  # None: not known
    tsc: Tsc | None  # None: not an x86
    virtual: bool | None  # None: not known
    steal_percent: float | None  # share of all CPU time since boot that the hypervisor gave to others


def allowed_cpus() -> list[int]:
    """The CPUs that this process may run on, ascending: taskset and cpusets are respected."""
    return sorted(os.sched_getaffinity(0))


def online_cpus(root: Path = Path("/")) -> list[int]:
    """The CPUs that the kernel uses, ascending; the allowed ones if it does not say."""
    return cpu_list(text(root / CPU / "online")) or allowed_cpus()


def cpus_of(text: str) -> list[int]:
    """The CPUs of `--cpus`, a list as `lscpu` prints it, in its order. Raises UserError."""
    for part in text.split(","):
        match = _PART.fullmatch(part)
        last = int(match[2] or match[1]) if match else -1
        if not match or not int(match[1]) <= last < int(match[1]) + MOST_OF_RANGE:
            raise UserError(f'--cpus: "{part[:40]}" is no CPU and no range', remedy="a list of CPUs, as in 8-11,24")
    cpus = cpu_list(text)
    if len(set(cpus)) < len(cpus):
        raise UserError(f"--cpus: {text[:80]} names a CPU twice", remedy="each CPU once")
    return cpus


def read_cpus(root: Path = Path("/")) -> Cpus:
    info = cpuinfo(text(root / "proc/cpuinfo") or "")
    allowed, online = allowed_cpus(), online_cpus(root)
    return Cpus(
        model=info.get("model name") or info.get("CPU part"),
        online=online,
        allowed=allowed,
        isolated=cpu_list(text(root / CPU / "isolated")),
        nohz_full=cpu_list(text(root / CPU / "nohz_full")),
        topology=read_cpu_topology(root, online),
        idle_states=read_idle_states(root, allowed),
        quota=quota(root),
        governors=governors(root, allowed),
        turbo=turbo(root),
        tsc=tsc(root, info),
        virtual="hypervisor" in info["flags"].split() if "flags" in info else None,
        steal_percent=steal_percent(text(root / "proc/stat") or ""),
    )


def cpuinfo(listing: str) -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo."""
    pairs = (line.partition(":") for line in lines(listing.split("\n\n")[0]))
    return {key.strip(): value.strip() for key, _, value in pairs}


def governors(root: Path, allowed: list[int]) -> list[str]:
    names = (text(root / CPU / f"cpu{cpu}" / "cpufreq" / "scaling_governor") for cpu in allowed)
    return sorted({governor for governor in names if governor})


def turbo(root: Path) -> bool | None:
    no_turbo = number(root / CPU / "intel_pstate" / "no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = number(root / CPU / "cpufreq" / "boost")
    return None if boost is None else boost == 1


def tsc(root: Path, info: dict[str, str]) -> Tsc | None:
    flags = info.get("flags", "").split()
    if "tsc" not in flags:
        return None
    return Tsc(
        constant="constant_tsc" in flags,
        nonstop="nonstop_tsc" in flags,
        clocksource=text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    )


def steal_percent(stat: str) -> float | None:
    """The share of steal time in the first line of /proc/stat: user nice system idle iowait irq softirq steal, in clock ticks since boot."""
    fields = stat.split("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    ticks = [int(field) for field in fields[1:9]]
    return 100 * ticks[7] / sum(ticks) if sum(ticks) else None


def quota(root: Path) -> float | None:
    """The tightest CPU limit among this process's control group and those above it, version 2 or 1."""
    limits = []
    for line in lines(text(root / "proc/self/cgroup") or ""):
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        path = Path(group.lstrip("/"))
        for directory in (mount / path, *(mount / parent for parent in path.parents)):
            limits.append(group_limit(directory))
    tightest = min(limits, default=math.inf)
    return None if math.isinf(tightest) else tightest


def group_limit(directory: Path) -> float:
    """CPUs that one control group grants; infinite when it sets no limit."""
    granted, _, period = (text(directory / "cpu.max") or "").partition(" ")
    if not granted:
        granted = text(directory / "cpu.cfs_quota_us") or "-1"
        period = text(directory / "cpu.cfs_period_us") or ""
    if not granted.isdigit() or not period.isdigit():
        return math.inf
    return int(granted) / int(period)
