"""Xen's Credit2 scheduler, as in xen/common/sched_credit2.c of 4.12.

Modelled: one runqueue of all cores, as of one socket, in order of credits (`runq_insert`); credits burnt in ns, slower with a larger weight
(`t2c_update`); the candidate of a core, which waits for another core's vCPU only if it has more credits (`runq_candidate`, migration
resistance); the turn that ends where the credits are those of the first that waits, of 0.5 to 10 ms (`csched2_runtime`); the reset of all
credits when the best one has none left (`reset_credit`); a wake that takes the core of the fewest credits (`runq_tickle`); the rate limit.
The vCPU that was just running is not in the runqueue while the next turn is computed (it is added after the switch), so that two vCPUs
alternate every 10 ms, as they do in Xen.
Not modelled: several runqueues and the balance of load among them, caps, soft affinity, yields, hyperthreads.

The least turn of 0.5 ms holds whatever slice is asked for: Credit2 has none. Unlike Credit, nothing happens by periods.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import Machine, Plan, Tenant
from windtunnel_sharing.simulate.policy import Policy, Thread

US = 1000
CREDIT_INIT_NS = 10_000 * US
LEAST_TURN_NS, MOST_TURN_NS = 500 * US, CREDIT_INIT_NS
CARRYOVER_NS = LEAST_TURN_NS
"""Credits above a fresh start that a reset leaves at most."""
MIGRATION_RESISTANCE_NS = 500 * US
TOLERANCE_NS = 50 * US
"""A wake does not ask a core to choose whose vCPU has longer to run by the rate limit."""


class Vcpu(Thread):
    """A vCPU with its credits: ns of CPU time of the heaviest one."""

    def __init__(self, index: int, tenant: Tenant, weight: int):
        super().__init__(index, tenant, weight)
        self.credit = CREDIT_INIT_NS
        self.residual = 0
        self.began = 0
        """Since when it runs."""
        self.ends = 0
        """When its turn ends."""
        self.charged = 0
        """Until when its credits are burnt, while it runs."""


class Credit2(Policy[Vcpu]):
    """The cores of one runqueue. A turn follows from the credits: `slice_ns` is not used."""

    def __init__(
        self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator, ratelimit_ns: int = 0
    ):
        """The paper runs Credit2 without a rate limit; Xen's default is 1 ms."""
        super().__init__(machine, slice_ns, cores, rng)
        self.ratelimit_ns = ratelimit_ns
        self.queue: list[Vcpu] = []
        self.all: list[Vcpu] = []
        self.heaviest = 1
        self.called: set[int] = set()
        """Idle cores that a wake has called, and that have not chosen yet."""

    def thread(self, index: int, tenant: Tenant, weight: int) -> Vcpu:
        self.all.append(Vcpu(index, tenant, weight))
        self.heaviest = max(self.heaviest, weight)
        return self.all[-1]

    def weigh(self, thread: Vcpu, weight: int, now: int) -> None:
        thread.weight = weight
        self.heaviest = max(v.weight for v in self.all)

    def insert(self, v: Vcpu) -> None:
        """Behind those of as many credits."""
        at = next((i for i, other in enumerate(self.queue) if v.credit > other.credit), len(self.queue))
        self.queue.insert(at, v)

    def wake(self, thread: Vcpu, now: int) -> int | None:
        """An idle core, else that where it has most more credits than what runs."""
        self.insert(thread)
        allowed = self.allowed(thread)
        idle = [core for core in allowed if self.running[core] is None and core not in self.called]
        if idle:
            core = thread.core if thread.core in idle else idle[0]
            self.called.add(core)
            return core
        gains = {core: self._gain(thread, core, running, now) for core in allowed if (running := self.running[core])}
        best = max(gains, key=lambda core: (gains[core], -core), default=None)
        return best if best is not None and gains[best] > 0 else None

    def _gain(self, thread: Vcpu, core: int, running: Vcpu, now: int) -> int:
        if now - running.began + TOLERANCE_NS < self.ratelimit_ns:
            return 0
        resistance = MIGRATION_RESISTANCE_NS if thread.core != core else 0
        return thread.credit - (running.credit - self._not_burnt(running, now)) - resistance

    def _not_burnt(self, running: Vcpu, now: int) -> int:
        """Credits of the time since it was charged."""
        return (now - running.charged) * self.heaviest // running.weight

    def charge(self, thread: Vcpu, ran_ns: int, now: int) -> None:
        burnt, thread.residual = divmod(ran_ns * self.heaviest + thread.residual, thread.weight)
        thread.credit -= burnt
        thread.charged = now

    def block(self, thread: Vcpu, now: int) -> None:
        """It is in no queue while it runs."""

    def choose(self, core: int, current: Vcpu | None, now: int) -> Vcpu | None:
        self.called.discard(core)
        if current is not None and now - current.began < self.ratelimit_ns:
            return current
        chosen = self._candidate(core, current)
        if chosen is None:
            return None
        if chosen is not current:
            self.queue.remove(chosen)
            chosen.began = chosen.charged = now
        if chosen.credit <= 0:
            self._reset(chosen.credit, now)
        chosen.ends = now + self._turn_ns(chosen, now)
        if current is not None and chosen is not current:
            self.insert(current)
        return chosen

    def _candidate(self, core: int, current: Vcpu | None) -> Vcpu | None:
        for v in self.queue:
            if core not in self.allowed(v):
                continue
            if current is None or v.credit > current.credit + (MIGRATION_RESISTANCE_NS if v.core != core else 0):
                return v
        return current

    def _reset(self, best: int, now: int) -> None:
        """Of all, also of those that sleep: nobody's order changes."""
        added = CREDIT_INIT_NS * (1 + max(0, -best) // CREDIT_INIT_NS)
        running = {v.index for v in self.running.values() if v is not None}
        for v in self.all:
            most = CREDIT_INIT_NS + CARRYOVER_NS + (self._not_burnt(v, now) if v.index in running else 0)
            v.credit = min(v.credit + added, most)

    def _turn_ns(self, v: Vcpu, now: int) -> int:
        """Until its credits are those of the first that waits, or 0."""
        credit = v.credit - max(self.queue[0].credit if self.queue else 0, 0)
        least = max(LEAST_TURN_NS, self.ratelimit_ns - (now - v.began))
        return max(least, min(max(credit, 0) * v.weight // self.heaviest, MOST_TURN_NS))

    def next_time(self, core: int, thread: Vcpu, now: int) -> int | None:
        return max(thread.ends, now)


def credit2(plan: Plan, rng: np.random.Generator) -> Credit2:
    return Credit2(plan.machine, plan.slice_ns, range(plan.machine.cores), rng)
