"""What every policy answers, and what the simulation keeps of a thread. Each policy is a file below `policies/`.

The simulation calls, in this order: `charge` with what a thread ran, then `block` where it blocked, or `timer` where the policy asked to
be called, and `choose` where another may run. A policy holds its own queues; the thread that runs is in none of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from windtunnel.sharing.simulate.plan import Machine, Tenant


class Thread:
    """One thread, or vCPU, of a tenant. Policies derive their own with what they keep of it."""

    def __init__(self, index: int, tenant: Tenant, weight: int):
        self.index = index
        self.tenant = tenant
        self.weight = weight
        self.core = 0
        """Where it runs, or would."""
        self.runnable = False


class Policy(ABC):
    """Decides who runs where, and until when."""

    account_ns: int | None = None
    """How often `account` is called; None: never."""

    def __init__(self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator):
        self.machine = machine
        self.slice_ns = slice_ns
        self.cores = list(cores)
        self.rng = rng
        self.running: dict[int, Thread | None] = {core: None for core in cores}
        """What runs on each core; the simulation keeps it."""

    @abstractmethod
    def thread(self, index: int, tenant: Tenant, weight: int) -> Thread:
        """What the policy keeps of a thread."""

    @abstractmethod
    def wake(self, thread: Thread, now: int) -> int | None:
        """Puts a thread that has work into a queue. Returns the core that has to choose anew for it; None: it waits."""

    @abstractmethod
    def charge(self, thread: Thread, ran_ns: int, now: int) -> None:
        """The running thread ran for so long."""

    @abstractmethod
    def block(self, thread: Thread, now: int) -> None:
        """The running thread has no work and gives up its core."""

    @abstractmethod
    def choose(self, core: int, current: Thread | None, now: int) -> Thread | None:
        """The thread that runs next; `current` ran until now and wants to go on, None: nobody does. What is returned is in no queue,
        and `current` is in one unless it is returned."""

    @abstractmethod
    def next_time(self, core: int, thread: Thread, now: int) -> int | None:
        """When the policy wants to be called while this thread runs; None: not before something changes."""

    def timer(self, core: int, thread: Thread, now: int) -> bool:
        """Called at `next_time`: whether the core chooses anew."""
        return True

    def cost_ns(self, core: int) -> int:
        """What the decision at a core cost beside a switch, ns; asked once a decision."""
        return 0

    def account(self, now: int) -> Sequence[int]:
        """Called every `account_ns`, all running threads charged. Returns the cores that have to choose anew."""
        return ()

    def weigh(self, thread: Thread, weight: int, now: int) -> None:
        """Another weight from now on."""
        thread.weight = weight

    def resized(self) -> bool:
        """Called after weights changed: whether cores change hands. Then `clear` follows, and a `wake` for every thread that has work."""
        return False

    def clear(self) -> None:
        """Nobody is in a queue any more, nobody runs."""
        raise NotImplementedError(f"{type(self).__name__} has no cores that change hands")

    def may(self, thread: Thread, core: int) -> bool:
        return thread.tenant.cores is None or core in thread.tenant.cores

    def allowed(self, thread: Thread) -> list[int]:
        """The policy's cores that a thread may run on; all of them where it may on none."""
        return [core for core in self.cores if self.may(thread, core)] or self.cores


def lightest(cores: Iterable[int], weights: Mapping[int, int]) -> int:
    """The core with the least weight, the first of several."""
    return min(cores, key=lambda core: (weights[core], core))


def spread(weights: Mapping[int, int], cores: Iterable[int]) -> dict[int, int]:
    """Thread -> core: the heaviest first, each to the core with the least weight (LPT; at most 4/3 of the best)."""
    loads = {core: 0 for core in cores}
    placed = {}
    for thread, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        placed[thread] = lightest(loads, loads)
        loads[placed[thread]] += weight
    return placed
