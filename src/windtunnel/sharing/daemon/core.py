"""The daemon without its sockets: the pools, the upkeep, and the last readings."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.sharing import slicers, threads
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.daemon.allocation import Change, Sharing
from windtunnel.sharing.daemon.autoscale import Seen, step
from windtunnel.sharing.daemon.bodies import Report
from windtunnel.sharing.daemon.keys import Serve, TenantKeys
from windtunnel.sharing.daemon.metrics import Metrics
from windtunnel.sharing.daemon.roster import Tenant, Wish
from windtunnel.sharing.host_diagnosis import findings, of_members
from windtunnel.sharing.pools.apply import Carrier
from windtunnel.sharing.pools.weights import CPU_WEIGHT
from windtunnel.sharing.slicers import Slicer, SliceReading
from windtunnel.sharing.slicers.slicer import SlicerJournal

READING_NS = 1_000_000_000
"""Interval of the slicers' readings."""


@dataclass(frozen=True)
class Chosen:
    """The slicer of a daemon."""

    name: str
    make: Callable[[SlicerJournal], Slicer]
    raises: bool = False
    """It makes tenants SCHED_FIFO."""


class Core:
    """One thread does everything; `upkeep` runs every `keys.check`."""

    def __init__(self, keys: Serve, sharing: Sharing, carrier: Carrier, journal: Journal, slicer: Chosen, shield: str):
        self.keys, self.sharing, self.slicer, self.shield = keys, sharing, slicer.name, shield
        self._raises = slicer.raises
        self._carrier, self._journal = carrier, journal
        self.slice_ns = keys.slice
        self.readings: dict[int, SliceReading] = {}
        self.metrics = Metrics(sharing)
        self._strayed: dict[int, tuple[int, ...]] = {}
        self._read_at = self._looked_at = time.monotonic_ns()
        self._said = ""

    def take_in(self, keys: TenantKeys, wish: Wish | None = None) -> Tenant:
        """Adds a tenant through the API. Raises UserError; then nothing has changed."""
        tenant = self.sharing.add(keys, added=True, wish=wish)
        try:
            self.sharing.settle()
        except UserError:
            self.sharing.remove(tenant.name)
            self.sharing.settle()
            raise
        return tenant

    def take_in_first(self, keys: TenantKeys, wish: Wish | None, named: int | None) -> None:
        """Adds a tenant of the file, at the start. Raises UserError."""
        self.sharing.add(keys, wish=wish, named=named)
        self.sharing.settle()

    def report(self, tenant: Tenant, told: Report) -> None:
        """A tenant's report. The autoscaler's step is carried out at once, as far as there is room."""
        tenant.told = told
        if tenant.rule is None or not tenant.wish.shares:
            return
        wish, seen = tenant.wish, Seen(told.p99_ns, told.queue, told.polls)
        taken = step(
            tenant.rule, wish.least, tenant.most, wish.slo_ns, wish.weight, tenant.memory, seen, time.monotonic_ns()
        )
        tenant.memory = taken.memory
        if taken.why is None:
            return
        room = self.sharing.machine.ls_most * CPU_WEIGHT - sum(self.sharing.plan.loads().values())
        weight = min(taken.weight, wish.weight + max(0, room))
        short = f"; ls has room for {weight}" if weight < taken.weight else ""
        try:
            self.sharing.ask([Change(tenant.name, {"weight": weight})], "autoscaler")
            self.sharing.settle()
        except UserError as error:
            self.sharing.events.publish("not scaled", tenant=tenant.name, why=f"{taken.why}; {error.message}")
            return
        self.sharing.events.publish("scaled", tenant=tenant.name, weight=weight, why=taken.why + short)
        self.metrics.scaled(tenant.name)

    def upkeep(self) -> None:
        """Looks for new processes and threads, strayed ones, and tenants that need CPU; carries out what is due."""
        now = time.monotonic_ns()
        for tenant in list(self.sharing.tenants.values()):
            self._try(self.sharing.look, tenant)
            if len(tenant.tids) > 1 and tenant.weigh(now - self._looked_at):
                self.sharing.stir()
        self._looked_at = now
        self._try(self.sharing.settle)
        self._try(self._warm)
        self._strays()
        if now - self._read_at >= READING_NS:
            self._read_at = now
            self._try(self._read)

    def died(self, tenant: Tenant) -> None:
        """Its pidfd is readable."""
        self.sharing.gone(tenant)
        self._try(self.sharing.settle)

    def _try(self, action: Callable[..., object], *arguments: object) -> None:
        """Publishes a failure of the upkeep, once until there is another one."""
        try:
            action(*arguments)
        except UserError as error:
            if error.message != self._said:
                self.sharing.events.publish("trouble", why=error.message, remedy=error.remedy)
            self._said = error.message

    def _read(self) -> None:
        readings: dict[int, SliceReading] = {}
        for cpu in list(self._carrier.now.turns):
            try:
                readings[cpu] = self._carrier.slicers[cpu].read()
            except UserError as error:
                self.sharing.events.publish("slicer ended", cpu=cpu, why=error.message)
                self._carrier.broken(cpu)
                self.sharing.stir()
        self.readings = readings
        names = {tid: tenant.name for tenant in self.sharing.tenants.values() for tid in tenant.tids}
        self.metrics.read(
            readings,
            {
                cpu: [said.code for said in findings(self.slicer, seen, of_members(seen, self._raises, names))]
                for cpu, seen in readings.items()
            },
        )

    def _warm(self) -> None:
        """Starts a slicer on the CPU that ls takes next."""
        plan = self.sharing.plan
        if len(plan.be) > self.sharing.machine.be_least:
            self._carrier.warm(plan.be[-1])

    def _strays(self) -> None:
        """Threads that are not on their CPUs, because they or another program chose others."""
        now = self._carrier.now
        wanted: dict[int, tuple[int, ...]] = {tid: (cpu,) for cpu, members in now.turns.items() for tid in members}
        wanted |= {tid: tuple(sorted(cpus)) for tid, cpus in now.be.items()}
        for tid, cpus in wanted.items():
            found = _affinity(tid)
            if found is None or found == cpus:
                self._strayed.pop(tid, None)
            elif self._strayed.get(tid) != found or self.keys.strays == "put back":
                self._stray(tid, cpus, found)
        self._strayed = {tid: cpus for tid, cpus in self._strayed.items() if tid in wanted}

    def _stray(self, tid: int, cpus: tuple[int, ...], found: tuple[int, ...]) -> None:
        self.metrics.strayed()
        back = self.keys.strays == "put back"
        if self._strayed.get(tid) != found:
            done = "put back" if back else "left"
            self.sharing.events.publish("strayed", tid=tid, cpus=list(found), belongs=list(cpus), done=done)
        self._strayed[tid] = found
        if back:
            self._try(lambda: self._journal.change(tid, affinity=cpus))


def _affinity(tid: int) -> tuple[int, ...] | None:
    """None where the thread has ended."""
    try:
        return tuple(sorted(os.sched_getaffinity(tid)))
    except ProcessLookupError:
        return None


def same_process(pid: int, started: int) -> bool:
    """Whether the number still belongs to the same process."""
    found = threads.stat(pid)
    return found is not None and found.started == started


def choose(keys: Serve, cpus: tuple[int, ...]) -> Chosen:
    """The slicer of the file, or the pick of the last probe of the first CPU of ls.

    Raises UserError for an unknown slicer, or one that cannot work on this host.
    """
    name = _best(cpus[-1]) if keys.slicer == "auto" else keys.slicer
    kind = slicers.SLICERS.get(name)
    if kind is None:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(slicers.SLICERS)}, or auto")
    if why := kind.missing(cpus[-1]):
        raise UserError(f"slicer {name}: {why}", remedy="slicer = auto, or another one")
    return Chosen(name, kind, kind.raises)


def _best(cpu: int) -> str:
    from windtunnel.sharing.probe import best  # it imports what measuring needs

    return best(cpu)
