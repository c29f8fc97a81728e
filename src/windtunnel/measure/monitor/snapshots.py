"""What the monitor reads at its begin and at its end: the kernel's counts of CPUs and of memory traffic, and the counters of NICs."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine.ask import ask
from windtunnel.exchange.recorded import ethtool, proc_stat, resctrl_files
from windtunnel.exchange.recorded.snapshots import head_of
from windtunnel.host import resctrl
from windtunnel.host.dpdk import read_nics

LONGEST_S = 5.0
"""For which ethtool may take to answer."""
NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,14}", re.ASCII)
"""Of an interface: what may stand in the name of a file, and is no option of ethtool."""
NO_INTERFACE = "no NIC of this host has an interface of the kernel; a NIC at vfio-pci has none, and its counters are in run.json (xstats)"


class NotRead(Exception):
    """`str` is the reason."""


@dataclass(frozen=True)
class Snapshot:
    metric: str
    tool: str
    file: str
    command: tuple[str, ...]
    take: Callable[[float], str]
    """The text at the seconds since the monitor began. Raises NotRead."""


def cpu_times(root: Path = Path("/")) -> Snapshot:
    def take(seconds: float) -> str:
        rows = [line for line in _read(root / "proc/stat").split("\n") if line.startswith("cpu")]
        return head_of(proc_stat.PLACE, seconds) + "\n".join(rows) + "\n"

    return Snapshot("cpus", proc_stat.TOOL, "monitor-proc-stat.txt", (), take)


def memory_traffic(root: Path = resctrl.ROOT) -> Snapshot:
    """Of all control groups: each has the sum of the groups below it that are only monitored."""

    def take(seconds: float) -> str:
        files = sorted((*root.glob("mon_data/mon_L3_*/mbm_*_bytes"), *root.glob("*/mon_data/mon_L3_*/mbm_*_bytes")))
        if not files:
            raise NotRead(resctrl.NOT_MOUNTED)
        rows = [f"{file.relative_to(root)} {_read(file).strip()}" for file in files]
        return head_of(resctrl_files.PLACE, seconds) + "\n".join(rows) + "\n"

    return Snapshot("memory", resctrl_files.TOOL, "monitor-resctrl.txt", (), take)


def nic_counters(program: Path, interface: str) -> Snapshot:
    command = (str(program), "-S", interface)

    def take(seconds: float) -> str:
        try:
            ended = ask(command, LONGEST_S)
        except OSError as error:
            raise NotRead(f"{program}: {error.strerror}") from error
        if ended is None:
            raise NotRead(f"{program} has not responded in {LONGEST_S:.0f} s")
        if ended.code:
            raise NotRead(f"{interface}: {ended.errors.strip() or ended.output.strip()}"[:200])
        return ended.output

    return Snapshot("pause", ethtool.TOOL, f"monitor-ethtool-{interface}.txt", command, take)


def interfaces_of_nics(root: Path = Path("/")) -> list[str]:
    """The interfaces of this host behind which there is a NIC."""
    return [name for nic in read_nics(root) for name in nic.interfaces if NAME.fullmatch(name)]


def unknown(interfaces: Sequence[str], root: Path = Path("/")) -> Iterator[str]:
    """Those that this host does not have."""
    return (name for name in interfaces if not NAME.fullmatch(name) or not (root / "sys/class/net" / name).exists())


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        raise NotRead(f"{file}: {error.strerror}") from error
