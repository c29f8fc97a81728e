"""Two pools as PvCC has them: `ls` with microsecond slices on cores of its own, as many as the weights of its tenants are worth, `be` on the rest.

Weight 256 is one CPU: `ls` has ceil(sum of weights / 256) cores, at least one; where there are tenants of `be` at least one is left to them.
Whole cores move between the pools when weights change; who ran on one that moves waits in its own pool.
"""

from collections.abc import Callable, Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import CPU_WEIGHT, Machine, Plan, Tenant
from windtunnel_sharing.simulate.policies.credit import PVCC_CREDIT_NS, Credit
from windtunnel_sharing.simulate.policies.eevdf import Eevdf
from windtunnel_sharing.simulate.policies.kicker import Kicker, custom_slice
from windtunnel_sharing.simulate.policy import AnyPolicy, Policy, Thread

BE_SLICE_NS = 30_000_000


class Pools(Policy[Thread]):
    """`ls` and `be` are policies over all cores, each restricted to its present cores."""

    def __init__(
        self,
        machine: Machine,
        slice_ns: int,
        rng: np.random.Generator,
        make: dict[str, Callable[[list[int]], AnyPolicy]],
    ):
        super().__init__(machine, slice_ns, range(machine.cores), rng)
        self.pools = {name: one(self.cores) for name, one in make.items()}
        for pool in self.pools.values():
            pool.running = self.running
        self.threads: list[Thread] = []
        self.owner: dict[int, str] = {}
        self.account_ns = self.pools["ls"].account_ns
        self.be_accounted = 0

    def thread(self, index: int, tenant: Tenant, weight: int) -> Thread:
        thread: Thread = self.pools[tenant.pool].thread(index, tenant, weight)
        self.threads.append(thread)
        return thread

    def _pool(self, thread: Thread) -> AnyPolicy:
        return self.pools[thread.tenant.pool]

    def _divide(self) -> None:
        """Gives each pool its cores."""
        weight = sum(thread.weight for thread in self.threads if thread.tenant.pool == "ls")
        left = 1 if any(thread.tenant.pool == "be" for thread in self.threads) else 0
        count = max(min(-(-weight // CPU_WEIGHT), len(self.cores) - left), 1)
        self.pools["ls"].cores = self.cores[:count]
        self.pools["be"].cores = self.cores[count:] or self.cores[-1:]
        self.owner = {core: "ls" if at < count else "be" for at, core in enumerate(self.cores)}

    def wake(self, thread: Thread, now: int) -> int | None:
        if not self.owner:
            self._divide()
        return self._pool(thread).wake(thread, now)

    def charge(self, thread: Thread, ran_ns: int, now: int) -> None:
        self._pool(thread).charge(thread, ran_ns, now)

    def block(self, thread: Thread, now: int) -> None:
        self._pool(thread).block(thread, now)

    def choose(self, core: int, current: Thread | None, now: int) -> Thread | None:
        if not self.owner:
            self._divide()
        return self.pools[self.owner[core]].choose(core, current, now)

    def next_time(self, core: int, thread: Thread, now: int) -> int | None:
        return self._pool(thread).next_time(core, thread, now)

    def timer(self, core: int, thread: Thread, now: int) -> bool:
        return self._pool(thread).timer(core, thread, now)

    def cost_ns(self, core: int) -> int:
        return self.pools[self.owner[core]].cost_ns(core)

    def account(self, now: int) -> Sequence[int]:
        cores = list(self.pools["ls"].account(now))
        period = self.pools["be"].account_ns
        if period and now - self.be_accounted >= period:
            self.be_accounted = now
            cores += self.pools["be"].account(now)
        return cores

    def weigh(self, thread: Thread, weight: int, now: int) -> None:
        self._pool(thread).weigh(thread, weight, now)

    def resized(self) -> bool:
        before = self.owner
        self._divide()
        return self.owner != before

    def clear(self) -> None:
        for pool in self.pools.values():
            pool.clear()


def pvcc(plan: Plan, rng: np.random.Generator) -> AnyPolicy:
    """Credit on both sides."""

    def ls(cores: list[int]) -> AnyPolicy:
        return Credit(plan.machine, plan.slice_ns, cores, rng, PVCC_CREDIT_NS, ratelimit_ns=0)

    def be(cores: list[int]) -> AnyPolicy:
        return Credit(plan.machine, BE_SLICE_NS, cores, rng)

    return Pools(plan.machine, plan.slice_ns, rng, {"ls": ls, "be": be})


def kicker_pools(plan: Plan, rng: np.random.Generator) -> AnyPolicy:
    """The kicker for `ls` and EEVDF for `be`, on stock Linux."""

    def ls(cores: list[int]) -> AnyPolicy:
        return Kicker(plan.machine, plan.slice_ns, cores, rng, custom_slice(plan.slice_ns))

    def be(cores: list[int]) -> AnyPolicy:
        return Eevdf(plan.machine, plan.slice_ns, cores, rng)

    return Pools(plan.machine, plan.slice_ns, rng, {"ls": ls, "be": be})
