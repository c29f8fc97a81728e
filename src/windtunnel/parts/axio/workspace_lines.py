"""The lines of Axio's log about each workspace: which share of its time it works.

Axio prints two lines a window for each workspace beside its table, TX and RX, each with messages or packets a microsecond and microseconds for
each of them, stalls included. Their products are the time in which it worked. What the NIC took is the stall of the dispatcher, so it is in there
already. The rest of the time is slack: Axio begins a loop at most once a microsecond, and polls in vain.
"""

import re

from windtunnel.runs.record import BUSY, ForeignValue

_NUMBER = r"([0-9]{1,9}\.[0-9]{1,9})"
_BREAKDOWN = re.compile(
    rf"\[Workspace ([0-9]{{1,3}})\] (TX|RX) Breakdown: throughput\(App{_NUMBER}, Disp{_NUMBER}, NIC[^()]{{1,40}}\), "
    rf"latency\({_NUMBER}, {_NUMBER}, [^()]{{1,40}}\)\s*"
)


def busy(side: str, text: str) -> list[ForeignValue]:
    """The busy share of each workspace, as the mean of its windows; empty for a log without these lines. A window has a line of each direction: one
    without the other, where the log begins or was cut, is left out."""
    total: dict[int, float] = {}
    windows: dict[int, int] = {}
    waiting: dict[int, tuple[str, float]] = {}
    for line in text.splitlines():
        if match := _BREAKDOWN.fullmatch(line):
            workspace, direction = int(match[1]), match[2]
            of_application, of_dispatcher, application_us, dispatcher_us = map(float, match.groups()[2:])
            worked = of_application * application_us + of_dispatcher * dispatcher_us
            other, worked_before = waiting.pop(workspace, (direction, 0.0))
            if other == direction:
                waiting[workspace] = direction, worked
                continue
            total[workspace] = total.get(workspace, 0.0) + worked_before + worked
            windows[workspace] = windows.get(workspace, 0) + 1
    return [
        ForeignValue(of=side, name=f"workspace {workspace}", value=total[workspace] / count, unit=BUSY)
        for workspace, count in sorted(windows.items())
    ]
