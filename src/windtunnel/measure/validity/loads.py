"""Windows by load: what they measured can be compared if the load was the same.

A load without phases is one part of the run. A load with phases is a part for each phase, with the windows of all its rounds; if
several workloads have phases, a part for each of their combinations that a window had.

Bursts are no obstacle if a window holds a whole number of them: wherever in a burst it begins, it has the same load. Otherwise the
load of a window depends on where in a burst it begins and ends. That pattern repeats after some windows, perhaps many, and looks like
steps or a drift. To average it out is not sound either: a median does not change in proportion to the messages of a part of a burst.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import lcm

from windtunnel import format as fmt
from windtunnel.engine.plan import LoadPhase, Plan
from windtunnel.engine.windows import Window
from windtunnel.runs.metrics import measured
from windtunnel.runs.phases import Timetable, load_began, load_words, timetables


@dataclass(frozen=True)
class Part:
    """Windows of a run that had the same load."""

    phase: dict[str, int]
    """Workload -> its phase, from 1; empty: no load has phases."""
    phase_text: str
    """The phase as text, as in "phase 2 (300 k/s)"; empty if no load has phases."""
    measured: int
    """How many windows it has, those that are excluded included."""
    windows: list[Window]
    """Windows that are not excluded."""
    unlike: str | None
    """Why the load of these windows differs nevertheless; None: it does not."""


def parts(plan: Plan, windows: Sequence[Window], counted: Sequence[Window]) -> list[Part]:
    """`windows`: all of an engine; `counted`: those that are not excluded. A phase that the measurement saw, and in which no window
    lies wholly, is a part without windows; silence is none."""
    tables, unlike, of_run = timetables(plan), _changing(plan), measured(windows)
    if unlike or not tables or not of_run:
        return [Part({}, "", len(of_run), measured(counted), unlike)]
    began, kept = load_began(windows, plan), {window.index for window in counted}
    chosen: dict[tuple[int, ...], list[Window]] = {}
    for window in of_run:
        phases = [table.phase_of_window(window, began) for table in tables.values()]
        at = tuple(phase for phase in phases if phase is not None)
        if len(at) == len(phases):
            chosen.setdefault(at, []).append(window)
    parts = [_part(plan, tables, at, chosen[at], kept) for at in sorted(chosen) if _offers(plan, tables, at)]
    for place, (index, table) in enumerate(tables.items()):
        occurred = {at[place] for at in chosen}
        begin, end = of_run[0].start_ns - began[1], of_run[-1].end_ns - began[1]
        parts += [
            _part(plan, {index: table}, (n,), [], kept)
            for n, phase in enumerate(table.phases)
            if n not in occurred and phase.rate_per_s and table.ns_of(n, begin, end)
        ]
    return parts


def windows_of_rounds(plan: Plan) -> int | None:
    """Windows by which a run can be extended with its load unchanged: 1. With phases, whole rounds of all workloads: each phase
    keeps its share of the metrics. None: it cannot, because its load changes otherwise, or its duration is no whole number of rounds."""
    tables, window = timetables(plan), plan.phases.window_ns
    rounds = lcm(*(table.round_ns for table in tables.values()))
    if _changing(plan) or (tables and plan.phases.duration_ns % rounds):
        return None
    return lcm(rounds, window) // window if tables else 1


def is_known(plan: Plan) -> bool:
    """Whether the plan has the load; False on a server whose client is on another host."""
    return all(workload.load or not workload.client_applications for workload in plan.workloads)


def _part(
    plan: Plan, tables: dict[int, Timetable], at: Sequence[int], windows: Sequence[Window], kept: set[int]
) -> Part:
    names = [plan.workloads[index].name for index in tables]
    phases = [table.phases[n] for table, n in zip(tables.values(), at, strict=True)]
    several = len(timetables(plan)) > 1
    phase_text = " with ".join(
        f"phase {n + 1}{f' of {name}' if several else ''} ({load_words(phase)})"
        for name, n, phase in zip(names, at, phases, strict=True)
    )
    numbers = {name: n + 1 for name, n in zip(names, at, strict=True)}
    left = [window for window in windows if window.index in kept]
    return Part(numbers, phase_text, len(windows), left, _partly(phases, plan.phases.window_ns))


def _offers(plan: Plan, tables: dict[int, Timetable], at: Sequence[int]) -> bool:
    """Whether any workload sends in these phases."""
    others = any(workload.load and index not in tables for index, workload in enumerate(plan.workloads))
    return others or any(table.phases[n].rate_per_s for table, n in zip(tables.values(), at, strict=True))


def _changing(plan: Plan) -> str | None:
    """Why the load changes in all of the run, and not by phases that come again; None: it does not."""
    if any("timed" in endpoint.port.traits for endpoint in plan.endpoints):
        return "the frames come at a capture's times"
    tables = timetables(plan)
    loads = [w.load for index, w in enumerate(plan.workloads) if w.load and index not in tables]
    phases = [load.phases[load.lead :] for load in loads]
    if any(len(of_load) > 1 for of_load in phases):
        return "the last phase of the load lasts for ever"
    return _partly([*chain.from_iterable(phases)], plan.phases.window_ns)


def _partly(phases: Sequence[LoadPhase], window_ns: int) -> str | None:
    """A sentence that a window holds a part of a burst; None if it does not."""
    for phase in phases:
        period = (phase.on_ns or 0) + (phase.off_ns or 0)
        if phase.rate_per_s and phase.off_ns and window_ns % period:
            bursts = f"bursts come every {fmt.duration(period)}"
            return f"{bursts}, and a window of {fmt.duration(window_ns)} holds no whole number of them"
    return None
