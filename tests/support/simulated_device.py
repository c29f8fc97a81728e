"""Simulated devices: what tests and benches search on. No packet moves and no time passes; nothing here is a
measurement.

A device is a server of `capacity` packets per second behind a buffer, with one or more of the faults of real ones. It
keeps a clock of its own, which every trial moves on by its duration and the overhead.
"""

import math
from dataclasses import dataclass, field
from random import Random
from statistics import NormalDist

import numpy as np

from windtunnel.measure.search.bursts import BurstResult
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.latency import Latencies
from windtunnel.measure.search.trials import TrialResult

BUCKETS = 20_000
"""Buckets of a simulated trial's latencies, of like counts."""
_DEPTHS = -np.log(1 - np.arange(1, BUCKETS) / BUCKETS)
"""Upper ends of all buckets but the last, of the exponential distribution with mean 1."""


@dataclass
class Device:
    """Call it with a load (per second) and a duration (seconds): a trial. The same seed and calls give the same results."""

    capacity: float
    """Packets per second."""
    buffer: int = 0
    """Packets; empty before every trial."""
    noise: float = 0.0
    """Sigma of the log-normal factor by which each trial's capacity differs."""
    drift_per_s: float = 0.0
    """Share of its capacity that it gains every second, linearly."""
    stall_every_s: float = math.inf
    stall_s: float = 0.0
    """Length of a stall, in which everything is lost, whatever the load."""
    collapse: float = 0.0
    """Packets that are not forwarded for each packet that is too much, as when a device spends its cycles on dropping."""
    generator: float = math.inf
    """Packets per second that can be sent at all."""
    overhead_s: float = 0.0
    """Time that each trial takes beside sending: start-up, waiting."""
    wait_ns: float | None = None
    """Mean latency of a message on an empty device. With load, latency is that of an M/M/1 queue: this, and exponentially distributed with the rate
    that is left. None: trials have no latencies."""
    seed: int = 0
    clock_s: float = 0.0
    random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def __call__(self, load: float, duration_s: float) -> TrialResult:
        intended = max(1, round(load * duration_s))
        sent = min(intended, math.floor(self.generator * duration_s)) if self.generator < math.inf else intended
        stalled_s = self._stalled_until(self.clock_s + duration_s) - self._stalled_until(self.clock_s)
        arriving = sent - math.ceil(sent * stalled_s / duration_s)
        rate = self.capacity_at(self.clock_s) * math.exp(self.random.gauss(0.0, self.noise))
        room = rate * (duration_s - stalled_s) + self.buffer
        forwarded = min(arriving, max(0, math.floor(room - self.collapse * max(0.0, arriving - room))))
        self.clock_s += duration_s + self.overhead_s
        return TrialResult(
            load,
            duration_s,
            sent,
            forwarded,
            intended - sent,
            took_s=duration_s + self.overhead_s,
            latencies=self._latencies(load, rate, forwarded, intended),
        )

    def burst(self, length: int, rate: float) -> BurstResult:
        """Sends `length` packets at `rate` per second into the empty buffer, which is then left to drain."""
        sending_s = length / rate
        room = self.capacity_at(self.clock_s) * math.exp(self.random.gauss(0.0, self.noise)) * sending_s + self.buffer
        self.clock_s += sending_s + self.overhead_s
        return BurstResult(length, min(length, math.floor(room)))

    def capacity_at(self, clock_s: float) -> float:
        return self.capacity * (1 + self.drift_per_s * clock_s)

    def truth(self, goal: Goal, clock_s: float = 0.0) -> float | None:
        """The load per second at which the goal's own rule is as likely to say lower as upper bound, were every
        trial of the full length and the duration sum spent at each load; the device being as it is at `clock_s`.
        None: at no load, because stalls alone spoil more trials than the goal allows for. (A stalling device with
        noise has no truth here that is easy to state: not asked for.)"""
        duration_s, trials = goal.final_trial_duration_s, math.ceil(goal.duration_sum_s / goal.final_trial_duration_s)
        tolerated = math.floor(trials * goal.exceed_ratio)
        if self.stall_s / duration_s > goal.loss_ratio and self._spoilt(trials, duration_s) > tolerated:
            return None
        spoilt = NormalDist().inv_cdf(_even_chance(trials, tolerated)) if self.noise else 0.0
        rate = self.capacity_at(clock_s) * math.exp(self.noise * spoilt) + self.buffer / duration_s
        by_loss = rate * (1 + self.collapse) / (1 - goal.loss_ratio + self.collapse)
        if goal.latency is None or self.wait_ns is None:
            return by_loss
        left_ns = goal.latency.limit_ns - self.wait_ns
        if left_ns <= 0:
            return None
        return min(by_loss, rate + 1e9 * math.log(1 - goal.latency.share) / left_ns)

    def _latencies(self, load: float, rate: float, forwarded: int, intended: int) -> Latencies | None:
        """Latencies with the expected count in each bucket."""
        if self.wait_ns is None:
            return None
        left = max(rate - load, 1e-3 * rate)
        edges = np.rint(self.wait_ns + _DEPTHS * (1e9 / left)).astype(np.int64)
        ranks = forwarded * np.arange(1, BUCKETS + 1) // BUCKETS
        some = np.diff(ranks, prepend=0) > 0
        ns = np.append(edges, 100 * edges[-1])[some]
        return Latencies(tuple(ns.tolist()), tuple(ranks[some].tolist()), intended - forwarded)

    def _stalled_until(self, clock_s: float) -> float:
        """Seconds of stall since the clock's zero: each period ends with one."""
        if self.stall_every_s == math.inf:
            return 0.0
        periods, within = divmod(clock_s, self.stall_every_s)
        return periods * self.stall_s + max(0.0, within - (self.stall_every_s - self.stall_s))

    def _spoilt(self, trials: int, duration_s: float) -> int:
        """The most trials of so many in a row that a stall can touch."""
        touched = (duration_s + self.stall_s) / (duration_s + self.overhead_s)
        whole_s = trials * (duration_s + self.overhead_s)
        return min(trials, math.ceil(touched) * math.ceil(whole_s / self.stall_every_s))


def _even_chance(trials: int, tolerated: int) -> float:
    """The chance p of a high-loss trial at which P(at most `tolerated` of `trials`) = 0.5."""

    def kept(chance: float) -> float:
        return sum(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(tolerated + 1))

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) > 0.5 else (low, middle)
    return (low + high) / 2
