"""The host's state in each window, and the state that the metrics are of.

The probes at both ends of a window tell how far apart the CPUs of the workers are, and those of software copiers. A run has no one speed: a
state has. Metrics are of one state, the headline; windows of the other states, of a state that changed, and of one that is not known are
excluded. How busy the siblings of a core are is no state: the additions' time has no gap that a limit could lie in. It is shown next to the state.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from windtunnel.engine.windows import Probe, Window
from windtunnel.host.findings import spans
from windtunnel.host.levels import ONE_CORE, Level, Readings, joined, level_of, name_of
from windtunnel.part_registry import part_functions
from windtunnel.runs import metrics
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.validity import Check, ExcludedWindow, HostState

TOGETHER = 1.4
"""Ratio of the additions' time together to that alone, on both CPUs of a pair, above which they are threads of one core: there
it is close to 2, and elsewhere close to 1."""
NOTICEABLE = 1.10
"""How many times as long as the least that this host is known to need the additions must take to be mentioned, both against the chain."""
MOST_NAMED = 4
"""CPUs that are named one by one; more are a list."""
LEAST_KNOWN = 0.5
"""Share of the windows whose state must be known: with less, the states cannot choose the windows."""


InState = Mapping[str, Sequence[Window]]
"""Windows of one state, of each engine."""


@dataclass(frozen=True)
class Levels:
    """Levels of round trips on this host, ascending."""

    of_lines: list[Level]
    of_copies: list[Level]


@dataclass
class StateVerdict:
    check: Check | None
    headline: str | None = None
    excluded: list[ExcludedWindow] = field(default_factory=list)
    engines: Sequence[EngineRecord] = ()
    by_state: Mapping[str, InState] = field(default_factory=dict)
    """The state with the most windows first."""
    least_wide: float | None = None
    """The additions' least time on this host, against the chain's."""

    @cached_property
    def states(self) -> list[HostState]:
        """What each state measured. It takes long: a decision during the run does without."""
        return [_row(name, self.engines, windows, self.least_wide) for name, windows in self.by_state.items()]


def readings_of(windows: Mapping[str, Sequence[Window]]) -> Readings:
    """What the probes and the workers of a run read."""
    read = Readings()
    for window in (w for of_engine in windows.values() for w in of_engine):
        if window.probe and window.probe.complete:
            lines = (p.line_ns for p in window.probe.pairs if not _one_core(window.probe, p.a, p.b))
            read.add(lines, (ratio for _, ratio in _wide(window)), (ns for _, _, ns in _trips(window.probe)))
    return read


def judge(
    engines: Sequence[EngineRecord],
    windows: Mapping[str, Sequence[Window]],
    excluded: Sequence[ExcludedWindow],
    known: Readings,
    wanted: str | None,
) -> StateVerdict:
    """`windows`: all of each engine. `excluded`: those that are excluded already. `wanted`: the state asked for; null: the one
    with the most windows. `known`: what was read on this host, this run included."""
    out = {(mark.engine, mark.window) for mark in excluded}
    levels = Levels(known.levels(), known.copy_levels())
    states_by_engine = {e.name: _states(windows[e.name], levels) for e in engines}
    measured = {e.name: metrics.measured(windows[e.name]) for e in engines}
    common_count = min((len(of_engine) for of_engine in measured.values()), default=0)
    names: list[str | None] = []
    for n in range(common_count):
        of_window = [states_by_engine[name][of_engine[n].index] for name, of_engine in measured.items()]
        usable = not any((name, of_engine[n].index) in out for name, of_engine in measured.items())
        names.append(_joined(of_window) if usable else None)
    usable_count = sum(name is not None for name in names)
    states = [name for name in names if name not in (None, NOT_KNOWN, MIXED)]
    if not any(_probed(of_engine) for of_engine in windows.values()):
        return StateVerdict(
            _no_headline("the host was not probed: its workers share a CPU, or one engine is older", wanted)
        )
    if len(states) < LEAST_KNOWN * usable_count or not states:
        sentence = (
            f"known in only {len(states)} of {usable_count} windows: it changed, or workers did not come to the probe"
        )
        return StateVerdict(_no_headline(sentence, wanted))
    return _choose(engines, measured, names, wanted, known.least_wide())


NOT_KNOWN, MIXED = "not known", "mixed"


def _choose(
    engines: Sequence[EngineRecord],
    measured: Mapping[str, Sequence[Window]],
    names: Sequence[str | None],
    wanted: str | None,
    least_wide: float | None,
) -> StateVerdict:
    counts = Counter(name for name in names if name not in (None, NOT_KNOWN, MIXED))
    by_state = {
        str(state): {
            e: [w for w, name in zip(engine_windows, names, strict=False) if name == state]
            for e, engine_windows in measured.items()
        }
        for state, _ in counts.most_common()
    }
    if wanted is not None and wanted not in by_state:
        counts_text = ", ".join(f"{state} ({count} windows)" for state, count in counts.items())
        sentence = (
            f"the state asked for, {wanted}, never came; seen: {counts_text}. Repeat the run, or ask for one of these"
        )
        check = Check(name="host state", state="bad", words=sentence)
        return StateVerdict(check, engines=engines, by_state=by_state, least_wide=least_wide)
    headline = wanted or next(iter(by_state))
    first = next(iter(measured))
    marks = [
        ExcludedWindow(engine=first, window=measured[first][n].index, reasons=[_reason(name, headline)])
        for n, name in enumerate(names)
        if name not in (None, headline)
    ]
    others = "".join(f"; {name}: {counts[name]} windows" for name in by_state if name != headline)
    sentence = f"{_state_text(headline, engines, by_state[headline], least_wide)}, {counts[headline]} windows{others}"
    check = Check(name="host state", state="good", words=sentence)
    return StateVerdict(check, headline, marks, engines, by_state, least_wide)


def _no_headline(sentence: str, wanted: str | None) -> Check:
    if wanted is None:
        return Check(name="host state", state="unknown", words=sentence)
    return Check(name="host state", state="bad", words=f"{wanted} was asked for; {sentence}")


def _reason(name: str | None, headline: str) -> str:
    if name == MIXED:
        return "the host's state changed within the window"
    if name == NOT_KNOWN:
        return "the host's state is not known: a worker did not come to the probe"
    return f"another host state: {name}; the metrics are of {headline}"


def _joined(names: Sequence[str]) -> str:
    for verdict in (NOT_KNOWN, MIXED):
        if verdict in names:
            return verdict
    return joined(names)


def _probed(windows: Sequence[Window]) -> bool:
    return any(window.probe and window.probe.complete for window in windows)


def _states(windows: Sequence[Window], levels: Levels) -> dict[int, str]:
    """Index of a window -> name of its state, from the last probe before it and the first one after."""
    probes: list[Probe | None] = []
    for window in windows:
        probes.append(window.probe)
    state_by_index = {}
    for n, window in enumerate(windows):
        before = next((p for p in reversed(probes[:n]) if p), None)
        after = next((p for p in probes[n:] if p), None)
        ends = [p for p in (before, after) if p]
        if not ends or not all(p.complete for p in ends):
            state_by_index[window.index] = NOT_KNOWN
            continue
        topologies = {_topology(p, levels) for p in ends}
        state_by_index[window.index] = topologies.pop() if len(topologies) == 1 else MIXED
    return state_by_index


def _topology(probe: Probe, levels: Levels) -> str:
    names = [_relation(probe, p.a, p.b, p.line_ns, levels.of_lines) for p in probe.pairs]
    names += [f"{what} on {_level(ns, levels.of_copies)}" for what, _, ns in _trips(probe)]
    if not names:
        return "one worker" if len(probe.workers) == 1 else "workers apart"
    return joined(names)


def _relation(probe: Probe, a: int, b: int, line_ns: float, levels: list[Level]) -> str:
    if _one_core(probe, a, b):
        return ONE_CORE
    return _level(line_ns, levels)


def _level(trip_ns: float, levels: list[Level]) -> str:
    return name_of(level_of(trip_ns, levels) if levels else 0, levels)


def _one_core(probe: Probe, a: int, b: int) -> bool:
    ratios = {w.worker: w.together_ticks / w.alone_ticks for w in probe.workers if w.alone_ticks}
    return ratios.get(a, 0) > TOGETHER and ratios.get(b, 0) > TOGETHER


def _wide(window: Window) -> Iterator[tuple[int, float]]:
    """CPU of each worker, and its ratio of the additions' ticks to the chain's."""
    return ((w.cpu, w.wide_ticks / w.chain_ticks) for w in window.workers if w.wide_ticks and w.chain_ticks)


def _siblings(windows: InState, least_wide: float | None) -> dict[int, float]:
    """CPU of a worker -> how many times as long as the least known its additions took, the median over windows: a busy sibling is of its
    worker, not of the run. Empty if that is not known."""
    if least_wide is None:
        return {}
    ratios: dict[int, list[float]] = {}
    for window in (window for engine_windows in windows.values() for window in engine_windows):
        for cpu, ratio in _wide(window):
            ratios.setdefault(cpu, []).append(ratio / least_wide)
    return {cpu: median(of_worker) for cpu, of_worker in ratios.items()}


def _siblings_text(siblings: Mapping[int, float]) -> str | None:
    """As in "siblings 1.6x", with their CPUs if only some of the workers have a busy one; None: none has."""
    busy = {cpu: ratio for cpu, ratio in siblings.items() if ratio > NOTICEABLE}
    if not busy:
        return None
    some = f" of CPU {spans(sorted(busy))}" if len(busy) < len(siblings) else ""
    return f"siblings{some} {max(busy.values()):.1f}x"


def _probes(windows: InState) -> list[Probe]:
    return [w.probe for engine_windows in windows.values() for w in engine_windows if w.probe and w.probe.complete]


def _line_ns(probes: Sequence[Probe]) -> float | None:
    trips = [pair.line_ns for probe in probes for pair in probe.pairs]
    return median(trips) if trips else None


def _trips(probe: Probe) -> Iterator[tuple[str, int, float]]:
    """Round trips to the threads of parts: what each is, its CPU, and ns."""
    return (trip for trips in part_functions("validity", "trips") for trip in trips(probe))


def _copy_ns(probes: Sequence[Probe]) -> float | None:
    trips = [ns for probe in probes for _, _, ns in _trips(probe)]
    return median(trips) if trips else None


def _row(name: str, engines: Sequence[EngineRecord], windows: InState, least_wide: float | None) -> HostState:
    probes = _probes(windows)
    rates, p50, stages = {}, {}, {}
    for engine in engines:
        for stage in metrics.stage_rows(windows[engine.name], engine.hello) if engine.hello else ():
            busy = None if stage.work_ns is None else stage.work_ns + (stage.stall_ns or 0)
            stages[f"{stage.endpoint} {stage.stage}"] = busy
        for row in metrics.workload_rows(windows[engine.name], [w.name for w in engine.plan.workloads]):
            if row.responses_per_s is not None:
                rates[row.workload] = row.responses_per_s
                p50[row.workload] = row.latency.p50
    count = max((len(engine_windows) for engine_windows in windows.values()), default=0)
    return HostState(
        name=name,
        words=_state_text(name, engines, windows, least_wide),
        sibling=max(_siblings(windows, least_wide).values(), default=None),
        windows=count,
        indexes=[window.index for window in next(iter(windows.values()))],
        line_ns=_line_ns(probes) or _copy_ns(probes),
        responses_per_s=rates,
        p50_ns=p50,
        stage_ns=stages,
    )


def _state_text(name: str, engines: Sequence[EngineRecord], windows: InState, least_wide: float | None) -> str:
    """The state with its CPUs and trips, as in "CPUs 0 and 1: one-l3 (line 91 ns, siblings 1.3x)"."""
    probes, siblings = _probes(windows), _siblings_text(_siblings(windows, least_wide))
    trips = [
        f"{noun} {ns:.0f} ns" for noun, ns in (("line", _line_ns(probes)), ("copy", _copy_ns(probes))) if ns is not None
    ]
    trips += [siblings] if siblings and ONE_CORE not in name else []
    of_parts = {cpu for probe in probes for _, cpu, _ in _trips(probe)}
    cpus = sorted(of_parts | {worker.cpu for engine in engines for worker in engine.plan.workers})
    where = (
        f"CPUs {spans(cpus)}"
        if len(cpus) > MOST_NAMED
        else f"CPU{'s' if len(cpus) > 1 else ''} {' and '.join(map(str, cpus))}"
    )
    return f"{where}: {name}" + (f" ({', '.join(trips)})" if trips else "")
