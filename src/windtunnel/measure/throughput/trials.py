"""Runs as trials of a search.

A trial offers one rate in an open loop. Lost is what fell due while it was measured and had no response when the drain was over:
lost by the data plane, still in flight, or unsent because every place in flight, or the port, was taken. What a client too slow
for the rate left unsent is counted separately.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.host import levels
from windtunnel.measure.executor import Executor, Job, ThisHost
from windtunnel.measure.search import Goal, Latencies, TrialResult
from windtunnel.measure.throughput.pauses import Patience, deciding_pause
from windtunnel.measure.validity import host_states, readings_of
from windtunnel.runs import Run
from windtunnel.runs.histogram import highest_of_bucket, merge
from windtunnel.runs.metrics import ratio, seconds
from windtunnel.scenario import Scenario, load
from windtunnel.scenario.keys import Client
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.wires import has

WARMUP_NS = 100_000_000
"""Warm-up of a trial: first touches of memory are no part of it. Longer ones are the final trials' own time."""
HOST = ("windows", "clock", "host state")
"""Checks of a run that are about the host alone: a trial that fails one is run again."""
MOST_PAUSED = 30
"""Trials in a row that a pause may have decided, if they take a second each; from the last of them on, pauses count."""
DATA_PLANE = ("generator", "no responses")
"""Reasons that a trial at too high a rate has to have; they are what is searched for."""


class Interrupted(Exception):
    """The user asked for the end."""


@dataclass
class Runs:
    """Runs the trials of one search, each into a run directory of its own below `directory`."""

    scenario: Scenario
    directory: Path
    interrupts: Interrupts
    goals: Sequence[Goal] = ()
    finished: int = 0
    executor: Executor = field(default_factory=ThisHost)
    on_start: Callable[[str], None] = lambda description: None
    """Gets a description of the next run."""
    include_invalid: bool = False
    """Rejected metrics count like others."""
    included: list[str] = field(default_factory=list)
    """Invalid runs that counted."""
    reference: Run | None = None
    """The first run that the host did not affect. Trials in another host state than its are excluded."""
    other_states: int = 0
    """Trials that were excluded for that alone."""
    patience: Patience = field(default_factory=lambda: Patience(MOST_PAUSED))
    """Patience with pauses of the host."""
    readings: levels.Readings = field(init=False)
    """Readings of this host, this search's own included."""

    def __post_init__(self) -> None:
        self.readings = levels.read_kept(self.executor.host)
        self.patience.given_up = self.scenario.validity.max_preempted >= 1

    def trial(self, load: float, duration_s: float) -> TrialResult:
        """One trial at `load` messages per second. Raises UserError for a run that broke, Interrupted."""
        began = time.monotonic()
        changed = at_rate(self.scenario, load, round(duration_s * 1e9), WARMUP_NS)
        run = self.run(changed, f"{load:,.0f} /s for {duration_s:g} s")
        took_s = time.monotonic() - began
        if not _windows(run):
            raise UserError(f"{run.path}: no client, so no responses can be counted")
        counts = balance(run)
        excluded = self.exclusion_reason(run) or self._paused(run, load)
        if excluded is None and self.reference is None:
            self.reference = run
        slow = any(reason.startswith("generator:") for reason in run.record.verdict.reasons)
        return TrialResult(
            load=load,
            duration_s=duration_s,
            sent=counts.offered - (counts.unsent if slow else 0),
            forwarded=counts.offered - counts.unsent - counts.lost,
            unsent=counts.unsent if slow else 0,
            took_s=took_s,
            excluded=excluded,
            latencies=latencies(run, counts),
            details=run.path.name,
        )

    @property
    def state(self) -> str | None:
        """The host state that is searched in, by the levels that are known now: the one asked for, else the reference's; None: not known."""
        if self.scenario.validity.state or self.reference is None:
            return self.scenario.validity.state
        return self._judged(self.reference).headline

    def exclusion_reason(self, run: Run) -> str | None:
        """Why the run shows the host and not the data plane, as text; None if it does not, or counts nevertheless."""
        self.readings.update(readings_of(run.windows))
        reason = _host_reason(run)
        if reason and not self._include(run):
            return reason
        if reason := self._other_state(run):
            self.other_states += 1
        return reason

    def _paused(self, run: Run, load: float) -> str | None:
        """Which pause excludes the trial, as text; None: none may have decided it, or pauses count."""
        pause = deciding_pause(run, load, self.goals)
        return pause if self.patience.excludes(pause is not None) else None

    def affected(self, run: Run) -> str | None:
        """Why the host makes a run unfit as a reference, as text; None if it does not."""
        if reason := _host_reason(run):
            return reason
        self.readings.update(readings_of(run.windows))
        judged = self._judged(run)
        if judged.headline is None and any(window.probe for windows in run.windows.values() for window in windows):
            return f"host state: {judged.check.words if judged.check else 'not known'}"
        return None

    def _other_state(self, run: Run) -> str | None:
        """Why a run is not of the reference's host state, as text; None if it is, or that state is not known."""
        if self.reference is None or self.scenario.validity.state:
            return None
        reference_state, run_state = self._judged(self.reference), self._judged(run)
        if reference_state.headline in (None, run_state.headline):
            return None
        state_text = run_state.headline or (run_state.check.words if run_state.check else "not known")
        return f"host state: {state_text}; the search is of {reference_state.headline}"

    def _judged(self, run: Run) -> host_states.StateVerdict:
        """Its host state by the levels that are known now: a state has no name of its own until a second one was seen."""
        return host_states.judge(run.record.engines, run.windows, (), self.readings, None)

    def run(self, scenario: Scenario, description: str) -> Run:
        """Runs into the next directory. Raises UserError if the run broke, Interrupted if somebody asked for its end."""
        self.finished += 1
        self.on_start(description)
        job = Job((scenario,), (self.directory / f"trial-{self.finished:03}",))
        (outcome,) = self.executor.execute_job(job, self.interrupts)
        if outcome.interrupted:
            raise Interrupted
        run = outcome.kept_run()
        broken = [reason for reason in outcome.verdict.reasons if not reason.startswith((*HOST, *DATA_PLANE))]
        if broken and not self._include(run):
            raise UserError(f"{run.path}: the run failed: {'; '.join(broken)}")
        return run

    def _include(self, run: Run) -> bool:
        """Whether a run counts that would not without --include-invalid; then it is noted."""
        if not (self.include_invalid and run.rejected):
            return False
        if run.path.name not in self.included:
            self.included.append(run.path.name)
        return True


def _host_reason(run: Run) -> str | None:
    """The first reason of the run's checks that is about the host; None if there is none."""
    return next((reason for reason in run.record.verdict.reasons if reason.startswith(HOST)), None)


def latencies(run: Run, counts: "Balance") -> Latencies:
    """Latencies of the messages that fell due while it was measured, from their intended send times; without those that got no response."""
    windows = [window for window in _windows(run) if window.phase in ("measure", "drain")]
    merged = merge(workload.latency for window in windows for workload in window.workloads)
    buckets = [(highest_of_bucket(lowest, merged.bits), n) for lowest, n in merged.counts] if merged else []
    return Latencies.from_counts(buckets, counts.lost + counts.unsent)


@dataclass(frozen=True)
class Balance:
    """Messages of all workloads that fell due while it was measured, and what became of them by the end of the drain."""

    offered: int
    unsent: int
    lost: int
    """Sent, and without a response in time."""


def balance(run: Run) -> Balance:
    """Counts of the measured windows and the drain, without what waited already when the measurement began."""
    windows = _windows(run)
    warmup, measured, drain = ([w for w in windows if w.phase == p] for p in ("warmup", "measure", "drain"))
    backlog = sum(w.unsent for w in warmup[-1].workloads) if warmup else 0
    offered = sum(w.offered for window in measured for w in window.workloads)
    unsent = min(max(sum(w.unsent for w in windows[-1].workloads) - backlog, 0), offered)
    lost = sum(w.lost for window in (*measured, *drain) for w in window.workloads)
    lost += sum(w.in_flight for w in windows[-1].workloads)
    return Balance(offered, unsent, min(lost, offered - unsent))


def responses_per_s(run: Run) -> float:
    """Responses per second over all measured windows, excluded or not: where to start a search, and no result."""
    measured = [window for window in _windows(run) if window.phase == "measure"]
    return (ratio(sum(w.responses for window in measured for w in window.workloads), seconds(measured))) or 0.0


def at_rate(scenario: Scenario, rate: float | None, duration_ns: int, warmup_ns: int) -> Scenario:
    """The scenario as an open loop at `rate` messages per second; None: as a closed loop."""
    client = (scenario.client or Client()).model_copy(update={"rate": rate})
    times = {
        "duration": duration_ns,
        "warmup": warmup_ns,
        # one window: each that ends keeps main and the supervisor busy for 20 ms, on two cores at the cost of a worker
        "window": duration_ns,
    }
    return scenario.model_copy(update={"client": client, **times})


def _windows(run: Run) -> list[Window]:
    """Windows of the engine that has the client."""
    return next(
        (
            engine_windows
            for engine_windows in run.windows.values()
            if any(window.workloads for window in engine_windows)
        ),
        [],
    )


def searchable(file: Path, sets: list[str]) -> Scenario:
    """The scenario, checked for a search. Raises UserError that names file and line."""
    scenario = load(file, sets)
    try:
        _check(scenario)
    except Refusal as refusal:
        raise scenario.source.error(refusal) from None
    return scenario


def _check(scenario: Scenario) -> None:
    if has(scenario, "silent"):
        problem = f'the wire "{scenario.wire.kind}" has no responses, so there is no loss to search by'
        raise Refusal(("wire", "kind"), problem, "a wire with both sides, or with a peer that responds")
    for index, workload in enumerate(scenario.workload):
        own = next((key for key in ("phase", "rate", "on") if getattr(workload, key)), None)
        if own:
            problem = (
                f"workload {index} has its own load (`{own}`): a search sets the rate of all workloads with client.rate"
            )
            raise Refusal(("workload", index, own), problem, f"remove {own}; `share` divides the rate among workloads")
