"""Texts of tools that read a host's counters, as evidence for a diagnosis.

readings    the common form of their values
perf_stat   `perf stat`, in all its formats (rows: perf_rows)
pcm_pcie    `pcm-pcie -csv`, with -e also misses and hits
pcm_iio     `pcm-iio -csv`, with -root-port also the root port of each part
pcm_memory  `pcm-memory -csv`
ethtool     `ethtool -S`, `ethtool -I -a` (names of counters: pause_counters)
proc_stat, resctrl_files   files of the kernel that `--monitor` has read twice (snapshots)

Parts have others, in their module `host_counters`.
"""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import (
    ethtool,
    pcm_iio,
    pcm_memory,
    pcm_pcie,
    perf_stat,
    proc_stat,
    resctrl_files,
)
from windtunnel.exchange.recorded.other_tools import other_tool
from windtunnel.exchange.recorded.readings import Reading, Recorded
from windtunnel.exchange.source import read_counters
from windtunnel.part_registry import part_modules

WHAT = (
    "the output of `perf stat -j` or `-x,`, of `pcm-pcie -e`, `pcm-iio` or `pcm-memory` with `-csv`, or of `ethtool -S`"
)


def readers() -> tuple[ModuleType, ...]:
    """A module for each tool: TOOL, `is_one` and `readings` of lines."""
    of_parts = part_modules("host_counters")
    return (*of_parts, pcm_pcie, pcm_iio, pcm_memory, ethtool, proc_stat, resctrl_files, perf_stat)


def is_recorded(lines: Sequence[str]) -> bool:
    """Whether one of these tools wrote the text."""
    return any(reader.is_one(lines) for reader in readers())


def read_recorded(file: Path, follow: bool = True) -> Recorded:
    """The counts of a tool. Raises UserError with file and line for any other text. `follow`: a symbolic link is followed."""
    foreign = read_counters(file, follow=follow)
    lines = foreign.text.split("\n")
    reader = next((candidate for candidate in readers() if candidate.is_one(lines)), None)
    if reader is None:
        known = ", or ".join((WHAT, *(of_part.TOOL for of_part in part_modules("host_counters"))))
        what, remedy = other_tool(lines) or ("no text of a tool that is known", known)
        raise UserError(f"{file}: {what}", remedy=remedy)
    readings, faults = reader.readings(lines)
    if faults:
        raise foreign.error(faults)
    return Recorded(file, reader.TOOL, tuple(readings))


__all__ = ["Reading", "Recorded", "is_recorded", "read_recorded"]
