"""Whether a run settled: its windows are of one level, within the headline's host state.

A load with phases is judged phase by phase, because only windows of one load can be of one level.

A run that has not settled at the end of its duration goes on, up to `validity.settle` (`Extension`). What the run showed then is
judged once more, from all its windows (`check`). No window is excluded for its rate: who keeps the level that comes last, or the faster
one, chooses the result. That a run did not settle is a result of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import excluded_windows, host_states, loads
from windtunnel.runs import metrics
from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.validity import (
    STEADY,
    WHAT,
    Check,
    ExcludedWindow,
    Settled,
    SettledPhase,
    State,
    Validity,
    What,
    counted,
    shown,
)
from windtunnel.scenario.validity_keys import Validity as Limits
from windtunnel.stats import levels
from windtunnel.stats.mean import mean_of

WIDE = 0.05
"""Half of the 95% interval, as a share of the mean, above which a run goes on."""
OUTWEIGHS = 3
"""How many times as long as all before it a level has to last until the run need not go on; as long, if all before it was worse."""
GROWTH = 0.25
"""Share of the windows so far by which a run is extended at once. Each decision takes a worker's CPU for a few milliseconds."""


@dataclass(frozen=True)
class SettledCheck:
    check: Check
    settled: Settled | None
    """The level of a load without phases; None if it is not known."""
    phases: list[SettledPhase]
    """The levels of the phases of which they are known."""
    lacking: bool
    """Whether more windows may show more: some load has not settled, has a wide interval, or too few windows that are not excluded."""


def check(
    engines: Sequence[EngineRecord],
    windows: Mapping[str, Sequence[Window]],
    marks: Sequence[ExcludedWindow],
    limits: Limits,
) -> SettledCheck:
    """`windows`: all of each engine. `marks`: those that are excluded already. Of several phases the worst decides; one that cannot be
    judged is worse than one that is good."""
    asking = _asking(engines, windows)
    left = counted(windows, Validity(checks=[], excluded=list(marks)))[asking.name]
    begin = min((window.start_ns for window in metrics.measured(windows[asking.name])), default=0)
    verdicts = [_judge(part, asking, begin, limits) for part in loads.parts(asking.plan, windows[asking.name], left)]
    values = [verdict.value for verdict in verdicts if verdict.value is not None]
    sentence = _sentence_of_all(verdicts, asking.plan)
    state = min((verdict.state for verdict in verdicts), key=WORST_FIRST.index, default="unknown")
    value = max(values, default=None)
    return SettledCheck(
        Check(name=STEADY, state=state, words=sentence, value=value, limit=limits.max_drift, unit="share"),
        next((verdict.level for verdict in verdicts if verdict.level and not verdict.part.phase), None),
        [
            SettledPhase(**verdict.level.model_dump(), phase=verdict.part.phase)
            for verdict in verdicts
            if verdict.level and verdict.part.phase
        ],
        any(verdict.lacking for verdict in verdicts),
    )


class Extension:
    """Whether a run should go on: asked with each window, it responds by how many more windows. Its decisions are few, because each
    takes time from the workers.

    A load with phases goes on by whole rounds, or not at all. A phase that has too few windows is the scenario's choice, like a run
    of few windows, and no reason to go on.
    """

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
        """Returns, after a window of the engine `name`, by how many windows all engines measure longer; 0: not at all, or not yet."""
        engines = self._engines()
        asking = _asking(engines, self._windows)
        phases = asking.plan.phases
        if name != asking.name or phases.messages:
            return 0
        if self._until is None:
            self._until = phases.duration_ns // phases.window_ns
        # One window before the end: an engine that has finished its last window cannot be asked any more.
        measured = sum(window.phase == "measure" for window in self._windows[name])
        if self._until < levels.LEAST_WINDOWS or measured != self._until - 1:
            return 0
        rest = self._limits.settle // phases.window_ns - self._until
        step = loads.windows_of_rounds(asking.plan)
        if step is None or rest < step or self._enough(engines):
            return 0
        added = min(ceil(max(1, round(self._until * GROWTH)) / step), rest // step) * step
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
        return not check(engines, self._windows, [*marks, *host.excluded], self._limits).lacking


def _asking(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]]) -> EngineRecord:
    """The engine of the client; the last one if there is none."""
    return next((e for e in engines if any(w.workloads for w in windows.get(e.name, ()))), engines[-1])


def _series(plan: Plan, windows: Sequence[Window]) -> tuple[list[Window], list[float], What]:
    """The median latency in an open loop, whose rate is given; else the rate: responses, or packets if there is no client. Windows
    with too few responses for a median are left out."""
    if any(w.load and w.load.mode == "open" for w in plan.workloads):
        medians = [percentile(merge(w.latency for w in window.workloads), 50) for window in windows]
        known = [(window, float(p50)) for window, p50 in zip(windows, medians, strict=True) if p50 is not None]
        return [window for window, _ in known], [p50 for _, p50 in known], "p50_ns"
    metric: What
    if any(window.workloads for window in windows):
        counts, metric = [sum(w.responses for w in window.workloads) for window in windows], "responses_per_s"
    else:
        counts, metric = [sum(p.rx_packets for p in window.ports) for window in windows], "packets_per_s"
    rates = [count / metrics.seconds([window]) for count, window in zip(counts, windows, strict=True)]
    return list(windows), rates, metric


WORST_FIRST: tuple[State, ...] = ("warning", "unknown", "good")


@dataclass(frozen=True)
class _PartVerdict:
    """One part of the run, of one load."""

    part: loads.Part
    state: State
    sentence: str
    level: Settled | None = None
    course: levels.Course | None = None
    value: float | None = None
    """The largest change that was seen, as a share."""

    @property
    def lacking(self) -> bool:
        if self.level and self.course:
            width = self.course.half_width
            return _goes_on(self.course, self.level.what) or width is None or width > WIDE
        # One window fewer than are needed: it is asked a window before the end.
        return not self.part.unlike and self.part.measured >= levels.LEAST_WINDOWS - 1


def _judge(part: loads.Part, asking: EngineRecord, begin: int, limits: Limits) -> _PartVerdict:
    """`begin`: of the measurement, ns."""
    if part.unlike:
        return _PartVerdict(part, "unknown", f"not checked: {part.unlike}")
    windows, values, metric = _series(asking.plan, part.windows)
    if len(values) < levels.LEAST_WINDOWS:
        sentence = f"too few windows to check for steps and drift: {len(values)}, and {levels.LEAST_WINDOWS} are needed"
        return _PartVerdict(part, "unknown", sentence)
    course = levels.course(values, limits.max_drift)
    if not loads.is_known(asking.plan) and (course.trend or len(course.levels) > 1):
        sentence = f"{WHAT[metric]} changed, perhaps with the load of the client on the other host: that run shows whether it settled"
        return _PartVerdict(part, "unknown", sentence)
    mean = mean_of(values)
    level = Settled(
        what=metric,
        settled=len(course.levels) == 1 and not course.trend,
        after_ns=windows[course.last.start].start_ns - begin if course.last.start else 0,
        windows=len(values),
        mean=mean.mean,
        half_width=mean.half_width,
    )
    value = max([abs(course.trend)] + [_apart(step.mean, course.last.mean) for step in course.levels])
    return _PartVerdict(
        part, "good" if level.settled else "warning", _course_sentence(course, level, part), level, course, value
    )


def _apart(level: float, last: float) -> float:
    """Distance as a share of the last level; of the other one if nothing came at last, as after the end of a peer."""
    return abs(level / last - 1) if last else float(level != 0)


def _warmed_up(course: levels.Course, metric: What) -> bool:
    """Whether all levels before the last one were worse: a data plane that warms up becomes faster, not slower."""
    better = -1 if metric == "p50_ns" else 1
    return all(better * (course.last.mean - level.mean) > 0 for level in course.levels[:-1])


def _goes_on(course: levels.Course, metric: What) -> bool:
    """Whether the last level has not lasted long enough."""
    before = course.last.start * (1 if _warmed_up(course, metric) else OUTWEIGHS)
    return course.trend != 0 or course.windows_of_last < before


def _course_sentence(course: levels.Course, level: Settled, part: loads.Part) -> str:
    metric, mean = WHAT[level.what], shown(level.what, level.mean)
    if level.half_width is not None:
        mean += f" \N{PLUS-MINUS SIGN}{level.half_width:.1%}"
    whole, of_phase = ("the phase", " of the phase") if part.phase else ("the measurement", "")
    if level.settled:
        return f"{metric} stayed on one level: {mean}"
    if course.trend:
        span = whole if len(course.levels) == 1 else f"the last {course.windows_of_last} windows{of_phase}"
        changed = f"{metric} {'rose' if course.trend > 0 else 'fell'} by {abs(course.trend):.0%} during {span}"
    else:
        changed = f"{metric} was {shown(level.what, course.levels[0].mean)}" + "".join(
            f", from window {step.start + 1}{of_phase} on {shown(level.what, step.mean)}" for step in course.levels[1:]
        )
    return f"not settled: {changed}; over all windows {mean}"


def _sentence_of_all(verdicts: Sequence[_PartVerdict], plan: Plan) -> str:
    """What was seen in each phase, the worst first, then what would help; without phases that of the whole load."""
    parts_by_sentence: dict[str, list[str]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: WORST_FIRST.index(verdict.state)):
        parts_by_sentence.setdefault(verdict.sentence, []).append(verdict.part.phase_text)
    if not parts_by_sentence:
        return "not checked: nothing was offered"
    parts = [
        f"{' and '.join(_first(names))}: {sentence}" if names[0] else sentence
        for sentence, names in parts_by_sentence.items()
    ]
    return ". ".join(["; ".join(_first(parts)), *_remedies(verdicts, plan)])


def _first(texts: Sequence[str]) -> list[str]:
    rest = len(texts) - MOST_NAMED
    return [*texts[:MOST_NAMED], *([f"{rest} more"] if rest > 0 else [])]


MOST_NAMED = 8
"""Phases in a sentence: a load may have a thousand."""


def _remedies(verdicts: Sequence[_PartVerdict], plan: Plan) -> Iterator[str]:
    unsettled = [verdict for verdict in verdicts if verdict.level and verdict.course and not verdict.level.settled]
    if unsettled and all(_warmed_up_alone(verdict) for verdict in unsettled):
        yield "If the data plane was warming up, a longer `warmup` leaves that out"
    elif unsettled and loads.windows_of_rounds(plan):
        yield "Repeat the run, or set a longer validity.settle"
    elif unsettled:
        yield "Repeat the run, or set a duration of whole rounds of the phases: only by these can a run go on"
    if any(verdict.part.phase and verdict.level is None and not verdict.part.unlike for verdict in verdicts):
        yield "Longer phases, more rounds or a shorter window give a phase more windows"


def _warmed_up_alone(verdict: _PartVerdict) -> bool:
    """Whether nothing but a warm-up can be seen."""
    assert verdict.course and verdict.level
    return not _goes_on(verdict.course, verdict.level.what) and _warmed_up(verdict.course, verdict.level.what)
