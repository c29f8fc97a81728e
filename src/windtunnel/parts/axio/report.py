"""report.rpt, which Axio's scripts/host-metric/record-host-metrics.sh writes: lines of `name: value unit`, in sections.

Its rates are computed by awk from `perf stat` and PCM. A value is empty if a tool printed nothing, "<not" if perf printed "<not counted>", and a
rate of nothing is "-nan". Names after a line "Socket N" get it as a prefix. Lines that explain, as in "IOTLB_hits/misses: times of", have several
words and no number.
"""

import re
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

_BEGIN = re.compile(r"-{4,}begin all measurement-{4,}")
_SOCKET = re.compile(r"\s*(Socket \d+)\b")
_NAME = re.compile(r"[A-Za-z][\w()./ -]{0,60}")
_NOTHING = ("", "nan", "-nan", "inf", "-inf")
_NUMERIC = re.compile(r"[-+.\d]")
_REMEDY = "as in LLC-load-misses-rate: 0.11"


def is_one(lines: Sequence[str]) -> bool:
    return any(_BEGIN.fullmatch(line.strip()) for line in lines)


def _is_section(line: str) -> bool:
    return len(line) >= 8 and line.startswith("----") and line.endswith("----")


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each name, and the faults."""
    by_name: dict[str, Reading] = {}
    faults = []
    socket = ""
    for place, line in enumerate(lines, start=1):
        name, colon, behind = line.strip().partition(":")
        if _is_section(line.strip()):
            socket = ""
        elif (socket_line := _SOCKET.match(line)) and (not colon or line.strip() == f"{socket_line[1]}:"):
            socket = f"{socket_line[1]} "
        elif colon:
            read = _read(socket, name.strip(), behind.split(), place)
            if isinstance(read, Fault):
                faults.append(read)
            elif read and read.name in by_name:
                what = f"{read.name} is given twice, first in line {by_name[read.name].line}"
                faults.append(Fault(place, what, "one report"))
            elif read:
                by_name[read.name] = read
    if not by_name and not faults:
        faults.append(Fault(0, "a report without a value", "the whole report.rpt"))
    return list(by_name.values()), faults


def _read(socket: str, name: str, words: Sequence[str], place: int) -> Reading | Fault | None:
    """The reading of a line with a colon. None: the line explains."""
    text, *unit = words or [""]
    if len(words) == 1 and text.endswith("%"):  # cpu_util.py of Axio prints no space
        text, *unit = words = [text[:-1], "%"]
    value = number(text)
    numbers = [word for word in words if number(word) is not None]
    if not _NAME.fullmatch(name):
        return Fault(place, f'"{name[:60]}" is not a name', _REMEDY) if numbers else None
    full = name if _SOCKET.match(name) else socket + name
    if value is not None and len(numbers) == 1:
        return Reading(full, value, " ".join(unit), place)
    if text.lower() in _NOTHING:
        return Reading(full, None, " ".join(unit), place, "the report has no number")
    if text.startswith("<") or (len(words) == 1 and not _NUMERIC.match(text)):
        return Reading(full, None, "", place, f"the report has {' '.join(words)[:40]}")
    if value is not None:
        return Fault(place, f"{name} has {len(numbers)} numbers", _REMEDY)
    if numbers or _NUMERIC.match(text):
        return Fault(place, f'{name}: "{text[:40]}" is not a number', _REMEDY)
    return None
