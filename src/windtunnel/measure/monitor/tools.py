"""The tools of each metric: how each is called, and what a host must have for it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.host.cpus import cpuinfo
from windtunnel.host.read import text

EVENTS = ("LLC-loads", "LLC-load-misses", "LLC-stores", "LLC-store-misses")
UNCORE = "sys/bus/event_source/devices"


@dataclass(frozen=True)
class Processor:
    """What tools depend on."""

    vendor: str
    virtual: bool
    has_iio: bool
    """Whether the kernel counts PCIe root ports (uncore_iio)."""
    root: bool
    """Whether we are root."""


@dataclass(frozen=True)
class Tool:
    metric: str
    name: str
    program: str
    package: str
    """Debian's."""
    file: str
    arguments: Callable[[Sequence[int], int], list[str]]
    """Of CPUs, and of the seconds for which it counts."""
    lacks: Callable[[Processor], str | None]
    """Why it cannot count on a processor; None: it may."""


def read_processor(root: Path = Path("/")) -> Processor:
    info = cpuinfo(text(root / "proc/cpuinfo") or "")
    return Processor(
        vendor=info.get("vendor_id", "another vendor"),
        virtual="hypervisor" in info.get("flags", "").split(),
        has_iio=any((root / UNCORE).glob("uncore_iio_*")),
        root=os.geteuid() == 0,
    )


def _of_pcm(processor: Processor) -> str | None:
    if processor.vendor != "GenuineIntel":
        return f"PCM reads the counters of Intel's processors, and this one is of {processor.vendor}"
    if processor.virtual:
        return "a virtual machine has no counters outside of its cores: start PCM on the hypervisor's host"
    return None if processor.root else "root alone reads these counters: start it with sudo"


def _of_iostat(processor: Processor) -> str | None:
    if not processor.has_iio:
        return "this kernel has no uncore_iio: it needs an Intel Xeon from Skylake on, and no virtual machine has it"
    return None if processor.root else "root alone reads these counters: start it with sudo"


def _of_perf(processor: Processor) -> str | None:
    return None  # perf itself says which events it cannot count


def _pcm(*options: str) -> Callable[[Sequence[int], int], list[str]]:
    return lambda cpus, seconds: ["1", *options, f"-i={seconds}"]


def _perf_stat(cpus: Sequence[int], seconds: int) -> list[str]:
    of_cpus = ["-a", "-C", ",".join(map(str, cpus))]
    return ["stat", "--log-fd", "1", "-x,", *of_cpus, "-e", ",".join(EVENTS), "--timeout", str(seconds * 1000)]


def _perf_iostat(cpus: Sequence[int], seconds: int) -> list[str]:
    return ["stat", "--log-fd", "1", "--iostat", "--timeout", str(seconds * 1000)]


TOOLS = (
    Tool("llc", "perf stat", "perf", "linux-perf", "monitor-perf-stat.csv", _perf_stat, _of_perf),
    Tool("memory", "pcm-memory", "pcm-memory", "pcm", "monitor-pcm-memory.csv", _pcm("-csv", "-nc"), _of_pcm),
    Tool("pcie", "pcm-pcie", "pcm-pcie", "pcm", "monitor-pcm-pcie.csv", _pcm("-e", "-B", "-csv"), _of_pcm),
    Tool("iio", "pcm-iio", "pcm-iio", "pcm", "monitor-pcm-iio.csv", _pcm("-csv", "-root-port"), _of_pcm),
    Tool("iio", "perf iostat", "perf", "linux-perf", "monitor-perf-iostat.txt", _perf_iostat, _of_iostat),
    Tool("cores", "pcm", "pcm", "pcm", "monitor-pcm.csv", _pcm("-csv"), _of_pcm),
)
METRICS = {
    "llc": "loads and stores of the last-level cache, and those that miss it, of the CPUs",
    "memory": "bytes that the memory controllers move",
    "pcie": "lines that devices read and write, and which of them miss the last-level cache",
    "iio": "bytes of each PCIe root port, and misses of the IOTLB",
    "cores": "PCM's own table of cores: instructions per cycle, misses, frequency",
    "pause": "pause frames of interfaces, among all counters of their drivers",
    "cpus": "the share of the time for which each CPU ran something",
}
"""A switch for each, with what it counts."""


def metrics_of(words: str) -> list[str]:
    """The metrics of a list, as in llc,pcie; "all" is every one. Raises UserError."""
    names = list(METRICS) if words == "all" else [name.strip() for name in words.split(",")]
    wrong = [name for name in names if name not in METRICS]
    if wrong or len(set(names)) < len(names):
        what = f"no metric: {', '.join(map(repr, wrong))}" if wrong else f"{words}: a metric is there twice"
        raise UserError(f"monitor: {what}", remedy=f"all, or some of {', '.join(METRICS)}, each once")
    return names
