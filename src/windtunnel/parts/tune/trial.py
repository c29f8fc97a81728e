"""One trial: a candidate against the incumbent, until it is better, worse, or out of pairs; and its latency in an open loop."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from windtunnel.format import duration
from windtunnel.measure.study.constraints import Combination
from windtunnel.parts.tune.goal import Goal
from windtunnel.parts.tune.rig import Measured, Rig, same_state
from windtunnel.parts.tune.tuning_record import Failure, LatencyRecord, Outcome, PairRecord, TrialRecord, differences
from windtunnel.stats.looks import MOST_PAIRS, Look, look
from windtunnel.stats.median import LEAST_RUNS, interval

FAILED_RUNS = 3
"""Invalid runs in a row after which a trial has failed."""
MOST_ATTEMPTS = 2 * MOST_PAIRS
"""Most pairs that are run if some do not count."""
FAR = 2.0
"""Natural logarithm of a ratio: what a latency that was not bounded counts for, as a multiple of the limit."""


@dataclass(frozen=True)
class Candidate:
    """Settings that are to be tried."""

    point: Combination | None
    """None: the file, if it is not a point of the space."""
    sets: tuple[str, ...]
    text: str
    why: str
    move: int | None
    workers: int


@dataclass(frozen=True)
class Incumbent:
    """The best settings up to now."""

    number: int = 0
    sets: tuple[str, ...] = ()
    meets: bool = True
    """Whether it meets the SLO, if there is one."""
    workers: int = 0
    gain: float = 0.0
    """Gain over the file: natural logarithm of the ratio of throughput."""


class Interrupted(Exception):
    """The user asked for the end: this trial is not finished."""


@dataclass
class Trial:
    """A trial that runs. `run` raises Interrupted, and UserError if a run cannot be kept."""

    number: int
    candidate: Candidate
    incumbent: Incumbent
    goal: Goal
    rig: Rig
    directory: Path
    earlier: Sequence[Sequence[float]]
    """Differences of the pairs of each earlier trial."""
    pairs: list[PairRecord] = field(default_factory=list)
    failure: Failure | None = None
    reasons: list[str] = field(default_factory=list)
    _look: Look | None = None

    def run(self) -> TrialRecord:
        started, began = datetime.now(UTC), time.monotonic()
        latency = self.measure_latency() if self.goal.latency else None
        missed = latency is not None and latency.met is False
        if self.goal.pairs and self.number and not self.failure and not missed:
            self._compare()
        look = self._look
        outcome = self._outcome(latency)
        return TrialRecord(
            number=self.number,
            started=started,
            seconds=round(time.monotonic() - began, 3),
            point=list(self.candidate.point) if self.candidate.point is not None else None,
            sets=list(self.candidate.sets),
            words=self.candidate.text,
            why=self.candidate.why,
            move=self.candidate.move,
            incumbent=self.incumbent.number,
            outcome=outcome,
            failure=self.failure,
            reasons=self.reasons,
            pairs=self.pairs,
            difference=look.difference if look else None,
            low=look.low if look else None,
            high=look.high if look else None,
            latency=latency,
            workers=self.candidate.workers,
            gain=self.incumbent.gain + look.difference if look else 0.0 if self.number == 0 else None,
        )

    def measure_latency(self) -> LatencyRecord | None:
        """The candidate in the open loop, run again until the interval of the median is known, or cannot be within the SLO any more: with few runs its
        upper end is the slowest one. None: it failed."""
        percentile, slo = self.goal.latency, self.goal.slo
        assert percentile is not None
        values: list[float | None] = []
        failed = 0  # in a row
        numbers = count(1)
        while len(values) < LEAST_RUNS:
            run = self.directory / "open" / f"{next(numbers):02}"
            measured = self.rig.alone([*self.candidate.sets, *self.goal.offered], run)
            heed(measured)
            if measured.failure:
                failed += 1
                if self._failed(measured, failed):
                    return None
                continue
            failed = 0
            values.append(measured.latency.get(percentile))
            if slo and ((last := values[-1]) is None or last > slo.limit_ns):
                self.reasons.append(_too_slow(percentile, last, len(values), slo.limit_ns))
                break
        known = [value for value in values if value is not None]
        low, high = interval(known) if len(known) == len(values) else (None, None)
        met = None if slo is None else high is not None and high <= slo.limit_ns
        return LatencyRecord(ns=values, low=low, high=high, met=met)

    def _compare(self) -> None:
        """Runs pairs until a look decides."""
        own: list[float] = []
        failed = 0
        for number in range(1, MOST_ATTEMPTS + 1):
            incumbent, candidate = self.rig.pair(self.incumbent.sets, self.candidate.sets, self.directory, number)
            heed(incumbent, candidate)
            pair = pair_record(incumbent, candidate)
            self.pairs.append(pair)
            if failed_side := next((side for side in (candidate, incumbent) if side.failure), None):
                failed += 1
                if not own and self._failed(failed_side, failed, of_candidate=failed_side is candidate):
                    return
                if failed == FAILED_RUNS:
                    break
                continue
            failed = 0
            if pair.excluded is None:
                own = differences(self.pairs)
                self._look = look(own, self.earlier)
                if self._look.decided or len(own) == MOST_PAIRS:
                    break
        if not own and not self.failure:
            self.failure, self.reasons = "invalid", [self.pairs[-1].excluded or "no pair of one host state"]

    def _failed(self, measured: Measured, in_a_row: int, of_candidate: bool = True) -> bool:
        """Whether the trial has failed. A candidate that crashes, hangs or is refused would do so again."""
        if in_a_row < FAILED_RUNS and (measured.failure == "invalid" or not of_candidate):
            return False
        self.failure = measured.failure
        self.reasons = list(measured.reasons)
        return True

    def _outcome(self, latency: LatencyRecord | None) -> Outcome:
        if self.failure:
            return "failed"
        if latency is not None and latency.met is False:
            return "misses the SLO"
        look = self._look
        if self.goal.objective == "pareto" or self.number == 0:
            return "measured"
        if self.goal.objective == "cores":
            fewer = not self.incumbent.meets or self.candidate.workers < self.incumbent.workers
            return "better" if fewer else "meets the SLO"
        assert look is not None
        if not self.incumbent.meets:
            self.reasons.append("it meets the SLO, and the incumbent does not")
            return "better"
        return "better" if look.better else "worse" if look.worse else "no difference shown"


def violation(latency: LatencyRecord | None, limit_ns: float | None) -> float | None:
    """How far the latency is above the SLO, natural logarithm of the ratio; 0 or less: it is met. None: there is no SLO."""
    from math import log

    if latency is None or limit_ns is None:
        return None
    if latency.high is not None:
        return log(latency.high / limit_ns)
    known = [value for value in latency.ns if value is not None]
    return log(max(known) / limit_ns) if len(known) == len(latency.ns) and known else FAR


def pair_record(incumbent: Measured, candidate: Measured) -> PairRecord:
    """The record of a pair, with the reason if it does not count."""
    reason = None
    for name, side in (("candidate", candidate), ("incumbent", incumbent)):
        if side.failure:
            reason = f"{name} {side.failure}: {'; '.join(side.reasons)}"
    if reason is None and not (incumbent.rate and candidate.rate):
        reason = "nothing was received"
    if reason is None and not same_state(incumbent, candidate):
        reason = f"two states of the host: {incumbent.where.state} and {candidate.where.state}"
    return PairRecord(incumbent=incumbent.rate, candidate=candidate.rate, excluded=reason)


def _too_slow(percentile: str, ns: float | None, run: int, limit_ns: float) -> str:
    reason = "more messages were lost or unsent than it leaves" if ns is None else f"is {duration(ns)}"
    return f"{percentile} of run {run} {reason}, above {duration(limit_ns)}"


def heed(*measured: Measured) -> None:
    """Raises Interrupted if a run was interrupted."""
    if any(run.interrupted for run in measured):
        raise Interrupted
