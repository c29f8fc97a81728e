"""Xen's Credit2 scheduler, as in xen/common/sched/credit2.c, one queue for all cores.

Modelled: credits of 1 ns that the heaviest burns at 1 a ns and others faster (`t2c_update`), a queue in order of credit, the reset
of all credits when the next vCPU has none (`reset_credit`), the time that the next vCPU may run (`csched2_runtime`: until its credit is that of the
first in the queue, at least 0.5 ms or the rate limit of 1 ms, at most 10 ms), resistance to migration and its compensation (`runq_candidate`,
`csched2_schedule`), preemption of the vCPU with the least credit by one that wakes (`runq_tickle`, `tickle_score`).
Not modelled: caps, soft affinity, balance between queues.
"""

from bisect import insort
from collections.abc import Sequence

import numpy as np

from windtunnel.sharing.simulate.plan import Machine, Tenant
from windtunnel.sharing.simulate.policy import Policy, Thread

MS = 1_000_000
INITIAL = 10 * MS
LEAST = -INITIAL
CARRIED = LEAST_TIMER = MS // 2
MOST_TIMER = INITIAL
RATELIMIT = MS
MIGRATE_RESIST = MS // 2
MIGRATE_COMPENSATION = 50_000
TOLERANCE = 50_000


class Vcpu(Thread):
    """A vCPU with its credit, in ns of the heaviest."""

    def __init__(self, index: int, tenant: Tenant, weight: int):
        super().__init__(index, tenant, weight)
        self.credit = INITIAL
        self.began = 0


class Credit2(Policy[Vcpu]):
    """All cores share one queue; `slice_ns` is not used."""

    def __init__(self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator):
        super().__init__(machine, slice_ns, cores, rng)
        self.queue: list[Vcpu] = []
        self.all: list[Vcpu] = []
        self.heaviest = 1

    def thread(self, index: int, tenant: Tenant, weight: int) -> Vcpu:
        v = Vcpu(index, tenant, weight)
        self.all.append(v)
        self.heaviest = max(self.heaviest, weight)
        v.core = self.cores[index % len(self.cores)]
        return v

    def wake(self, thread: Vcpu, now: int) -> int | None:
        insort(self.queue, thread, key=_order)
        allowed = self.allowed(thread)
        idle = [core for core in allowed if self.running[core] is None]
        if idle:
            return thread.core if thread.core in idle else idle[0]
        running = {core: current for core in allowed if (current := self.running[core]) is not None}
        scores = {core: self._score(thread, core, current, now) for core, current in running.items()}
        if scores.get(thread.core, 0) > 0:
            return thread.core
        best = max(allowed, key=lambda core: scores[core])
        return best if scores[best] > 0 else None

    def _score(self, v: Vcpu, core: int, running: Vcpu, now: int) -> int:
        if now - running.began < RATELIMIT - TOLERANCE:
            return -1
        return v.credit - running.credit - (MIGRATE_RESIST if v.core != core else 0)

    def charge(self, thread: Vcpu, ran_ns: int, now: int) -> None:
        thread.credit = max(thread.credit - ran_ns * self.heaviest // thread.weight, LEAST)

    def block(self, thread: Vcpu, now: int) -> None:
        """It is in no queue while it runs."""

    def choose(self, core: int, current: Vcpu | None, now: int) -> Vcpu | None:
        if current is not None and now - current.began < RATELIMIT:
            return current
        chosen, first = self._candidate(core, current)
        if chosen is None:
            return None
        if chosen is not current:
            self.queue.remove(chosen)
            chosen.began = now
            if current is not None:
                insort(self.queue, current, key=_order)
        if first and chosen.credit <= 0:
            self._reset(chosen)
        if chosen.core != core:
            chosen.credit += MIGRATE_COMPENSATION
            chosen.core = core
        return chosen

    def _candidate(self, core: int, current: Vcpu | None) -> tuple[Vcpu | None, bool]:
        """The vCPU that runs next, and whether it was the first in the queue that counts."""
        first = True
        for v in self.queue:
            resisted = v.core != core and current is not None and current.credit + MIGRATE_RESIST > v.credit
            if resisted or not self.may(v, core):
                first = False
                continue
            if current is None or v.credit > current.credit:
                return v, first
            break
        return current, first

    def _reset(self, chosen: Vcpu) -> None:
        more = INITIAL * (2 if chosen.credit == LEAST else 1)
        for v in self.all:
            v.credit = min(v.credit + more, INITIAL + CARRIED)

    def next_time(self, core: int, thread: Vcpu, now: int) -> int | None:
        """`csched2_runtime`."""
        if not self.queue:
            return None if len(self.cores) == 1 else now + MOST_TIMER
        least = max(LEAST_TIMER, thread.began + RATELIMIT - now)
        waits = self.queue[0].credit
        credit = thread.credit - waits if waits > 0 else thread.credit
        return now + min(max(credit * thread.weight // self.heaviest, least), MOST_TIMER)

    def weigh(self, thread: Vcpu, weight: int, now: int) -> None:
        thread.weight = weight
        self.heaviest = max(v.weight for v in self.all)


def _order(v: Vcpu) -> int:
    return -v.credit
