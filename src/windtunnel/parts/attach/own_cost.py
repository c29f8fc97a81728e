"""What the probe costs the application that it observes, measured on that application.

The probe is present for a part of each period, and absent for the rest. The application's own counters of packets are read at each change, so
its rate with the probe stands beside its rate without, some milliseconds apart. A whole period has one value. If the load and not the
application limits, both rates are the same whatever the probe costs: then there is nothing to see, and nothing is lost either.
"""

from collections.abc import Sequence

from windtunnel.parts.attach.lines import PhaseLine, WindowLine, counted
from windtunnel.stats.mean import Estimate, jackknife


def own_cost(windows: Sequence[WindowLine]) -> Estimate | None:
    """The share of the application's packets that the probe cost in these windows: less is gained by absence than this. None: no port has
    statistics, or the probe was never absent."""
    return jackknife(counted(windows), _cost_in)


def slowdown(windows: Sequence[WindowLine]) -> Estimate | None:
    """By which share the application was slower while the probe was present."""
    return jackknife(counted(windows), _slowdown_in)


def _cost_in(windows: Sequence[WindowLine]) -> float | None:
    slower = _slowdown_in(windows)
    ticks = {kind: sum(getattr(p, kind).ticks for w in windows for p in w.ports) for kind in ("present", "absent")}
    total = sum(ticks.values())
    return None if slower is None or not total else slower * ticks["present"] / total


def _slowdown_in(windows: Sequence[WindowLine]) -> float | None:
    present, absent = (
        _rate([getattr(port, kind) for w in windows for port in w.ports]) for kind in ("present", "absent")
    )
    return None if present is None or not absent else 1 - present / absent


def _rate(phases: Sequence[PhaseLine]) -> float | None:
    ticks = sum(phase.ticks for phase in phases)
    return sum(phase.rx_packets + phase.tx_packets for phase in phases) / ticks if ticks else None
