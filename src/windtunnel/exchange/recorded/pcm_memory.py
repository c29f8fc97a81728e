"""`pcm-memory -csv` (src/pcm-memory.cpp of PCM): megabytes a second that the memory controllers read and wrote, by socket and of the host.

Two lines are the head: where a column is from ("SKT0", "System") and what it has ("Mem Read (MB/s)", "Read"). Each further line is a sample;
values are means over them.
"""

from collections.abc import Sequence
from statistics import fmean

from windtunnel.exchange.recorded.pcm_samples import CUT
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "pcm-memory"
READ, WRITTEN = "System Read", "System Write"
_HOST, _DATE = "System", "Date"
_REMEDY = "what `pcm-memory -csv -nc 1` printed"


def is_one(lines: Sequence[str]) -> bool:
    return _head(lines) is not None


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each column, as "System Read" or "SKT0 Mem Read (MB/s)", and the faults. A column is empty for a channel without memory."""
    head = _head(lines)
    assert head is not None  # of texts that `is_one`
    names = [" ".join(filter(None, both)) for both in zip(_cells(lines[head]), _cells(lines[head + 1]), strict=True)]
    faults = []
    columns: dict[str, list[float]] = {}
    *ended, rest = lines[head + 2 :] or [""]  # PCM ends each line: what follows the last end was cut
    for place, line in enumerate(ended, start=head + 3):
        cells = _cells(line)
        if cells[0] == _DATE and [*map(_cells, lines[place - 2 : place])] != [*map(_cells, lines[head : head + 2])]:
            faults.append(Fault(place, "another head: the text has recordings of unlike columns", _REMEDY))
        if not cells[0][:1].isdigit():
            continue  # what PCM says at its end
        if len(cells) != len(names):
            faults.append(Fault(place, f"{len(cells)} cells in a table of {len(names)}", _REMEDY))
            continue
        for name, text in zip(names[2:], cells[2:], strict=True):
            value = number(text)
            if value is not None:
                columns.setdefault(name, []).append(value)
            elif text:
                faults.append(Fault(place, f'{name[:40]}: "{text[:40]}" is not a number of MB/s', _REMEDY))
    if not columns and not faults:
        faults.append(Fault(head + 1, "no whole sample follows the head of pcm-memory", _REMEDY))
    caveat = CUT if rest[:1].isdigit() else ""
    return [Reading(name, fmean(values), "MB/s", head + 1, caveat) for name, values in columns.items()], faults


def _head(lines: Sequence[str]) -> int | None:
    """The position of the first line of the head; None: there is none."""
    for position in range(len(lines) - 1):
        sources, quantities = _cells(lines[position]), _cells(lines[position + 1])
        if _HOST in sources and quantities[0] == _DATE and len(sources) == len(quantities):
            return position
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]
