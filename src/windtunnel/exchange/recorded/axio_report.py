"""report.rpt, which Axio's scripts/host-metric/record-host-metrics.sh writes: lines of `name: value unit`, in sections.

Its rates are computed by awk from `perf stat` and PCM. A value is empty if a tool printed nothing, and a rate of nothing is "-nan". Names
after a line "Socket N" get it as a prefix.
"""

import re
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "Axio's report.rpt"
_BEGIN = re.compile(r"-{4,}begin all measurement-{4,}")
_SOCKET = re.compile(r"\s*(Socket \d+)\b")
_LINE = re.compile(
    r"\s*([A-Za-z][\w() -]{0,60}?)\s*:\s*+(\S*+)\s*+(\S*+)\s*+"
)  # possessive: a line of blanks is read once
_NOTHING = ("", "nan", "-nan", "inf", "-inf")
_NUMERIC = re.compile(r"[-+.\d]")


def is_one(lines: Sequence[str]) -> bool:
    return any(_BEGIN.fullmatch(line.strip()) for line in lines)


def _is_section(line: str) -> bool:
    return len(line) >= 8 and line.startswith("----") and line.endswith("----")


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each name, and the faults. Lines that explain, as in "IOTLB_hits/misses: times of", have no value."""
    by_name: dict[str, Reading] = {}
    faults = []
    socket = ""
    for place, line in enumerate(lines, start=1):
        if _is_section(line.strip()):
            socket = ""
        elif socket_line := _SOCKET.match(line):
            socket = f"{socket_line[1]} "
        elif (row := _LINE.fullmatch(line)) and (row[2] in _NOTHING or _NUMERIC.match(row[2])):
            name, text = socket + row[1], row[2]
            value = number(text)
            if value is None and text not in _NOTHING:
                faults.append(
                    Fault(place, f'{name}: "{text[:40]}" is not a number', "as in LLC-load-misses-rate: 0.11")
                )
            elif name in by_name:
                faults.append(Fault(place, f"{name} is given twice, first in line {by_name[name].line}", "one report"))
            else:
                by_name[name] = Reading(
                    name, value, row[3], place, "" if value is not None else "the report has no number"
                )
    if not by_name and not faults:
        faults.append(Fault(0, "a report without a value", "the whole report.rpt"))
    return list(by_name.values()), faults
