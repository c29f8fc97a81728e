"""EEVDF as in kernel/sched/fair.c of Linux 6.12 to 6.18, one queue a core, enforced at the tick (no HRTICK).

What is as there: virtual time and its average over the queue (`avg_vruntime`), eligibility (`vruntime_eligible`), the pick of the earliest
virtual deadline among the eligible (`pick_eevdf`), deadlines that are renewed when they are reached (`update_deadline`), protection of who
runs (`set_protect_slice`, RUN_TO_PARITY), wake-ups (`place_entity` with preserved lag, `check_preempt_wakeup_fair`), delayed dequeue
(DELAY_DEQUEUE, DELAY_ZERO), and a core without work that takes some (`sched_balance_newidle`).
What is not: periodic load balancing, groups, buddies, utilisation. Who polls stays where it was put.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel.sharing.simulate.plan import CPU_WEIGHT, Machine, Tenant
from windtunnel.sharing.simulate.policy import Policy, Thread, lightest

NICE_0 = 1024


class Entity(Thread):
    """A thread with its virtual time. `lag` is what it is owed while it sleeps, in virtual ns."""

    def __init__(self, index: int, tenant: Tenant, weight: int, slice_ns: int):
        super().__init__(index, tenant, weight)
        self.slice_ns = slice_ns
        self.load = max(weight * NICE_0 // CPU_WEIGHT, 2)
        self.v = 0
        self.deadline = 0
        self.protected = 0
        self.lag = 0
        self.placed = False
        self.delayed = False
        """It sleeps, and stays in the queue until its debt is gone."""

    def virtual(self, ns: int) -> int:
        """`calc_delta_fair`."""
        return ns * NICE_0 // self.load


class Queue:
    """One core's. `total` and `moment` are over all members, who runs included: average = moment / total."""

    def __init__(self) -> None:
        self.members: list[Entity] = []
        self.total = 0
        self.moment = 0

    def add(self, e: Entity) -> None:
        self.members.append(e)
        self.total += e.load
        self.moment += e.load * e.v

    def remove(self, e: Entity) -> None:
        self.members.remove(e)
        self.total -= e.load
        self.moment -= e.load * e.v

    def advance(self, e: Entity, virtual: int) -> None:
        e.v += virtual
        self.moment += e.load * virtual

    def eligible(self, e: Entity) -> bool:
        return e.v * self.total <= self.moment

    def average(self) -> int:
        return self.moment // self.total if self.total else 0

    def pick(self) -> Entity | None:
        """The earliest deadline among the eligible."""
        total, moment, best = self.total, self.moment, None
        for e in self.members:
            if (best is None or e.deadline < best.deadline) and e.v * total <= moment:
                best = e
        return best


class Eevdf(Policy):
    """As it is."""

    def __init__(self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator):
        super().__init__(machine, slice_ns, cores, rng)
        self.entity_slice = machine.base_slice_ns
        self.queues = {core: Queue() for core in cores}
        self.last_average = {core: 0 for core in cores}
        self.tick_phase = {core: int(rng.integers(machine.tick_ns)) for core in cores}

    def thread(self, index: int, tenant: Tenant, weight: int) -> Entity:
        return Entity(index, tenant, weight, self.entity_slice)

    def clear(self) -> None:
        for queue in self.queues.values():
            for e in list(queue.members):
                e.lag = 0 if e.delayed else queue.average() - e.v
                e.delayed, e.placed = False, False
            queue.__init__()

    def wake(self, e: Entity, now: int) -> int | None:
        if e.delayed:
            return self._requeue(e)
        e.core = self._select(e)
        queue = self.queues[e.core]
        self._place(queue, e)
        queue.add(e)
        running = self.running[e.core]
        if running is None:
            return e.core
        return e.core if self._preempts(queue, e, running) else None

    def _requeue(self, e: Entity) -> int | None:
        """`requeue_delayed_entity`: its debt stands as it is by now."""
        queue = self.queues[e.core]
        queue.remove(e)
        e.delayed = False
        e.lag = queue.average() - e.v if queue.total else 0
        self._place(queue, e)
        queue.add(e)
        running = self.running[e.core]
        return e.core if running is None or self._preempts(queue, e, running) else None

    def _select(self, e: Entity) -> int:
        """An idle core, the one it ran on first; else, where it is new, the lightest, and where it is not, its own."""
        allowed = self.allowed(e)
        idle = [core for core in allowed if self.running[core] is None and not self.queues[core].members]
        if idle:
            return e.core if e.core in idle else idle[0]
        if e.placed and e.core in allowed:
            return e.core
        return lightest(allowed, {core: self.queues[core].total for core in allowed})

    def _place(self, queue: Queue, e: Entity) -> None:
        """`place_entity`: the lag that it left with is its lag when it is back, its own weight taken into account."""
        average = queue.average() if queue.total else max(self.last_average[e.core], e.v)
        lag = e.lag * (queue.total + e.load) // queue.total if queue.total else 0
        new = e.deadline == 0
        e.placed = True
        e.v = average - lag
        slice_ = e.virtual(e.slice_ns)
        # tenants do not start together: without this they would stay in step for seconds
        e.deadline = e.v + (int(self.rng.integers(1, slice_ + 1)) if new else slice_)
        if new:
            e.v -= int(self.rng.integers(slice_ // 2 + 1))
            e.deadline = max(e.deadline, e.v + 1)

    def _preempts(self, queue: Queue, e: Entity, running: Entity) -> bool:
        """`check_preempt_wakeup_fair`: a shorter slice breaks the protection, else it holds."""
        if e.slice_ns < running.slice_ns and queue.eligible(e) and e.deadline < running.deadline:
            running.protected = running.v
        if queue.eligible(running) and running.v < running.protected:
            return False
        return queue.pick() is e

    def charge(self, e: Entity, ran_ns: int, now: int) -> None:
        queue = self.queues[e.core]
        queue.advance(e, e.virtual(ran_ns))
        self.last_average[e.core] = queue.average()
        if e.v >= e.deadline:
            e.deadline = e.v + e.virtual(e.slice_ns)
            e.protected = e.v

    def block(self, e: Entity, now: int) -> None:
        """`dequeue_entity`: who has a debt stays until it is picked, or the debt is gone."""
        queue = self.queues[e.core]
        if not queue.eligible(e) and len(queue.members) > 1:
            e.delayed = True
            return
        limit = e.virtual(max(2 * self.machine.tick_ns, e.slice_ns))
        e.lag = max(min(queue.average() - e.v, limit), -limit)
        queue.remove(e)

    def choose(self, core: int, current: Entity | None, now: int) -> Entity | None:
        queue = self.queues[core]
        if current is not None and self._keeps(queue, current):
            return current
        while queue.members:
            e = queue.pick()
            if not e.delayed:
                return self._set_next(queue, e)
            e.delayed, e.lag = False, 0
            queue.remove(e)
        return self._newidle(core)

    def _keeps(self, queue: Queue, current: Entity) -> bool:
        return len(queue.members) == 1 or (queue.eligible(current) and current.v < current.protected)

    def _set_next(self, queue: Queue, e: Entity) -> Entity:
        """`set_protect_slice`: until the deadline, or the shortest slice of the queue."""
        shortest = min(m.slice_ns for m in queue.members)
        e.protected = min(e.deadline, e.v + e.virtual(shortest))
        return e

    def _newidle(self, core: int) -> Entity | None:
        """Takes a thread that waits elsewhere, from the longest queue."""
        for other in sorted(self.cores, key=lambda c: -len(self.queues[c].members)):
            queue = self.queues[other]
            for e in queue.members:
                if e is not self.running[other] and not e.delayed and self.may(e, core) and self.may_move():
                    e.lag = queue.average() - e.v
                    queue.remove(e)
                    e.core = core
                    self._place(self.queues[core], e)
                    self.queues[core].add(e)
                    return self._set_next(self.queues[core], e)
        return None

    def may_move(self) -> bool:
        return True

    def next_time(self, core: int, e: Entity, now: int) -> int | None:
        if len(self.queues[core].members) < 2:
            return None
        return self._tick_after(core, now)

    def _tick_after(self, core: int, now: int) -> int:
        period, phase = self.machine.tick_ns, self.tick_phase[core]
        return now + period - (now - phase) % period

    def timer(self, core: int, e: Entity, now: int) -> bool:
        """`update_curr` at the tick: it is over when the slice or the protection is."""
        return e.v >= e.protected

    def weigh(self, e: Entity, weight: int, now: int) -> None:
        """`reweight_entity`: the lag stays the same in time, the deadline in virtual time of the new weight."""
        load = max(weight * NICE_0 // CPU_WEIGHT, 2)
        queue = self.queues[e.core]
        inside = e in queue.members
        if inside:
            lag = (queue.average() - e.v) * e.load // load
            ahead = (e.deadline - e.v) * e.load // load
            average = queue.average()
            queue.remove(e)
            e.v, e.deadline = average - lag, average - lag + ahead
        e.weight, e.load = weight, load
        if inside:
            queue.add(e)
