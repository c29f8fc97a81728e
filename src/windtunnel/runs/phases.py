"""Results by phase of the load: a window counts if it lies wholly in one phase, and is excluded if it crosses a boundary.

Windows end when the engine's main thread wakes up, some tens of µs late, and not at the load's boundaries: a window that is
beyond one by a thousandth of its length still counts.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from windtunnel import format as fmt
from windtunnel.engine.plan import Load, LoadPhase, Plan
from windtunnel.engine.windows import Window
from windtunnel.runs.metrics import measured, seconds, workload_row
from windtunnel.runs.rows import PhaseRow

SLACK = 1000
"""What may lie beyond a boundary is a window's length divided by this."""


class Timetable:
    """Which phase of a load runs when, in ns since it began: after the last phase the first comes again."""

    def __init__(self, load: Load):
        self.phases: list[LoadPhase] = load.phases[load.lead :]
        self._lead = sum(phase.length_ns or 0 for phase in load.phases[: load.lead])
        self._ends = list(accumulate(phase.length_ns or 0 for phase in self.phases))

    @property
    def round_ns(self) -> int:
        """Length of all phases together."""
        return self._ends[-1]

    def phase_of_window(self, window: Window, began: tuple[int, int]) -> int | None:
        """The phase, from 0, that holds all of the window but its slack, whenever between `began` the load began; None if there
        is none."""
        earliest, latest = began
        slack = (window.end_ns - window.start_ns) // SLACK
        return self.phase_of(window.start_ns - latest + slack, window.end_ns - earliest - slack)

    def phase_of(self, begin: int, end: int) -> int | None:
        """The phase that holds all of the time from `begin` to `end`; None if there is none."""
        at = max(begin - self._lead, 0) % self._ends[-1]
        phase = bisect_right(self._ends, at)
        return phase if at + end - begin <= self._ends[phase] else None

    def ns_of(self, phase: int, begin: int, end: int) -> int:
        """How much of the time from `begin` to `end` belongs to the phase."""
        return self._until(phase, end) - self._until(phase, begin)

    def _until(self, phase: int, time: int) -> int:
        rounds, at = divmod(max(time - self._lead, 0), self._ends[-1])
        length = self.phases[phase].length_ns or 0
        return rounds * length + min(max(at - (self._ends[phase] - length), 0), length)


def timetables(plan: Plan) -> dict[int, Timetable]:
    """Timetables by workload index, for loads with several phases that come again: a phase that lasts for ever has no round."""
    several = ((index, workload.load) for index, workload in enumerate(plan.workloads) if workload.load)
    return {
        index: Timetable(load)
        for index, load in several
        if len(load.phases) - load.lead > 1 and load.phases[-1].length_ns
    }


def phase_rows(windows: Sequence[Window], plan: Plan, counted: Sequence[Window] | None = None) -> list[PhaseRow]:
    """A row for each phase that the measurement saw of each workload whose load has several. Of all windows of an engine, only
    those of `counted` are in the metrics; without it all are."""
    chosen = measured(windows)
    if not chosen:
        return []
    kept = {window.index for window in (windows if counted is None else counted)}
    began = load_began(windows, plan)
    rows = []
    for index, timetable in timetables(plan).items():
        rows += _rows_of(index, plan.workloads[index].name, timetable, chosen, kept, began)
    return rows


def load_began(windows: Sequence[Window], plan: Plan) -> tuple[int, int]:
    """Earliest and latest time at which the load can have begun, ns since the engine's start. Not before the first window;
    and since no window ends before its time, not later than the end of each less what it is to last."""
    finished = [window for window in windows if window.phase in ("warmup", "measure")]
    first = [window for window in finished if window.phase == finished[0].phase]
    earliest, last = finished[0].start_ns, first.pop()
    latest = [window.end_ns - n * plan.phases.window_ns for n, window in enumerate(first, 1)]
    if last.phase == "warmup":
        latest.append(last.end_ns - plan.phases.warmup_ns)
    return earliest, max(earliest, min(latest, default=earliest))


def _rows_of(
    index: int, name: str, timetable: Timetable, windows: Sequence[Window], kept: set[int], began: tuple[int, int]
) -> list[PhaseRow]:
    latest = began[1]
    whole: dict[int | None, list[Window]] = {}
    for window in windows:
        whole.setdefault(timetable.phase_of_window(window, began), []).append(window)
    rows = []
    for number, phase in enumerate(timetable.phases):
        finished = timetable.ns_of(number, windows[0].start_ns - latest, windows[-1].end_ns - latest)
        chosen = [window for window in whole.get(number, []) if window.index in kept]
        if not finished:
            continue
        members = [workload for window in chosen for workload in window.workloads if workload.workload == index]
        counted = seconds(chosen)
        result = workload_row(name, members, counted) if members else None
        rows.append(PhaseRow(name, number + 1, load_words(phase), finished / 1e9, counted, result))
    return rows


def load_words(phase: LoadPhase) -> str:
    """The phase's load as text, as in "500 k/s, poisson, 10 ms on, 30 ms off"; the rate is that of the time in which it sends."""
    if not phase.rate_per_s:
        return "silence"
    parts = [fmt.rate(phase.rate_per_s)]
    parts += ["poisson"] if phase.arrivals == "poisson" else []
    if phase.on_ns and phase.off_ns:
        parts.append(f"{phase.on_ns / 1e6:g} ms on, {phase.off_ns / 1e6:g} ms off")
    return ", ".join(parts)
