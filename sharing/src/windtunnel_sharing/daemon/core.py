"""The daemon without its sockets: the pools, the upkeep, and the last readings."""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from windtunnel.api.errors import Unforeseen, UserError, in_words
from windtunnel_sharing import changed_threads, costs, probe, slicers, threads
from windtunnel_sharing.daemon.allocation import Change, Sharing
from windtunnel_sharing.daemon.autoscale import Memory, step
from windtunnel_sharing.daemon.bodies import Report
from windtunnel_sharing.daemon.events import MOST_TOLD
from windtunnel_sharing.daemon.find_tenant import user_of
from windtunnel_sharing.daemon.keys import Autoscale, BadValue, Serve, TenantKeys
from windtunnel_sharing.daemon.metrics import Metrics
from windtunnel_sharing.daemon.roster import MOST_NEW, Tenant, Wish
from windtunnel_sharing.host_diagnosis import findings, of_members
from windtunnel_sharing.journal import SUFFIX, directory
from windtunnel_sharing.native import ThreadRefused
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.weights import CPU_WEIGHT
from windtunnel_sharing.rounds import MOST, Budgets, Pace, Rota
from windtunnel_sharing.slicers import Slicer, SliceReading
from windtunnel_sharing.threads import CannotChange, Fields

READING_NS = 1_000_000_000
"""Interval of the slicers' readings."""


AGAIN_NS = 10_000_000_000
"""A thread that strays a second time within it is confined."""

SEEK_PART = 10
"""Of the time one part goes to searches for absent tenants."""


@dataclass(frozen=True)
class Chosen:
    """The slicer of a daemon, and its slice."""

    kind: type[Slicer]
    slice_ns: int
    why: str = ""
    """How it was chosen, where the file leaves that to Windtunnel."""


class Core:
    """One thread does everything; `upkeep` runs every `keys.check`, `put_strays_right` at least as often."""

    def __init__(
        self,
        keys: Serve,
        sharing: Sharing,
        carrier: Carrier,
        chosen: Chosen,
        shield: str,
        budgets: Budgets | None = None,
    ):
        """`budgets`: without, there are no bounds."""
        self.keys, self.sharing, self.chosen, self.shield = keys, sharing, chosen, shield
        self._budgets = budgets or Budgets()
        self._pace = Pace(MOST_NEW, self._budgets.taken_in_s)
        self._looks, self._strays = Rota(), Rota()
        self._carrier = carrier
        carrier.on_replaced = self._replaced
        carrier.on_released = self._publish_released
        carrier.on_stays = self._publish_stays
        self.readings: dict[int, SliceReading] = {}
        self.metrics = Metrics(sharing)
        self._strayed: dict[int, tuple[int, ...]] = {}
        self._put_right_at: dict[int, int] = {}
        self._refused: dict[int, int] = {}
        """Threads at which a slicer ended, each with the time, by the monotonic clock."""
        self._unfit: list[CannotChange] = []
        self._tried: set[int] = set()
        """Threads that are confined, or cannot be."""
        self._read_at = time.monotonic_ns()
        self._sought = self._seek_again_at = 0
        """Searches for absent tenants until now, and when the next one may be."""
        self._said = ""

    def take_in(self, keys: TenantKeys, wish: Wish | None = None) -> Tenant:
        """Adds a tenant through the API. Raises UserError; then nothing has changed."""
        tenant = self.sharing.add(keys, True, wish)
        try:
            self.sharing.settle()
            if tenant.left_out:
                raise tenant.left_out
        except UserError:
            self.sharing.remove(tenant.name)
            self.sharing.settle()
            raise
        return tenant

    def take_in_all(self, tenants: Iterable[tuple[TenantKeys, Wish | None, int | None]]) -> None:
        """Adds those of the file, each with its wish and its process as `Sharing.add`, and carries them out at once: one by one, each would
        have all others carried out again. Raises UserError for what the file says that cannot be, whatever its tenants do."""
        for keys, wish, named in tenants:
            try:
                user_of(keys)
                self.sharing.add(keys, False, wish, named)
            except UserError as error:
                raise UserError(f"tenant {keys.name}: {error.message}", error.remedy) from None
        self.sharing.settle()

    def report(self, tenant: Tenant, told: Report) -> None:
        """A tenant's report. The autoscaler's step is carried out at once, as far as there is room."""
        tenant.told = told
        if tenant.rule is None or not tenant.wish.shares:
            return
        wish = tenant.wish
        taken = step(
            tenant.rule, wish.least, tenant.most, wish.slo_ns, wish.weight, tenant.memory, told, time.monotonic_ns()
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

    def upkeep(self) -> bool:
        """Looks for new processes and threads, and tenants that need CPU; carries out what is due. Returns whether more of that is due."""
        now = time.monotonic_ns()
        here = {tenant.name: tenant for tenant in self.sharing.tenants.values() if not tenant.is_sought}
        self.sharing.room = self._pace.room
        looks = 0
        for name, _ in self._budgets.looks.some(self._looks.in_turn(dict.fromkeys(here, (0,))), len(here)):
            looks += 1
            self._look(here[name])
        self._seek([tenant for tenant in self.sharing.tenants.values() if tenant.is_sought])
        self._leave_out()
        if self._try(self._carrier.bring_back):
            self.sharing.stir()
        begin = time.monotonic()
        self._try(self.sharing.settle)
        self._pace.took(self._pace.room - self.sharing.room, time.monotonic() - begin)
        behind = looks < len(here) or any(tenant.behind for tenant in self.sharing.tenants.values())
        more = self._try(self._carrier.release, not behind)
        self._try(self._warm)
        if now - self._read_at >= READING_NS:
            self._read_at = now
            self._try(self._read)
        return bool(more) or behind

    def autoscale(self, tenant: Tenant, rule: Autoscale | None) -> None:
        """The rule by which its reports change its weight; None: they do not. Raises BadValue for a rule that needs an SLO."""
        if rule and rule.by == "p99" and tenant.wish.slo_ns is None:
            raise BadValue(f"{tenant.name} has no slo_p99, which autoscaling by p99 needs", remedy="set it first")
        tenant.rule, tenant.memory = rule, Memory()
        self.sharing.events.publish("autoscaling", tenant=tenant.name, by=rule.by if rule else None)

    def reslice(self, slicer: str | None = None, slice_ns: int | None = None) -> None:
        """Another slicer, or another slice, for all CPUs of ls. Raises UserError; then nothing has changed."""
        before = self.chosen
        wanted = _chosen(slicer or before.kind.name, slice_ns or before.slice_ns, self.sharing.machine.cpus[-1])
        if (wanted.kind, wanted.slice_ns) == (before.kind, before.slice_ns):
            return
        while True:
            try:
                self._carrier.reslice(wanted.kind, wanted.slice_ns)
                break
            except CannotChange as error:
                self.sharing.leave_out(error)
                self.sharing.settle()
        self.chosen = wanted
        self.sharing.events.publish("slicer", slicer=wanted.kind.name, slice_ns=wanted.slice_ns)

    def died(self, tenant: Tenant) -> None:
        """Its pidfd is readable."""
        self.sharing.gone(tenant)
        self._try(self.sharing.settle)

    def _seek(self, absent: list[Tenant]) -> None:
        """One of them, each in its turn, and for a part of the time at most: any user may have thousands of processes."""
        begin = time.monotonic_ns()
        if absent and begin >= self._seek_again_at:
            self._sought += 1
            self._look(absent[self._sought % len(absent)])
            self._seek_again_at = begin + SEEK_PART * (time.monotonic_ns() - begin)

    def _look(self, tenant: Tenant) -> None:
        """A tenant at which the upkeep fails in a way that nobody foresaw is removed, so that the others are looked after."""
        try:
            with in_words():
                self.sharing.look(tenant)
                tenant.trouble = ""
                if len(tenant.tids) > 1 and tenant.weigh(time.monotonic_ns()):
                    self.sharing.stir()
        except Unforeseen as error:
            self.sharing.events.publish("quarantined", tenant=tenant.name, why=error.message, remedy=error.remedy)
            self.sharing.remove(tenant.name)
        except UserError as error:
            self.sharing.tell_trouble(tenant, error)

    def _replaced(self, cpu: int, why: UserError) -> None:
        """A slicer may end at a thread that is not in the shield yet; one at which it ends twice is left out, in the next upkeep."""
        self.sharing.events.publish("slicer replaced", cpu=cpu, why=why.message)
        if isinstance(why, ThreadRefused):
            now = time.monotonic_ns()
            self._refused = {tid: at for tid, at in self._refused.items() if now - at < AGAIN_NS}
            if why.tid in self._refused:
                self._unfit.append(CannotChange(why.tid, why.message, why.remedy))
            self._refused[why.tid] = now

    def _leave_out(self) -> None:
        while self._unfit:
            with suppress(CannotChange):  # the thread is nobody's any more
                self.sharing.leave_out(self._unfit.pop())

    def _publish_released(self, given: dict[int, Fields]) -> None:
        """One event for all, with some of them by their numbers: a tenant may start thousands."""
        tid, fields = next(iter(given.items()))
        words = ", ".join(f"{name} {value}" for name, value in fields.items())
        tids = list(given)[:MOST_TOLD]
        self.sharing.events.publish("released", count=len(given), tids=tids, name=threads.name(tid), given=words)

    def _publish_stays(self, said: list[str]) -> None:
        """One event for all, with some of the words."""
        self.sharing.events.publish("stays changed", count=len(said), why="; ".join(said[:MOST_TOLD]))

    def _try(self, action: Callable[..., object], *arguments: object) -> object:
        """Publishes a failure of the upkeep, once until there is another one."""
        try:
            with in_words():
                return action(*arguments)
        except UserError as error:
            self._publish_trouble(error)
        return None

    def _publish_trouble(self, error: UserError) -> None:
        if error.message != self._said:
            self.sharing.events.publish("trouble", why=error.message, remedy=error.remedy)
        self._said = error.message

    def _read(self) -> None:
        readings: dict[int, SliceReading] = {}
        for cpu in self._carrier.now.turns.keys() & self._carrier.slicers.keys():
            try:
                with in_words():
                    readings[cpu] = self._carrier.slicers[cpu].read()
            except UserError as error:
                self._carrier.broken(cpu, error)
                self.sharing.stir()
        self.readings = readings
        kind = self.chosen.kind
        names = {tid: tenant.name for tenant in self.sharing.tenants.values() for tid in tenant.tids}
        self.metrics.read(
            readings,
            {
                cpu: [said.code for said in findings(kind.name, seen, of_members(seen, kind.raises, names))]
                for cpu, seen in readings.items()
            },
        )

    def _warm(self) -> None:
        """Starts a slicer on the CPU that ls takes next."""
        plan = self.sharing.plan
        if len(plan.be) > self.sharing.machine.be_least:
            self._carrier.warm(plan.be[-1])

    def put_strays_right(self) -> None:
        """Looks for threads that are not on their CPUs, because they or another program chose others."""
        self._try(self._put_strays_right)

    def _put_strays_right(self) -> None:
        now = self._carrier.now
        owners = {tid: tenant for tenant in self.sharing.tenants.values() for tid in tenant.tids}
        wanted: dict[int, tuple[int, ...]] = {tid: (cpu,) for cpu, members in now.turns.items() for tid in members}
        wanted |= {tid: tuple(sorted(cpus)) for tid, cpus in now.be.items()}
        strays: dict[int, tuple[int, ...]] = {}
        for tid, cpus in wanted.items():
            found = _affinity(tid)
            if found is None or found == cpus:
                self._strayed.pop(tid, None)
            elif self._strayed.get(tid) != found or self.keys.strays == "put back":
                strays[tid] = found
        by_owner: dict[str, list[int]] = {}
        for tid in strays:
            by_owner.setdefault(owners[tid].name if tid in owners else "", []).append(tid)
        for _, tid in self._budgets.strays.some(self._strays.in_turn(by_owner), MOST):
            self._try(self._put_right, tid, wanted[tid], strays[tid], owners.get(tid), len(strays) > MOST)
        self._strayed = {tid: cpus for tid, cpus in self._strayed.items() if tid in wanted}
        self._put_right_at = {tid: at for tid, at in self._put_right_at.items() if tid in wanted}
        self._tried &= wanted.keys()

    def _put_right(
        self, tid: int, cpus: tuple[int, ...], found: tuple[int, ...], owner: Tenant | None, many: bool
    ) -> None:
        if owner and not owner.has(tid):
            self.sharing.stir()  # it ended, and another process's thread has its number
        else:
            self._stray(tid, cpus, found, owner, many)

    def _stray(self, tid: int, cpus: tuple[int, ...], found: tuple[int, ...], owner: Tenant | None, many: bool) -> None:
        """`many`: more than are put right at once, which is no accident: they are confined at the first look, so that this ends."""
        self.metrics.count("strays")
        back = self.keys.strays == "put back"
        if self._strayed.get(tid) != found:
            done = "put back" if back else "left"
            self.sharing.events.publish("strayed", tid=tid, cpus=list(found), belongs=list(cpus), done=done)
        self._strayed[tid] = found
        if back:
            last, now = self._put_right_at.get(tid), time.monotonic_ns()
            self._put_right_at[tid] = now
            once = not many and (last is None or now - last > AGAIN_NS)
            if once or not self._confine(tid, cpus, owner):
                self._try(self._carrier.pin, tid, cpus)

    def _confine(self, tid: int, cpus: tuple[int, ...], owner: Tenant | None) -> bool:
        """Whether it could be done. Tells the result once for each thread."""
        facts = {"tenant": owner.name if owner else None, "tid": tid}
        try:
            self._carrier.confine(tid, cpus)
        except UserError as error:
            if tid not in self._tried:
                self.sharing.events.publish("not confined", **facts, why=error.message, remedy=error.remedy)
            return False
        else:
            if tid not in self._tried:
                self.sharing.events.publish("confined", **facts, cpus=list(cpus))
                self.metrics.count("confined")
            return True
        finally:
            self._tried.add(tid)


def _affinity(tid: int) -> tuple[int, ...] | None:
    """None where the thread has ended, or is hidden from us."""
    try:
        return tuple(sorted(os.sched_getaffinity(tid)))
    except OSError:
        return None


def choose(keys: Serve, cpus: tuple[int, ...], say: Callable[[str], None]) -> Chosen:
    """Slicer and slice of the file; what it leaves open is chosen by the probes of the first CPU of ls, which is probed where it was
    not before.

    Raises UserError for an unknown slicer, or one that cannot work on this host.
    """
    cpu = cpus[-1]
    if keys.slicer != "auto":
        named = _chosen(keys.slicer, probe.SLICE_NS if keys.slice == "auto" else keys.slice, cpu)
        if keys.slice != "auto" or keys.slicer == "tick":
            return named
    slice_ns = None if keys.slice == "auto" else keys.slice
    probes = costs.kept(cpu, keys.shield) or [_probed(cpu, keys.shield, say)]
    capped = any(tenant.cap for tenant in keys.tenant)
    able = [
        name for name, kind in slicers.SLICERS.items() if kind.missing(cpu) is None and not (capped and kind.raises)
    ]
    found = costs.choose(probes, keys.max_loss, slice_ns, able if keys.slicer == "auto" else [keys.slicer])
    if found is None:
        name = "kicker" if keys.slicer == "auto" else keys.slicer
        return _chosen(name, slice_ns or probe.SLICE_NS, cpu, "the probe measured nothing of it")
    over = "" if found.loss <= keys.max_loss else f", more than max_loss = {keys.max_loss:g}"
    why = f"by {len(probes)} probe{'s' if len(probes) > 1 else ''}: {found.loss:.1%} lost{over}"
    return _chosen(found.name, found.slice_ns, cpu, why)


def _chosen(name: str, slice_ns: int, cpu: int, why: str = "") -> Chosen:
    kind = slicers.SLICERS.get(name)
    if kind is None:
        raise BadValue(f'no slicer "{name}"', remedy=f"one of {', '.join(slicers.SLICERS)}, or auto")
    if missing := kind.missing(cpu):
        raise UserError(f"slicer {name}: {missing}", remedy="slicer = auto, or another one")
    return Chosen(kind, slice_ns, why)


def _probed(cpu: int, shield: bool, say: Callable[[str], None]) -> costs.Kept:
    say(f"no probe of CPU {cpu} with this kernel and placement yet: the slicers are measured first, for half a minute")
    with changed_threads.held(directory() / f"probe-cpu{cpu}{SUFFIX}") as journal:
        found = probe.probe(journal, cpu, shield=shield)
    kept = probe.to_keep(found)
    costs.keep(kept, cpu, shield)
    return kept
