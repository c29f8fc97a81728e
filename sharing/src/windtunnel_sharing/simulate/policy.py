"""The interface of a policy, and what the simulation keeps of a thread. Each policy is a file below `policies/`.

The simulation calls, in this order: `charge` with the time that a thread ran, then `block` where it blocked, or `timer` where the policy
asked for it, and `choose` where another thread may run. A policy has its own queues; the running thread is in none of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from windtunnel_sharing.simulate.plan import Machine, Tenant


class Thread:
    """One thread, or vCPU, of a tenant. Policies derive a class of their own from it."""

    def __init__(self, index: int, tenant: Tenant, weight: int):
        self.index = index
        self.tenant = tenant
        self.weight = weight
        self.core = 0
        """Where it runs, or waits to run."""
        self.runnable = False


OwnThread = TypeVar("OwnThread", bound=Thread)
"""The threads of one policy, as its method `thread` makes them."""


class Policy(ABC, Generic[OwnThread]):
    """Decides which thread runs where, and until when."""

    account_ns: int | None = None
    """How often `account` is called; None: never."""

    def __init__(self, machine: Machine, slice_ns: int, cores: Sequence[int], rng: np.random.Generator):
        self.machine = machine
        self.slice_ns = slice_ns
        self.cores = list(cores)
        self.rng = rng
        self.running: dict[int, OwnThread | None] = dict.fromkeys(cores)
        """Core -> the running thread; the simulation updates it."""

    @abstractmethod
    def thread(self, index: int, tenant: Tenant, weight: int) -> OwnThread:
        """Makes a thread, with the policy's own state."""

    @abstractmethod
    def wake(self, thread: OwnThread, now: int) -> int | None:
        """Puts a thread that has work into a queue. Returns the core that has to choose again; None: the thread waits."""

    @abstractmethod
    def charge(self, thread: OwnThread, ran_ns: int, now: int) -> None:
        """The running thread ran for `ran_ns`."""

    @abstractmethod
    def block(self, thread: OwnThread, now: int) -> None:
        """The running thread has no work and gives up its core."""

    @abstractmethod
    def choose(self, core: int, current: OwnThread | None, now: int) -> OwnThread | None:
        """The thread that runs next. `current` ran until now and is runnable; None: no thread is. The returned thread is in no
        queue; `current` is in one unless it is returned."""

    @abstractmethod
    def next_time(self, core: int, thread: OwnThread, now: int) -> int | None:
        """When to call `timer` while this thread runs; None: not before something changes."""

    def timer(self, core: int, thread: OwnThread, now: int) -> bool:
        """Called at `next_time`: whether the core chooses again."""
        return True

    def cost_ns(self, core: int) -> int:
        """Cost of the decision at a core without the switch, ns; called once a decision."""
        return 0

    def account(self, now: int) -> Sequence[int]:
        """Called every `account_ns`, all running threads charged. Returns the cores that have to choose again."""
        return ()

    def weigh(self, thread: OwnThread, weight: int, now: int) -> None:
        """Sets another weight from now on."""
        thread.weight = weight

    def resized(self) -> bool:
        """Called after weights changed: whether cores move between pools. Then the simulation calls `clear`, and `wake` for every runnable
        thread."""
        return False

    def clear(self) -> None:
        """Empties all queues; no thread runs."""
        raise NotImplementedError(f"the cores of {type(self).__name__} do not move between pools")

    def may(self, thread: OwnThread, core: int) -> bool:
        return thread.tenant.cores is None or core in thread.tenant.cores

    def allowed(self, thread: OwnThread) -> list[int]:
        """The policy's cores that a thread may run on; all of them where it may run on none."""
        return [core for core in self.cores if self.may(thread, core)] or self.cores


AnyPolicy = Policy[Any]
"""A policy whose threads' class is known to itself only: every thread that it is given, it has made."""


def lightest(cores: Iterable[int], weights: Mapping[int, int]) -> int:
    """The core with the least weight, the first of equals."""
    return min(cores, key=lambda core: (weights[core], core))
