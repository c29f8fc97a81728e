"""The kicker: a SCHED_FIFO thread on the core that wakes at every multiple of the slice and does nothing.

Its wake takes the CPU from the fair class (`put_prev_task_fair`: the running entity is charged and is then like the others, `cfs_rq->curr`
is NULL). When it sleeps again, `pick_eevdf` picks among all entities, and none is protected. Time is charged in ns. With slices
(`sched_attr.sched_runtime`, which the kernel limits to 0.1 to 100 ms) a little below the period, each kick reaches a deadline, so turns
follow virtual time. With longer ones old deadlines decide the order, and the slowest waits for several turns.
"""

from collections.abc import Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import Machine, Plan, lateness
from windtunnel_sharing.simulate.policies.eevdf import Eevdf, Entity
from windtunnel_sharing.simulate.policy import lightest

LEAST_CUSTOM_NS, MOST_CUSTOM_NS = 100_000, 100_000_000
"""The kernel's limits of a custom slice: kernel/sched/syscalls.c, `__setscheduler_params`."""
OF_PERIOD = 0.85


def custom_slice(period_ns: int) -> int:
    """The slice that goes with a period."""
    return min(max(int(OF_PERIOD * period_ns), LEAST_CUSTOM_NS), MOST_CUSTOM_NS)


class Kicker(Eevdf):
    """Threads stay on their core: the pool places them, not the kernel."""

    def __init__(
        self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator, entity_slice: int
    ):
        super().__init__(machine, slice_ns, cores, rng)
        self.entity_slice = entity_slice
        self.kick_at: dict[int, int | None] = dict.fromkeys(cores)
        self.kicked = {core: False for core in cores}

    def _select(self, e: Entity) -> int:
        allowed = self.allowed(e)
        if e.placed and e.core in allowed:
            return e.core
        return lightest(allowed, {core: self.queues[core].total for core in allowed})

    def may_move(self) -> bool:
        return False

    def next_time(self, core: int, thread: Entity, now: int) -> int | None:
        if len(self.queues[core].members) < 2:
            self.kick_at[core] = None
            return None
        kick = self.kick_at[core]
        if kick is None:
            kick = self.kick_at[core] = self._kick_after(now)
        # a kick that was due during a switch or a steal comes as soon as possible
        return min(max(kick, now + 1), self._tick_after(core, now))

    def _kick_after(self, now: int) -> int:
        return now + self.slice_ns - now % self.slice_ns + lateness(self.machine, self.rng)

    def timer(self, core: int, thread: Entity, now: int) -> bool:
        kick = self.kick_at[core]
        if kick is not None and now >= kick:
            # the next multiple: a kick that is late by a period or more is dropped
            self.kick_at[core] = self._kick_after(now)
            self.kicked[core] = True
            return True
        return super().timer(core, thread, now)

    def choose(self, core: int, current: Entity | None, now: int) -> Entity | None:
        if current is not None and self.kicked[core]:
            current.protected = current.v
        return super().choose(core, current, now)

    def cost_ns(self, core: int) -> int:
        kicked, self.kicked[core] = self.kicked[core], False
        return self.machine.kick_ns if kicked else 0


def kicker(plan: Plan, rng: np.random.Generator) -> Kicker:
    """With slices that follow the period."""
    return Kicker(plan.machine, plan.slice_ns, range(plan.machine.cores), rng, custom_slice(plan.slice_ns))


def kicker_default_slice(plan: Plan, rng: np.random.Generator) -> Kicker:
    """With EEVDF's own slices."""
    return Kicker(plan.machine, plan.slice_ns, range(plan.machine.cores), rng, plan.machine.base_slice_ns)
