"""A rotor: a timer on the core lets one thread after the other have it, each for the slice times its weight over the mean weight.

It behaves as FIFO priorities that a thread swaps, on a core without other threads. A blocked thread is skipped. Turns follow each other on
a timeline: what a switch takes, and how late the timer is, shortens the turn and delays none of the later ones.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from windtunnel_sharing.simulate.plan import Machine, Tenant, lateness
from windtunnel_sharing.simulate.policy import Policy, Thread, lightest


class Rotor(Policy[Thread]):
    """Weighted turns, a queue a core."""

    def __init__(self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator):
        super().__init__(machine, slice_ns, cores, rng)
        self.waiting: dict[int, deque[Thread]] = {core: deque() for core in cores}
        self.members: dict[int, list[Thread]] = {core: [] for core in cores}
        self.turned = {core: False for core in cores}
        self.ends: dict[int, int | None] = dict.fromkeys(cores)
        """Of the present turn on the timeline; None: nobody waits for it. `late`: by how much its timer will be late."""
        self.late = dict.fromkeys(cores, 0)
        self.placed: set[int] = set()

    def thread(self, index: int, tenant: Tenant, weight: int) -> Thread:
        return Thread(index, tenant, weight)

    def wake(self, thread: Thread, now: int) -> int | None:
        if thread.index not in self.placed:
            weights = {core: sum(t.weight for t in self.members[core]) for core in self.allowed(thread)}
            thread.core = lightest(weights, weights)
            self.members[thread.core].append(thread)
            self.placed.add(thread.index)
        self.waiting[thread.core].append(thread)
        return thread.core if self.running[thread.core] is None else None

    def charge(self, thread: Thread, ran_ns: int, now: int) -> None:
        """Turns are by the clock."""

    def block(self, thread: Thread, now: int) -> None:
        """It is in no queue while it runs."""

    def choose(self, core: int, current: Thread | None, now: int) -> Thread | None:
        if current is not None:
            self.waiting[core].append(current)
        else:
            self.ends[core] = None
        if not self.waiting[core]:
            return None
        chosen = self.waiting[core].popleft()
        self._begin_turn(core, chosen, now)
        return chosen

    def _begin_turn(self, core: int, thread: Thread, now: int) -> None:
        members = self.members[core]
        mean = sum(t.weight for t in members) / len(members)
        length = max(int(self.slice_ns * thread.weight / mean), 1)
        before = self.ends[core]
        self.ends[core] = (now if before is None or now - before >= length else before) + length
        self.late[core] = lateness(self.machine, self.rng)

    def next_time(self, core: int, thread: Thread, now: int) -> int | None:
        if not self.waiting[core]:
            self.ends[core] = None
            return None
        end = self.ends[core]
        if end is None:
            self._begin_turn(core, thread, now)
            end = self.ends[core]
            assert end is not None
        return max(end + self.late[core], now + 1)

    def timer(self, core: int, thread: Thread, now: int) -> bool:
        self.turned[core] = True
        return True

    def cost_ns(self, core: int) -> int:
        turned, self.turned[core] = self.turned[core], False
        return self.machine.kick_ns if turned else 0
