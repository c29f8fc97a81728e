"""The plan of a simulation: tenants, the machine, the policy that shares it, and changes during the run. Times are whole ns."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Literal

import numpy as np

from windtunnel.api.documents import format as fmt
from windtunnel.api.errors import UserError

SECOND = 10**9
CPU_WEIGHT = 256
"""The weight of one physical CPU, as in PvCC."""
MOST_CORES, MOST_TENANTS, MOST_WEIGHT = 1024, 10_000, 1024 * CPU_WEIGHT
MOST_REQUESTS = 50_000_000
"""Of all tenants together: a limit on the memory of a simulation."""
LEAST_SLICE_NS = 1000
LONGEST_NS = 3600 * SECOND

Distribution = Literal["fixed", "exponential", "lognormal"]
Pool = Literal["ls", "be"]


def bounded(what: str, value: float, low: float, high: float) -> None:
    """Raises UserError for a number that is out of bounds. `what` ends with its unit: "slice, ns,"."""
    if not low <= value <= high:
        name, ns, _ = what.partition(", ns,")
        show = fmt.duration if ns else str
        raise UserError(f"{name} is {show(value)}", remedy=f"from {show(low)} to {show(high)}")


@dataclass(frozen=True)
class Phase:
    """Poisson arrivals at one rate from a time on, until the next phase. `rate`: requests per second."""

    from_ns: int
    rate: float

    def __post_init__(self) -> None:
        bounded("a phase's beginning, ns,", self.from_ns, 0, LONGEST_NS)
        bounded("a rate, requests per second,", self.rate, 0, 1e8)


@dataclass(frozen=True)
class Tenant:
    """A tenant that shares cores. A polling tenant without arrivals is a batch job: it uses all CPU time that it gets."""

    name: str
    weight: int = CPU_WEIGHT
    polls: bool = True
    """False: it blocks when its queue is empty, and is woken by a request."""
    phases: tuple[Phase, ...] = ()
    service_ns: int = 2000
    """Mean CPU time of a request with warm caches."""
    distribution: Distribution = "fixed"
    working_set: int = 0
    """Bytes that its requests touch again and again."""
    queue: int | None = 1024
    """Requests that may wait or be served; further ones are dropped. None: no bound. A tenant that blocks has none."""
    pool: Pool = "ls"
    threads: int = 1
    """Of a batch job, each with the tenant's weight, as a domain's vCPUs in Credit."""
    cores: tuple[int, ...] | None = None
    """It runs only on these; None: the policy places it."""

    def __post_init__(self) -> None:
        who = f"tenant {self.name}: "
        bounded(who + "weight", self.weight, 1, MOST_WEIGHT)
        bounded(who + "service time, ns,", self.service_ns, 1, 10 * SECOND)
        bounded(who + "working set, bytes,", self.working_set, 0, 1 << 40)
        bounded(who + "threads", self.threads, 1, MOST_CORES)
        bounded(who + "queue", 1 if self.queue is None else self.queue, 1, 10**7)
        if self.phases and self.threads > 1:
            raise UserError(
                who + "requests for several threads", remedy="one tenant for each thread, or a batch job without a rate"
            )
        if not self.polls and not self.phases:
            raise UserError(who + "it blocks, and no request wakes it", remedy="give it a rate, or let it poll")


@dataclass(frozen=True)
class Sample:
    """Times as they were measured: (ns, how often). A tail that is rare decides the p99 of a loaded tenant, so no form is assumed."""

    counts: tuple[tuple[int, int], ...]

    @cached_property
    def _cumulative(self) -> list[int]:
        return list(accumulate(count for _, count in self.counts))

    @property
    def mean(self) -> float:
        """ns."""
        return sum(ns * count for ns, count in self.counts) / self._cumulative[-1]

    def draw(self, rng: np.random.Generator) -> int:
        """One of them, ns."""
        return self.counts[bisect_right(self._cumulative, rng.random() * self._cumulative[-1])][0]


def sample(counts: Iterable[tuple[int, int]]) -> Sample | None:
    """Counts of several measurements together; None where there are none."""
    found = tuple((ns, count) for ns, count in counts if count > 0)
    return Sample(found) if found else None


@dataclass(frozen=True)
class Noise:
    """Steal of the host on each core: times per second, and lengths: as measured, else exponential with a mean."""

    per_second: float = 0.0
    mean_ns: int = 0
    lengths: Sample | None = None

    def __post_init__(self) -> None:
        bounded("noise per second", self.per_second, 0, 1e5)
        bounded("noise, ns,", self.mean_ns, 0, SECOND)

    @property
    def share(self) -> float:
        """Of a core's time."""
        mean = self.lengths.mean if self.lengths else self.mean_ns
        return self.per_second * mean / SECOND


@dataclass(frozen=True)
class Machine:
    """The costs of a host. Defaults: medians of a 2-core KVM guest, Linux 6.18, HZ=250, no HRTICK."""

    cores: int = 1
    tick_ns: int = 4_000_000
    """1/HZ."""
    switch_ns: int = 1500
    """From one tenant to another."""
    kick_ns: int = 5500
    """A wake of the kicker, both ways. With a switch: the ~7 us that a slice costs by measurement."""
    late_ns: int = 1500
    """Mean by which a kick is late."""
    late_sd_ns: int = 1500
    """Its standard deviation: lateness has a gamma distribution, exponential where both are the same."""
    late: Sample | None = None
    """Lateness as measured, instead of both."""
    cold_ns: int = 0
    """Lost at the beginning of each turn while the tenant is charged for it: L1 and TLB. Part of `switch_ns` where it was not measured separately."""
    base_slice_ns: int = 1_400_000
    """EEVDF's default slice: 0.7 ms x (1 + log2 of the CPUs)."""
    l2_bytes: int = 1 << 20
    miss_ns: float = 44.0
    """A line of the working set that has to come back."""
    touch_ns: float = 75.0
    """Work between two lines: with `miss_ns` it says how fast a cold tenant is."""
    noise: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        bounded("cores", self.cores, 1, MOST_CORES)
        bounded("a tick, ns,", self.tick_ns, 10_000, SECOND)
        for name in ("switch_ns", "kick_ns", "late_ns", "late_sd_ns", "cold_ns"):
            bounded(name, getattr(self, name), 0, 10_000_000)
        bounded("base_slice_ns", self.base_slice_ns, 1000, SECOND)
        bounded("L2, bytes,", self.l2_bytes, 1, 1 << 40)
        bounded("miss_ns", self.miss_ns, 0, 1e5)
        bounded("touch_ns", self.touch_ns, 1, 1e6)


def lateness(machine: Machine, rng: np.random.Generator) -> int:
    """Of one kick, ns."""
    if machine.late is not None:
        return machine.late.draw(rng)
    mean, deviation = machine.late_ns, machine.late_sd_ns
    if not mean or not deviation:
        return mean
    return int(rng.gamma((mean / deviation) ** 2, deviation**2 / mean))


@dataclass(frozen=True)
class Change:
    """New weights from a moment on, by tenant."""

    at_ns: int
    weights: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """One simulation."""

    tenants: tuple[Tenant, ...]
    policy: str = "kicker"
    slice_ns: int = 120_000
    duration_ns: int = 2 * SECOND
    warmup_ns: int = 0
    """Requests that arrive before are served and not shown."""
    seed: int = 1
    machine: Machine = field(default_factory=Machine)
    changes: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        bounded("tenants", len(self.tenants), 1, MOST_TENANTS)
        bounded("slice, ns,", self.slice_ns, LEAST_SLICE_NS, 10 * SECOND)
        bounded("duration, ns,", self.duration_ns, 1, LONGEST_NS)
        bounded("warm-up, ns,", self.warmup_ns, 0, self.duration_ns - 1)
        counts = Counter(tenant.name for tenant in self.tenants)
        if twice := {name for name, count in counts.items() if count > 1}:
            raise UserError(f"two tenants are called {min(twice)}", remedy="a different name for each")
        self._check_cores()
        self._check_changes(set(counts))
        self._check_requests()

    def _check_cores(self) -> None:
        for tenant in self.tenants:
            for core in tenant.cores or ():
                bounded(f"tenant {tenant.name}: core", core, 0, self.machine.cores - 1)
            if tenant.cores == ():
                raise UserError(
                    f"tenant {tenant.name}: an empty list of cores", remedy="name a core, or leave out the key"
                )

    def _check_changes(self, names: set[str]) -> None:
        for change in self.changes:
            bounded("the moment of a change, ns,", change.at_ns, 0, self.duration_ns)
            for name, weight in change.weights.items():
                if name not in names:
                    raise UserError(
                        f"a change of {name}, which is not a tenant", remedy=f"one of {', '.join(sorted(names))}"
                    )
                bounded(f"tenant {name}: weight", weight, 1, MOST_WEIGHT)

    def _check_requests(self) -> None:
        expected = sum(requests_expected(tenant, self.duration_ns) for tenant in self.tenants)
        if expected > MOST_REQUESTS:
            raise UserError(
                f"{expected:.3g} requests: a simulation has at most {MOST_REQUESTS:.0e}",
                remedy="a shorter duration or lower rates",
            )


def requests_expected(tenant: Tenant, duration_ns: int) -> float:
    """Mean number of requests of a tenant."""
    ends = [*(phase.from_ns for phase in tenant.phases[1:]), duration_ns]
    spans = zip(tenant.phases, ends, strict=False)
    return sum(phase.rate * max(min(end, duration_ns) - phase.from_ns, 0) / SECOND for phase, end in spans)
