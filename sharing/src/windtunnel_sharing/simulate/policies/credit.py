"""Xen's Credit scheduler, as in xen/common/sched/credit.c (4.12 and later).

Modelled: a queue a core in order of priority (`__runq_insert`: behind those of the same), BOOST for a vCPU that wakes with credits left,
until the next tick (`csched_unit_wake`, `csched_unit_acct`), credits burnt in whole numbers with a residual (`burn_credits`), the
accounting every slice that gives whole credits by weight, rounded up (`csched_acct`), UNDER and OVER, the bounds on credits, the end of
earning, the rate limit (`csched_schedule`), and cores that take work of a higher priority from other cores (`csched_load_balance`).
Not modelled: caps, affinity by nodes, hyperthreads, the migration of the running vCPU (`_csched_cpu_pick` at a tick).

Xen has 10 credits a ms and slices of whole ms. With microsecond slices one credit is a microsecond: 50 us shared by 32 then give each
ceil(50/32) = 2 credits where 1.56 are due, 28% too many. PvCC shows the same.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import Machine, Plan, Tenant
from windtunnel_sharing.simulate.policy import Policy, Thread, lightest

BOOST, UNDER, OVER, IDLE = 0, -1, -2, -64
MS = 1_000_000
XEN_CREDIT_NS = MS // 10
PVCC_CREDIT_NS = 1000
XEN_RATELIMIT_NS = MS
TICKS = 3
"""A slice."""


class Vcpu(Thread):
    """A vCPU with its credits."""

    def __init__(self, index: int, tenant: Tenant, weight: int):
        super().__init__(index, tenant, weight)
        self.credit = 0
        self.residual = 0
        self.priority = UNDER
        self.earns = False
        self.began = 0
        """Start of its turn."""
        self.placed = False


class Credit(Policy[Vcpu]):
    """The pool of `cores`, with an accounting of its own."""

    def __init__(
        self,
        machine: Machine,
        slice_ns: int,
        cores: Sequence[int],
        rng: np.random.Generator,
        credit_ns: int = XEN_CREDIT_NS,
        ratelimit_ns: int = XEN_RATELIMIT_NS,
    ):
        super().__init__(machine, slice_ns, cores, rng)
        self.account_ns = slice_ns
        self.credit_ns = credit_ns
        self.ratelimit_ns = min(ratelimit_ns, slice_ns)
        self.full = max(slice_ns // credit_ns, 1)
        """Credits of one slice."""
        self.queues: dict[int, list[Vcpu]] = {core: [] for core in cores}
        self.all: list[Vcpu] = []
        self.earning: list[Vcpu] = []
        self.balance = 0
        self.unsorted: set[int] = set()
        self.first_peer = 0

    def thread(self, index: int, tenant: Tenant, weight: int) -> Vcpu:
        self.all.append(Vcpu(index, tenant, weight))
        return self.all[-1]

    def wake(self, thread: Vcpu, now: int) -> int | None:
        allowed = self.allowed(thread)
        idle = [core for core in allowed if self.running[core] is None and not self.queues[core]]
        if idle:
            thread.core = thread.core if thread.core in idle else idle[0]
        elif not thread.placed or thread.core not in allowed:
            thread.core = lightest(allowed, {core: len(self.queues[core]) for core in allowed})
        if thread.placed and thread.priority == UNDER:
            thread.priority = BOOST
        thread.placed = True
        self.insert(thread)
        running = self.running[thread.core]
        return thread.core if running is None or thread.priority > running.priority else None

    def insert(self, v: Vcpu) -> None:
        """Behind those of its priority."""
        queue = self.queues[v.core]
        at = next((i for i, other in enumerate(queue) if v.priority > other.priority), len(queue))
        queue.insert(at, v)

    def charge(self, thread: Vcpu, ran_ns: int, now: int) -> None:
        burnt, thread.residual = divmod(ran_ns + thread.residual, self.credit_ns)
        thread.credit -= burnt
        tick = max(self.slice_ns // TICKS, 1)
        if thread.priority == BOOST and now // tick != (now - ran_ns) // tick:
            thread.priority = UNDER
        if not thread.earns:
            thread.earns = True
            self.earning.append(thread)

    def block(self, thread: Vcpu, now: int) -> None:
        """It is in no queue while it runs."""

    def choose(self, core: int, current: Vcpu | None, now: int) -> Vcpu | None:
        if current is not None and now - current.began < self.ratelimit_ns:
            return current
        queue = self.queues[core]
        if core in self.unsorted:
            queue.sort(key=lambda v: -max(min(v.priority, UNDER), OVER))
            self.unsorted.discard(core)
        if current is not None:
            self.insert(current)
        chosen: Vcpu | None
        if queue and queue[0].priority > OVER:
            chosen = queue.pop(0)
        else:
            chosen = self._steal(core, queue[0].priority if queue else IDLE) or (queue.pop(0) if queue else None)
        if chosen is not None:
            chosen.began = now
        return chosen

    def _steal(self, core: int, priority: int) -> Vcpu | None:
        """From the next peer whose first in the queue has a higher priority."""
        count = len(self.cores)
        for step in range(count):
            at = (self.first_peer + step) % count
            peer = self.cores[at]
            if peer == core or self.running[peer] is None:
                continue
            for v in self.queues[peer]:
                if v.priority <= priority:
                    break
                if self.may(v, core):
                    self.first_peer = at
                    self.queues[peer].remove(v)
                    v.core = core
                    return v
        return None

    def next_time(self, core: int, thread: Vcpu, now: int) -> int | None:
        """The end of the slice. A vCPU alone is asked again too, because another core may have work."""
        if len(self.cores) == 1 and not self.queues[core]:
            return None
        return now + self.slice_ns - (now - thread.began) % self.slice_ns

    def clear(self) -> None:
        self.queues = {core: [] for core in self.queues}
        for v in self.all:
            v.placed = False

    def account(self, now: int) -> Sequence[int]:
        total = self.full * len(self.cores) + max(-self.balance, 0)
        weights = left = sum(v.weight for v in self.earning)
        balance, extra = 0, False
        for v in list(self.earning):
            left -= v.weight
            peak = self.full
            if self.balance < 0:
                peak += -(self.balance * v.weight // weights)
            fair = -(-total * v.weight // weights)
            if fair < peak:
                extra = True
            else:
                if left:
                    total += -(-(fair - peak) * weights // left)
                if extra:
                    self.earning.remove(v)
                    self.earning.insert(0, v)
                fair = peak
            balance += self._earn(v, fair)
        self.balance = balance
        self.unsorted = set(self.cores)
        return ()

    def _earn(self, v: Vcpu, credits_: int) -> int:
        """Returns the credits that it has afterwards."""
        v.credit += credits_
        if v.credit < 0:
            v.priority = OVER
            v.credit = max(v.credit, -self.full)
        else:
            v.priority = UNDER
            if v.credit > self.full:
                v.earns = False
                self.earning.remove(v)
                v.credit //= 2
        return v.credit


def credit(plan: Plan, rng: np.random.Generator) -> Credit:
    """Xen's credits of 100 us for slices of whole ms, PvCC's of 1 us for others."""
    whole = plan.slice_ns % MS == 0
    return Credit(
        plan.machine,
        plan.slice_ns,
        range(plan.machine.cores),
        rng,
        XEN_CREDIT_NS if whole else PVCC_CREDIT_NS,
        XEN_RATELIMIT_NS if whole else 0,
    )
