"""The discrete events: which thread runs where, from when to when. Requests of polling tenants are not events: they are settled afterwards on
the CPU time that the tenant got (`load.settle`), because a polling tenant runs with and without requests.

Time of a core is one of: useful (a tenant's stretches), refill (its lines come back), switching, steal (by the host), idle. All are whole ns
and add up to the duration exactly.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from windtunnel_sharing.simulate import load
from windtunnel_sharing.simulate.cache import Cache
from windtunnel_sharing.simulate.load import Ints, Work
from windtunnel_sharing.simulate.plan import SECOND, Plan
from windtunnel_sharing.simulate.policies import make
from windtunnel_sharing.simulate.policy import Thread

CORE, WAKE, ACCOUNT, CHANGE, NOISE = range(5)


@dataclass
class CoreState:
    """One core. `since`: start of what is not charged yet, after the switch."""

    index: int
    cache: Cache
    thread: Thread | None = None
    since: int = 0
    refill: int | None = None
    """ns at the beginning of this stretch, where it was computed beforehand. None: it is computed at the end."""
    cold: int = 0
    """ns of this turn that are still lost to cold caches."""
    empty_at: int | None = None
    timer_at: int | None = None
    last: Thread | None = None
    forced: bool = False
    """It has to choose again."""
    token: int = 0
    """Number of the awaited event; older ones are void."""
    useful: int = 0
    refilled: int = 0
    switching: int = 0
    steal: int = 0
    idle: int = 0


@dataclass
class Ran:
    """CPU time of one thread. `runs`: begin and end of each stretch that served, alternating."""

    runs: list[int] = field(default_factory=list)
    turns: int = 0
    charged: int = 0


class Simulation:
    """One simulation of one plan."""

    def __init__(self, plan: Plan):
        self.plan = plan
        seeds = np.random.SeedSequence(plan.seed).spawn(len(plan.tenants) + 2)
        self.policy = make(plan, np.random.default_rng(seeds[0]))
        self.noise = np.random.default_rng(seeds[1])
        self.cores = [CoreState(index, Cache(plan.machine)) for index in range(plan.machine.cores)]
        self.arrived: list[Ints] = []
        self.service: list[Ints] = []
        for tenant, seed in zip(plan.tenants, seeds[2:], strict=True):
            rng = np.random.default_rng(seed)
            self.arrived.append(load.arrivals(tenant, plan.duration_ns, rng))
            self.service.append(load.services(tenant, len(self.arrived[-1]), rng))
        tenants = [i for i, tenant in enumerate(plan.tenants) for _ in range(tenant.threads)]
        self.threads = [self.policy.thread(n, plan.tenants[i], plan.tenants[i].weight) for n, i in enumerate(tenants)]
        self.owner = tenants
        self.ran = [Ran() for _ in self.threads]
        self.work = [
            None if plan.tenants[i].polls else Work(self.arrived[i].tolist(), self.service[i].tolist()) for i in tenants
        ]
        self.events: list[tuple[int, int, int, int, int]] = []
        self.count = 0
        self.now = 0

    def run(self) -> None:
        """To the end of the plan."""
        self._begin()
        while self.events and self.events[0][0] < self.plan.duration_ns:
            self.now, _, kind, which, token = heapq.heappop(self.events)
            if kind == CORE:
                self._core_event(self.cores[which], token)
            elif kind == WAKE:
                self._wake(self.threads[which])
            elif kind == ACCOUNT:
                self._account()
            elif kind == CHANGE:
                self._change(which)
            else:
                self._steal(self.cores[which])
        self.now = self.plan.duration_ns
        for core in self.cores:
            self._close(core)
            if core.thread is None:
                core.idle += self.now - core.since
            elif core.since > self.now:  # the last switch is incomplete
                core.switching -= core.since - self.now

    def _begin(self) -> None:
        for thread, work in zip(self.threads, self.work, strict=True):
            if work is None:
                self._wake(thread)
            elif work.arrived:
                self._at(work.arrived[0], WAKE, thread.index)
        self._next_account()
        for number, change in enumerate(self.plan.changes):
            self._at(change.at_ns, CHANGE, number)
        for core in self.cores:
            self._next_noise(core)

    def _at(self, when: int, kind: int, which: int, token: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, kind, which, token))

    def _core_event(self, core: CoreState, token: int) -> None:
        if token != core.token:
            return
        thread = core.thread
        if thread is None:
            self._choose(core, None)
            return
        forced = core.forced
        empty = core.empty_at is not None and core.empty_at <= self.now
        timer = core.timer_at is not None and core.timer_at <= self.now
        self._close(core)
        if empty:
            self._block(core, thread)
            self._choose(core, None)
        elif forced or (timer and self.policy.timer(core.index, thread, self.now)):
            self._choose(core, thread)
        else:
            self._go_on(core, thread)

    def _close(self, core: CoreState) -> None:
        """Charges what ran on a core until now."""
        thread = core.thread
        if thread is None or self.now <= core.since:
            return
        ran, tenant = self.now - core.since, thread.tenant
        lost = core.refill
        if lost is None:
            lost = core.cold
            if tenant.working_set and ran > lost:
                lost += core.cache.lost_ns(thread.index, tenant.working_set, ran - lost)
        lost = min(lost, ran)
        core.cold = max(core.cold - ran, 0)
        core.refilled += lost
        core.useful += ran - lost
        got = self.ran[thread.index]
        got.charged += ran
        if got.runs and got.runs[-1] == core.since and not lost:
            got.runs[-1] = self.now
        elif ran > lost:
            got.runs += (core.since + lost, self.now)
        if (work := self.work[thread.index]) is not None:
            work.serve(core.since + lost, self.now)
            if core.refill is not None:
                core.refill -= lost
        core.since = self.now
        self.policy.charge(thread, ran, self.now)

    def _block(self, core: CoreState, thread: Thread) -> None:
        thread.runnable = False
        self.policy.block(thread, self.now)
        work = self.work[thread.index]
        if work is not None and work.next < len(work.arrived):
            self._at(work.arrived[work.next], WAKE, thread.index)
        self.policy.running[core.index] = core.thread = None
        core.since = self.now

    def _choose(self, core: CoreState, current: Thread | None) -> None:
        core.forced = False
        chosen = self.policy.choose(core.index, current, self.now)
        if core.thread is None:
            core.idle += self.now - core.since
        cost = self.policy.cost_ns(core.index)
        if chosen is not None and chosen is not core.last:
            cost += self.plan.machine.switch_ns
            core.last = chosen
        if chosen is not None and chosen is not current:
            self.ran[chosen.index].turns += 1
        self.policy.running[core.index] = core.thread = chosen
        core.since = self.now
        if chosen is None:
            core.token += 1
            core.timer_at = core.empty_at = None
            return
        chosen.core = core.index
        if cost:
            core.cold = self.plan.machine.cold_ns
        core.switching += cost
        core.since += cost
        self._go_on(core, chosen)

    def _go_on(self, core: CoreState, thread: Thread) -> None:
        """Plans the next event of a core on which `thread` runs."""
        if core.forced:
            self._force(core.index)
            return
        core.timer_at = self.policy.next_time(core.index, thread, core.since)
        core.empty_at = core.refill = None
        if (work := self.work[thread.index]) is not None:
            need = work.until_empty(core.since)
            core.refill = core.cold
            if thread.tenant.working_set:
                core.refill += core.cache.lost_ns(thread.index, thread.tenant.working_set, need - core.since)
            need = work.until_empty(core.since + core.refill)
            core.empty_at = need
        core.token += 1
        times = [when for when in (core.timer_at, core.empty_at) if when is not None]
        if times:
            self._at(min(times), CORE, core.index, core.token)

    def _force(self, index: int) -> None:
        """Lets a core choose again: now, or after its present switch."""
        core = self.cores[index]
        core.token += 1
        core.forced = True
        core.timer_at = core.empty_at = None
        self._at(max(self.now, core.since), CORE, index, core.token)

    def _wake(self, thread: Thread) -> None:
        if thread.runnable:
            return
        thread.runnable = True
        index = self.policy.wake(thread, self.now)
        if index is not None:
            self._force(index)
            return
        # it waits behind a thread that may have had no next event
        core = self.cores[thread.core]
        if core.thread is not None and core.timer_at is None:
            self._close(core)
            self._go_on(core, core.thread)

    def _account(self) -> None:
        for core in self.cores:
            self._close(core)
        for index in self.policy.account(self.now):
            self._force(index)
        self._next_account()

    def _next_account(self) -> None:
        if self.policy.account_ns:
            self._at(self.now + self.policy.account_ns, ACCOUNT, 0)

    def _change(self, number: int) -> None:
        weights = self.plan.changes[number].weights
        for core in self.cores:
            self._close(core)
        for thread in self.threads:
            if thread.tenant.name in weights:
                self.policy.weigh(thread, weights[thread.tenant.name], self.now)
        if self.policy.resized():
            self._place_again()

    def _place_again(self) -> None:
        """Cores moved between pools: every runnable thread is placed again."""
        for core in self.cores:
            if core.thread is None:
                continue
            if core.since > self.now:
                core.switching -= core.since - self.now
            core.since = self.now
            self.policy.running[core.index] = core.thread = None
        self.policy.clear()
        waiting = [thread for thread in self.threads if thread.runnable]
        for thread in sorted(waiting, key=lambda thread: (-thread.weight, thread.index)):
            self.policy.wake(thread, self.now)
        for core in self.cores:
            self._force(core.index)

    def _next_noise(self, core: CoreState) -> None:
        if rate := self.plan.machine.noise.per_second:
            self._at(self.now + int(self.noise.exponential(SECOND / rate)), NOISE, core.index)

    def _steal(self, core: CoreState) -> None:
        """The host takes the core for some time; the thread continues afterwards."""
        self._next_noise(core)
        noise = self.plan.machine.noise
        taken = noise.lengths.draw(self.noise) if noise.lengths else int(self.noise.exponential(noise.mean_ns))
        taken = min(taken, self.plan.duration_ns - self.now)
        if core.thread is None:
            return  # an idle core loses no time of a tenant
        self._close(core)
        start = max(core.since, self.now)
        if start + taken > self.plan.duration_ns:
            return
        core.steal += taken
        core.since = start + taken
        self._go_on(core, core.thread)
