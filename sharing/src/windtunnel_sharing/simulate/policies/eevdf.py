"""EEVDF as in kernel/sched/fair.c of Linux 6.12 to 6.18, one queue a core, enforced at the tick (no HRTICK).

Modelled: virtual time and its average over the queue (`avg_vruntime`), eligibility (`vruntime_eligible`), the pick of the earliest
virtual deadline among the eligible (`pick_eevdf`), deadlines that are renewed when they are reached (`update_deadline`), protection of the
running entity (`set_protect_slice`, RUN_TO_PARITY), wake-ups (`place_entity` with preserved lag, `check_preempt_wakeup_fair`), delayed dequeue
(DELAY_DEQUEUE, DELAY_ZERO), and an idle core that takes a thread (`sched_balance_newidle`).
Not modelled: periodic load balancing, groups, buddies, utilisation. Polling threads stay on their core.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import CPU_WEIGHT, Machine, Tenant
from windtunnel_sharing.simulate.policy import Policy, Thread, lightest

NICE_0 = 1024


class Entity(Thread):
    """A thread with its virtual time. `lag`: virtual ns that it is owed while it sleeps."""

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
        """It sleeps, but stays in the queue until its lag is not negative."""

    def virtual(self, ns: int) -> int:
        """`calc_delta_fair`."""
        return ns * NICE_0 // self.load


class Queue:
    """One core's. `total` and `moment` include the running entity: average = moment / total."""

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


class Eevdf(Policy[Entity]):
    """EEVDF, one queue a core."""

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
        self.queues = {core: Queue() for core in self.queues}

    def wake(self, thread: Entity, now: int) -> int | None:
        if thread.delayed:
            return self._requeue(thread)
        thread.core = self._select(thread)
        queue = self.queues[thread.core]
        self._place(queue, thread)
        queue.add(thread)
        running = self.running[thread.core]
        if running is None:
            return thread.core
        return thread.core if self._preempts(queue, thread, running) else None

    def _requeue(self, e: Entity) -> int | None:
        """`requeue_delayed_entity`: it keeps its present lag."""
        queue = self.queues[e.core]
        queue.remove(e)
        e.delayed = False
        e.lag = queue.average() - e.v if queue.total else 0
        self._place(queue, e)
        queue.add(e)
        running = self.running[e.core]
        return e.core if running is None or self._preempts(queue, e, running) else None

    def _select(self, e: Entity) -> int:
        """An idle core, its own first; else its own, or the lightest for a new thread."""
        allowed = self.allowed(e)
        idle = [core for core in allowed if self.running[core] is None and not self.queues[core].members]
        if idle:
            return e.core if e.core in idle else idle[0]
        if e.placed and e.core in allowed:
            return e.core
        return lightest(allowed, {core: self.queues[core].total for core in allowed})

    def _place(self, queue: Queue, e: Entity) -> None:
        """`place_entity`: it returns with the lag that it left with, scaled for its own weight."""
        average = queue.average() if queue.total else max(self.last_average[e.core], e.v)
        lag = e.lag * (queue.total + e.load) // queue.total if queue.total else 0
        new = e.deadline == 0
        e.placed = True
        e.v = average - lag
        slice_ = e.virtual(e.slice_ns)
        # tenants do not start together: without this they would run in lockstep for seconds
        e.deadline = e.v + (int(self.rng.integers(1, slice_ + 1)) if new else slice_)
        if new:
            e.v -= int(self.rng.integers(slice_ // 2 + 1))
            e.deadline = max(e.deadline, e.v + 1)

    def _preempts(self, queue: Queue, e: Entity, running: Entity) -> bool:
        """`check_preempt_wakeup_fair`: only a shorter slice ends the protection."""
        if e.slice_ns < running.slice_ns and queue.eligible(e) and e.deadline < running.deadline:
            running.protected = running.v
        if queue.eligible(running) and running.v < running.protected:
            return False
        return queue.pick() is e

    def charge(self, thread: Entity, ran_ns: int, now: int) -> None:
        queue = self.queues[thread.core]
        queue.advance(thread, thread.virtual(ran_ns))
        self.last_average[thread.core] = queue.average()
        if thread.v >= thread.deadline:
            thread.deadline = thread.v + thread.virtual(thread.slice_ns)
            thread.protected = thread.v

    def block(self, thread: Entity, now: int) -> None:
        """`dequeue_entity`: an entity with negative lag stays until it is picked, or the lag is gone."""
        queue = self.queues[thread.core]
        if not queue.eligible(thread) and len(queue.members) > 1:
            thread.delayed = True
            return
        limit = thread.virtual(max(2 * self.machine.tick_ns, thread.slice_ns))
        thread.lag = max(min(queue.average() - thread.v, limit), -limit)
        queue.remove(thread)

    def choose(self, core: int, current: Entity | None, now: int) -> Entity | None:
        queue = self.queues[core]
        if current is not None and self._keeps(queue, current):
            return current
        while (e := queue.pick()) is not None:
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
        """Takes a waiting thread of another core, from the longest queue."""
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

    def next_time(self, core: int, thread: Entity, now: int) -> int | None:
        if len(self.queues[core].members) < 2:
            return None
        return self._tick_after(core, now)

    def _tick_after(self, core: int, now: int) -> int:
        period, phase = self.machine.tick_ns, self.tick_phase[core]
        return now + period - (now - phase) % period

    def timer(self, core: int, thread: Entity, now: int) -> bool:
        """`update_curr` at the tick: the turn ends with the slice or the protection."""
        return thread.v >= thread.protected

    def weigh(self, thread: Entity, weight: int, now: int) -> None:
        """`reweight_entity`: the lag keeps its time, the deadline its virtual time with the new weight."""
        load = max(weight * NICE_0 // CPU_WEIGHT, 2)
        queue = self.queues[thread.core]
        inside = thread in queue.members
        if inside:
            lag = (queue.average() - thread.v) * thread.load // load
            ahead = (thread.deadline - thread.v) * thread.load // load
            average = queue.average()
            queue.remove(thread)
            thread.v, thread.deadline = average - lag, average - lag + ahead
        thread.weight, thread.load = weight, load
        if inside:
            queue.add(thread)
