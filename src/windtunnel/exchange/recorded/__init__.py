"""Texts of tools that read a host's counters, as evidence for a diagnosis.

readings    the common form of their values
perf_stat   `perf stat`, in all its formats (rows: perf_rows)
pcm_pcie    `pcm-pcie -csv`, with -e also misses and hits
axio_report report.rpt of Axio's record-host-metrics.sh
ethtool     `ethtool -S`, `ethtool -I -a` (names of counters: pause_counters)
"""

from collections.abc import Sequence
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import axio_report, ethtool, pcm_pcie, perf_stat
from windtunnel.exchange.recorded.other_tools import other_tool
from windtunnel.exchange.recorded.readings import Reading, Recorded
from windtunnel.exchange.source import read_counters

READERS = (axio_report, pcm_pcie, ethtool, perf_stat)
WHAT = "the output of `perf stat -j` or `-x,`, `pcm-pcie -e -csv` or `ethtool -S`, or Axio's report.rpt"


def is_recorded(lines: Sequence[str]) -> bool:
    """Whether one of these tools wrote the text."""
    return any(reader.is_one(lines) for reader in READERS)


def read_recorded(file: Path) -> Recorded:
    """The counts of a tool. Raises UserError with file and line for any other text."""
    foreign = read_counters(file)
    lines = foreign.text.split("\n")
    reader = next((candidate for candidate in READERS if candidate.is_one(lines)), None)
    if reader is None:
        what, remedy = other_tool(lines) or ("no text of a tool that is known", WHAT)
        raise UserError(f"{file}: {what}", remedy=remedy)
    readings, faults = reader.readings(lines)
    if faults:
        raise foreign.error(faults)
    return Recorded(file, reader.TOOL, tuple(readings))


__all__ = ["Reading", "Recorded", "is_recorded", "read_recorded"]
