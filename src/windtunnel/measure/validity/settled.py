"""Whether a run settled: its metrics are of windows of one level, within the headline's host state.

A run that has not settled at the end of its duration goes on, up to `validity.settle` (`Extension`). What the run showed then is
judged once more, from all its windows (`check`).
"""

from collections.abc import Callable, Mapping, Sequence

from windtunnel import format as fmt
from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import excluded_windows, host_states, steady
from windtunnel.runs import metrics
from windtunnel.runs.histogram import merge
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.validity import (
    STEADY,
    WHAT,
    Check,
    ExcludedWindow,
    Settled,
    State,
    Validity,
    What,
    counted,
    shown,
)
from windtunnel.scenario.validity_keys import Validity as Limits

WIDE = 0.05
"""Half of the 95% interval, as a share of the mean, above which a run goes on."""
OUTWEIGHS = 3
"""A level without a known cause may be excluded if the level after it lasted so many times as long."""
GROWTH = 0.25
"""Share of the windows so far by which a run is extended at once. Each decision takes a worker's CPU for a few milliseconds."""


def check(
    engines: Sequence[EngineRecord],
    measured: Mapping[str, Sequence[Window]],
    marks: Sequence[ExcludedWindow],
    limits: Limits,
) -> tuple[Check, list[ExcludedWindow], Settled | None]:
    """The check, the windows before the level that the metrics are of, and that level; None where it cannot be told."""
    asking = _asking(engines, measured)
    if not can_settle(asking.plan):
        return Check(name=STEADY, state="unknown", words="not checked: the load itself changes"), [], None
    windows = counted(measured, Validity(checks=[], excluded=list(marks)))[asking.name]
    windows, values, what = _series(asking.plan, windows)
    if len(values) < steady.LEAST_WINDOWS:
        words = f"{len(values)} windows are too few to check for steps and drift, {steady.LEAST_WINDOWS} are needed"
        return Check(name=STEADY, state="unknown", words=words, limit=limits.max_drift, unit="share"), [], None
    seen = steady.course(values, limits.max_drift)
    state = _state(seen, what)
    late = [
        ExcludedWindow(engine=asking.name, window=window.index, reasons=[_reason(seen, what)])
        for window in windows[: seen.last.start]
    ]
    if state == "bad":
        late = []
    begins = [window.start_ns for window in windows]
    level = Settled(
        what=what,
        settled=state != "bad",
        after_ns=begins[seen.last.start] - measured[asking.name][0].start_ns,
        windows=seen.windows_of_last,
        mean=seen.last.mean,
        half_width=seen.half_width,
    )
    value = max([abs(seen.trend)] + [abs(one.mean / seen.last.mean - 1) for one in seen.levels])
    words = _words(seen, state, level)
    return (
        Check(name=STEADY, state=state, words=words, value=value, limit=limits.max_drift, unit="share"),
        late,
        level,
    )


class Extension:
    """Whether a run should go on: asked with each window, it answers by how many more windows. Its decisions are few, because each
    takes time from the workers."""

    def __init__(
        self,
        engines: Callable[[], Sequence[EngineRecord]],
        windows: Mapping[str, Sequence[Window]],
        limits: Limits,
        known: Readings,
    ):
        self._engines, self._windows, self._limits, self._known = engines, windows, limits, known
        self._until: int | None = None
        self.most_ns = limits.settle

    def more(self, name: str) -> int:
        """After a window of the engine `name`: by how many windows all engines measure longer; 0: not at all, or not yet."""
        engines = self._engines()
        asking = _asking(engines, self._windows)
        phases = asking.plan.phases
        if name != asking.name or not can_settle(asking.plan) or phases.messages:
            return 0
        if self._until is None:
            self._until = phases.duration_ns // phases.window_ns
        most = self._limits.settle // phases.window_ns
        measured = sum(window.phase == "measure" for window in self._windows[name])
        # One window before the end: an engine that has finished its last window cannot be asked any more.
        if (
            self._until < steady.LEAST_WINDOWS
            or measured != self._until - 1
            or self._until >= most
            or self._enough(engines)
        ):
            return 0
        added = min(max(1, round(self._until * GROWTH)), most - self._until)
        self._until += added
        return added

    def _enough(self, engines: Sequence[EngineRecord]) -> bool:
        measured = {engine.name: metrics.measured(self._windows[engine.name]) for engine in engines}
        marks = excluded_windows.excluded(measured, excluded_windows.lengths(engines, measured), self._limits)
        known = Readings()
        known.update(self._known)
        known.update(host_states.readings_of(self._windows))
        host = host_states.judge(engines, self._windows, marks, known, self._limits.state)
        if host.check and host.check.state == "bad":
            return False
        found, _, level = check(engines, measured, [*marks, *host.excluded], self._limits)
        narrow = level is not None and level.half_width is not None and level.half_width <= WIDE
        return found.state in ("good", "warning") and narrow


def can_settle(plan: Plan) -> bool:
    """False where the load changes with time by itself, or the frames come at a capture's times."""
    loads = [workload.load for workload in plan.workloads if workload.load]
    varied = any(len(load.phases) > 1 or any(phase.off_ns for phase in load.phases) for load in loads)
    return not varied and not any("timed" in endpoint.port.traits for endpoint in plan.endpoints)


def _asking(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]]) -> EngineRecord:
    """The engine of the client; where there is none, the last one."""
    return next((e for e in engines if any(w.workloads for w in windows.get(e.name, ()))), engines[-1])


def _series(plan: Plan, windows: Sequence[Window]) -> tuple[list[Window], list[float], What]:
    """The median latency in an open loop, whose rate is given; else the rate: responses, or packets where there is no client. Windows
    with too few responses for a median are left out."""
    if any(w.load and w.load.mode == "open" for w in plan.workloads):
        medians = [metrics.latency(merge(w.latency for w in window.workloads)).p50 for window in windows]
        known = [(window, float(p50)) for window, p50 in zip(windows, medians, strict=True) if p50 is not None]
        return [window for window, _ in known], [p50 for _, p50 in known], "p50_ns"
    what: What
    if any(window.workloads for window in windows):
        counts, what = [sum(w.responses for w in window.workloads) for window in windows], "responses_per_s"
    else:
        counts, what = [sum(p.rx_packets for p in window.ports) for window in windows], "packets_per_s"
    rates = [count / metrics.seconds([window]) for count, window in zip(counts, windows, strict=True)]
    return list(windows), rates, what


def _warmed_up(seen: steady.Course, what: What) -> bool:
    """Whether all levels before the last one were worse: a data plane that warms up becomes faster, not slower."""
    better = -1 if what == "p50_ns" else 1
    return all(better * (seen.last.mean - level.mean) > 0 for level in seen.levels[:-1])


def _state(seen: steady.Course, what: What) -> State:
    if seen.trend:
        return "bad"
    if len(seen.levels) == 1:
        return "good"
    if _warmed_up(seen, what) and seen.windows_of_last >= seen.last.start:
        return "good"
    return "warning" if seen.windows_of_last >= OUTWEIGHS * seen.last.start else "bad"


def _reason(seen: steady.Course, what: What) -> str:
    if _warmed_up(seen, what):
        return f"warming up: {WHAT[what]} was not settled yet"
    return f"before {WHAT[what]} settled on another level"


def _words(seen: steady.Course, state: State, level: Settled) -> str:
    what, first, mean = WHAT[level.what], shown(level.what, seen.levels[0].mean), shown(level.what, level.mean)
    levels = first + "".join(
        f", from window {one.start + 1} on {shown(level.what, one.mean)}" for one in seen.levels[1:]
    )
    width = f" \N{PLUS-MINUS SIGN}{level.half_width:.1%}" if level.half_width is not None else ""
    if seen.trend:
        span = "the measurement" if len(seen.levels) == 1 else f"the last {seen.windows_of_last} windows"
        return f"not settled: {what} {'rose' if seen.trend > 0 else 'fell'} by {abs(seen.trend):.0%} during {span}. {REMEDY}"
    if state == "bad":
        return f"not settled: {what} was {levels}. {REMEDY}"
    if len(seen.levels) == 1:
        return f"{what} stayed on one level: {mean}{width}"
    settled = f"{what} settled after {fmt.duration(level.after_ns)}: {mean}{width}"
    if state == "warning":
        return f"{settled}; before, without a known cause, it was {levels}"
    return f"{settled}; the first {seen.last.start} windows excluded: warming up"


REMEDY = "Repeat the run, or set a longer validity.settle"
