"""Faults of drawn kind and strength, which a bench plants into shipped scenarios, and what a diagnosis should say of them.

A fault is words of --set, a pool of mbufs that is smaller than `check` allows, or a program beside the run. A diagnosis sees what any run
has: the record. It knows neither the kind nor the twin without it, and `diagnose.planted` takes faults and links out of the record.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Literal

from windtunnel.engine.plan import Plan
from windtunnel.scenario import RunSpec
from windtunnel.scenario.demand import CACHE_FLUSH

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
ECHOES = ("echo", "handler-l_app", "handler-m_app", "handler-kv", "handler-t_app", "packet-echo")
"""A closed loop on two workers; all but the last one with a message handler."""
HANDLERS = ECHOES[:-1]
TABLES = tuple(
    name for name in ("tables-exact", "tables-ternary", "tables-lpm") if (SCENARIOS / f"{name}.toml").exists()
)
"""One worker, on a wire that gives it frames; none in a build without tables."""
HEALTHY = (*ECHOES, *TABLES, "two-workloads", "imix", "open-loop")
STAGES = {
    "client": ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"),
    "server": ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"),
}
Beside = Literal["spin", "walk"]
START_S = 0.3
"""Until a program runs."""
PIN = "import os, sys, time; import numpy; os.sched_setaffinity(0, {int(sys.argv[1])}); numbers = [float(each) for each in sys.argv[2:]]"
SPIN = """
while True:
    end = time.monotonic() + numbers[0]
    while time.monotonic() < end: pass
    time.sleep(numbers[1])
"""
WALK = """
memory = numpy.zeros(int(numbers[0]) // 8)
while True: memory += 1
"""
PROGRAMS: Mapping[Beside, str] = {"spin": SPIN, "walk": WALK}


@dataclass(frozen=True)
class Program:
    """What runs beside a planted run."""

    what: Beside
    cpu: int
    """Place in the list of the CPUs that the bench may use."""
    arguments: tuple[str, ...]

    @contextmanager
    def running(self) -> Iterator[None]:
        cpu = sorted(os.sched_getaffinity(0))[self.cpu]
        code = f"{PIN}\n{PROGRAMS[self.what]}"
        process = subprocess.Popen([sys.executable, "-c", code, str(cpu), *self.arguments])
        time.sleep(START_S)
        try:
            yield
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Fault:
    """Planted into a scenario."""

    kinds: tuple[str, ...]
    """Several of a pair; none of a healthy case."""
    scenario: str
    right: tuple[str, ...] = ()
    """What a diagnosis may say first: codes of causes, kinds of limits."""
    resource: str = ""
    """What is full: "server", "client", "client + server" (a worker of these sides), or what no worker is."""
    plain: Mapping[str, str] = field(default_factory=dict)
    """Words of --set of the twin and of the planted run."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """Of the planted run alone."""
    pools: Mapping[str, int] = field(default_factory=dict)
    """Side -> mbufs."""
    program: Program | None = None
    pair: tuple[Path, Path] | None = None
    """The scenario with the fault and its twin without it, if they are files of their own."""

    @property
    def file(self) -> Path:
        """The scenario without the fault."""
        return self.pair[1] if self.pair else SCENARIOS / f"{self.scenario}.toml"

    @property
    def planted_file(self) -> Path:
        """The scenario that `sets` plant the fault in, or that has it."""
        return self.pair[0] if self.pair else self.file

    def into(self, spec: RunSpec) -> RunSpec:
        """The planted run with its small pools."""
        return replace(spec, plans=[self._plan(plan) for plan in spec.plans])

    def _plan(self, plan: Plan) -> Plan:
        def small(endpoint):
            pool, size = endpoint.pool, self.pools.get(endpoint.side, endpoint.pool.size)
            cache = min(pool.cache, int(size / CACHE_FLUSH))
            return endpoint.model_copy(update={"pool": pool.model_copy(update={"size": size, "cache": cache})})

        return plan.model_copy(update={"endpoints": [small(endpoint) for endpoint in plan.endpoints]})


Drawing = Callable[[Random], Fault]


def between(dice: Random, least: float, most: float) -> float:
    """Evenly by its logarithm."""
    return math.exp(dice.uniform(math.log(least), math.log(most)))


def _handler(dice: Random) -> Fault:
    ticks = round(between(dice, 10, 2000))
    return Fault(
        ("handler",), dice.choice(HANDLERS), ("handler",), "server", sets={"workload.0.extra_ticks": str(ticks)}
    )


def _batch(side: str) -> Drawing:
    def draw(dice: Random) -> Fault:
        size, stages = dice.choice((1, 2, 4, 8)), dice.choice((STAGES[side], ("nic_rx",)))
        sets = {f"{side}.batch.{stage}": str(size) for stage in stages}
        return Fault((f"small batches, {side}",), dice.choice(HANDLERS), ("small-batches",), side, sets=sets)

    return draw


def _inflight(dice: Random) -> Fault:
    budget = round(between(dice, 1, 64))
    sets = {"client.inflight": str(budget), "client.batch.app_tx": str(min(budget, 32))}
    return Fault(("few in flight",), dice.choice(ECHOES), ("in-flight",), "in-flight", sets=sets)


def _ring(dice: Random) -> Fault:
    sets = {f"{dice.choice(('client', 'server'))}.ring_size": str(dice.choice((2, 4, 8)))}
    return Fault(("short ring",), dice.choice(HANDLERS), ("full-ring",), "full-ring", sets=sets)


def _mbufs(dice: Random) -> Fault:
    side, size = dice.choice(("client", "server")), round(between(dice, 40, 800))
    plain = {"server.response_mbuf": "new"} if side == "server" else {}
    return Fault(("few mbufs",), dice.choice(HANDLERS), ("few-mbufs",), "few-mbufs", plain=plain, pools={side: size})


def _one_cpu(dice: Random) -> Fault:
    cpu = str(max(os.sched_getaffinity(0)))
    sets = {"client.cores": f"[{cpu}]", "server.cores": f"[{cpu}]"}
    return Fault(("one CPU",), dice.choice(ECHOES), ("one-worker",), "client + server", sets=sets)


def _link_rate(dice: Random) -> Fault:
    sets = {"wire.link": f'{{ rate = "{round(between(dice, 100, 8000))}Mbps" }}'}
    return Fault(("narrow link",), dice.choice(ECHOES), ("link",), "link", sets=sets)


def _link_delay(dice: Random) -> Fault:
    sets = {"wire.link": f'{{ delay = "{round(between(dice, 20, 1000))}us" }}'}
    return Fault(("long link",), dice.choice(ECHOES), ("in-flight",), "in-flight", sets=sets)


def _loss(dice: Random) -> Fault:
    timeout = {"workload.0.timeout": f"{round(between(dice, 5, 200))}ms"}
    sets = {"wire.faults": f"{{ loss = {between(dice, 1e-5, 1e-2):.6f} }}"}
    return Fault(("loss",), dice.choice(HANDLERS), ("losses",), "in-flight", plain=timeout, sets=sets)


def _method(dice: Random) -> Fault:
    sets = {"workload.0.table.0.method": dice.choice(("linear", "tss"))}
    return Fault(("slow table",), "tables-ternary", ("tables",), "server", sets=sets)


def _lookup(dice: Random) -> Fault:
    plain = {"workload.0.table.0.entries": dice.choice(("10k", "100k", "1M"))}
    return Fault(
        ("one lookup at a time",), "tables-exact", ("tables",), "server", plain, {"workload.0.table.0.lookup": "single"}
    )


def _payload(dice: Random) -> Fault:
    scan, checksum = dice.choice(((True, True), (True, False), (False, True)))
    plain = {"workload.0.scan": "false", "wire.udp_checksum": "false"}
    sets = {"workload.0.scan": str(scan).lower(), "wire.udp_checksum": str(checksum).lower()}
    return Fault(("payload",), "imix", ("payload",), "", plain, sets)


def _offered(dice: Random) -> Fault:
    sets = {"client.rate": f"{round(between(dice, 50, 4000))}kpps"}
    return Fault(("low load",), dice.choice(ECHOES), ("offered load",), "offered load", sets=sets)


def _generator(dice: Random) -> Fault:
    sets = {"client.mempool.cache": "0", "client.mempool.ops": dice.choice(("ring_mp_mc", "ring_mt_hts", "stack"))}
    return Fault(("slow client",), dice.choice(ECHOES), ("generator",), "client", sets=sets)


def _spin(dice: Random) -> Fault:
    busy = between(dice, 0.0005, 0.02)
    pause = busy / between(dice, 0.1, 1.0)
    program = Program("spin", dice.choice((0, -1)), (f"{busy:.5f}", f"{pause:.5f}"))
    return Fault(("thread on a CPU",), dice.choice(ECHOES), ("host-time", "host"), "host", program=program)


def _walk(dice: Random) -> Fault:
    program = Program("walk", 0, (str(round(between(dice, 4e6, 2e9))),))
    return Fault(
        ("memory walker",),
        "tables-exact",
        ("host-time", "host-state"),
        "host",
        {"workload.0.table.0.entries": "1M"},
        program=program,
    )


KINDS: tuple[Drawing, ...] = (
    _handler, _batch("server"), _batch("client"), _inflight, _ring, _mbufs, _one_cpu, _link_rate, _link_delay, _loss,
    *((_method, _lookup) if TABLES else ()), _payload, _offered, _generator, _spin, *((_walk,) if TABLES else ()),
)  # fmt: skip
PAIRED: tuple[Drawing, ...] = (_handler, _batch("server"), _batch("client"), _inflight, _link_delay, _loss)
"""Of which two can be planted into one run."""


def _healthy(dice: Random) -> Fault:
    return Fault((), dice.choice(HEALTHY), plain={"seed": str(dice.randrange(1, 10**6))})


def _pair(dice: Random) -> Fault:
    return pair(*(draw_one(dice) for draw_one in dice.sample(PAIRED, 2)))


DECK: tuple[Drawing, ...] = (*KINDS, *6 * (_healthy,), *2 * (_pair,))
"""So many cases have each of these once, in an order that is drawn."""


def draw(seed: int, number: int) -> Fault:
    """The case of this number, from 0: another seed has other cases."""
    round_, place = divmod(number, len(DECK))
    deck = Random(f"{seed}, {round_}").sample(DECK, len(DECK))
    return deck[place](Random(f"{seed}, case {number}"))


def pair(a: Fault, b: Fault) -> Fault:
    """Both in the scenario of the first one; the first one that a diagnosis names may be either. Of a key of both the smaller value counts."""
    both = {key: str(min(int(a.sets[key]), int(b.sets[key]))) for key in a.sets.keys() & b.sets.keys()}
    return Fault(
        kinds=(*a.kinds, *b.kinds),
        scenario=a.scenario,
        right=(*a.right, *b.right),
        resource=a.resource if a.resource == b.resource else "",
        plain={**a.plain, **b.plain},
        sets={**a.sets, **b.sets, **both},
    )
