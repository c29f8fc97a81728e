"""Requests to the pools: granted or refused as a whole, and carried out.

`ask` grants or refuses at once and touches nothing; `settle` carries out what was granted since. Several requests may come
in between, so a thousand changes are carried out at once: `settle_soon` delays what can wait. What cannot be carried out is undone as a whole.
"""

import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from windtunnel.api.errors import UserError, in_words
from windtunnel_sharing.daemon.events import MOST_TOLD, Events
from windtunnel_sharing.daemon.keys import MOST_TENANTS, BadValue, TenantKeys
from windtunnel_sharing.daemon.roster import MOST_NEW, Tenant, Wish, first_wish
from windtunnel_sharing.pools.plan import Arrangement, Machine, Plan, arrange, check_room, plan
from windtunnel_sharing.pools.shield import Cap
from windtunnel_sharing.pools.weights import Share, dedicated
from windtunnel_sharing.threads import CannotChange

MOST_THREADS = 4096
"""Of all tenants: the members that a slicer takes (slicers/slicer_main.cc)."""
AGAIN_S = 1.0
"""Between two tries to share a tenant that was left out: each may have everything carried out twice."""
BACK = "back in"
PACE_S = 0.05
"""Least time between two changes of weights alone. A slicer compares weights with the used time ten times per second."""


class Unknown(UserError):
    """There is no such tenant."""


class Carries(Protocol):
    """Of windtunnel_sharing.pools.apply.Carrier, what is needed here."""

    now: Arrangement
    moved_at_ns: int

    def carry(self, to: Arrangement, caps: Mapping[str, Cap]) -> frozenset[int]: ...


@dataclass(frozen=True)
class Change:
    """Of one tenant: fields of its wish."""

    name: str
    fields: Mapping[str, Any]


class Sharing:
    """The tenants of one machine. Not for several threads at once."""

    def __init__(self, machine: Machine, carrier: Carries, events: Events, base: Path = Path()):
        self.machine, self.carrier, self.events, self.base = machine, carrier, events, base
        self.tenants: dict[str, Tenant] = {}
        self.plan = Plan((), machine.cpus)
        self.on_process: Callable[[Tenant], None] = lambda tenant: None
        """Called with a tenant whose process has just been found."""
        self.on_leave: Callable[[int], object] = lambda pid_fd: None
        """Called before the descriptor of a tenant's process is closed."""
        self.room = MOST_NEW
        """For new threads, of all tenants, until the next upkeep."""
        self._settled: dict[str, Wish] = {}
        self._news: list[tuple[str, dict[str, Any]]] = []
        self._total = 0
        self._numbers: dict[int, Tenant] = {}
        self._dirty = self._urgent = False
        self._processes = select.poll()
        self.later: Callable[[float], object] | None = None
        """Calls `settle_late` after a delay in seconds; without it nothing is delayed."""
        self._put_off = False
        self._tried_again_at = 0.0
        self.carried_ns = self.moved_ns = 0
        """Time that the last change took, and the time of it until every thread was on its CPU."""
        self._carried_at = -PACE_S

    # the tenants

    def add(self, keys: TenantKeys, added: bool = False, wish: Wish | None = None, named: int | None = None) -> Tenant:
        """Adds a tenant. `named`: of `Tenant`. Raises UserError if its name is taken or there are too many, and for one of the API that cannot be
        shared. One of the file that cannot be is told of, and tried at each look: whatever a tenant does, the daemon starts for the others."""
        if keys.name in self.tenants:
            raise UserError(f'there is a tenant "{keys.name}"', remedy="use another name, or change this tenant")
        if len(self.tenants) >= MOST_TENANTS:
            raise UserError(f"a daemon has at most {MOST_TENANTS} tenants")
        number = max(self._numbers, default=0) + 1
        tenant = Tenant(keys.name, number, keys, wish or first_wish(keys), added, named=named, rule=keys.autoscale)
        self.tenants[keys.name] = self._numbers[number] = tenant
        try:
            self._appear(tenant)
        except UserError as error:
            if added:
                self._forget(tenant)
                raise
            self.tell_trouble(tenant, error)
        if added and tenant.pid is None:
            self._forget(tenant)
            raise BadValue(f"{keys.name}: no process {keys.pid}")
        self.events.publish("added", tenant=keys.name, pid=tenant.pid, pool=tenant.wish.pool, weight=tenant.wish.weight)
        return tenant

    def tell_trouble(self, tenant: Tenant, error: UserError) -> None:
        """Publishes what a look at a tenant failed at, once until it is something else."""
        if error.message != tenant.trouble:
            self.events.publish("trouble", tenant=tenant.name, why=error.message, remedy=error.remedy)
        tenant.trouble = error.message

    def remove(self, name: str) -> None:
        """Restores a tenant's threads and removes it."""
        self._forget(self.tenant(name))
        self.events.publish("removed", tenant=name)

    def tenant(self, name: str) -> Tenant:
        """By its name, or its number. Raises UserError."""
        found = self.tenants.get(name)
        if found is None and name.isascii() and name.isdecimal() and len(name) <= 6:
            found = self._numbers.get(int(name))
        if found is None:
            raise Unknown(f'no tenant "{name[:64]}"', remedy="windtunnel share list shows them")
        return found

    def look(self, tenant: Tenant) -> None:
        """Whether its process and threads are still the same. Raises UserError where it has come and does not fit."""
        if tenant.found is None:
            self._appear(tenant)
            return
        if tenant.left_out and time.monotonic() >= max(tenant.again_at, self._tried_again_at + AGAIN_S):
            self._tried_again_at = time.monotonic()
            self._bring_back(tenant)
        before = tenant.tids
        taken = {pid for other in self._others(tenant) for pid in other.processes} if tenant.found.groups else ()
        if tenant.look(self.base, taken, self.room):
            self._check_threads(tenant, before)
            self.stir()
            came, went = set(tenant.tids) - set(before), set(before) - set(tenant.tids)
            self.room = max(0, self.room - len(came))
            for what, tids in (("thread in", came), ("thread out", went)):
                if tids:
                    self.events.publish(what, tenant=tenant.name, count=len(tids), tids=sorted(tids)[:MOST_TOLD])

    def _check_threads(self, tenant: Tenant, before: tuple[int, ...] = ()) -> None:
        """Raises UserError, with the tenant's threads as `before`, if they became more than half of what the others leave of those that a slicer
        takes: a tenant must not stop the changes of the others, and there is room for the next one."""
        count = len(tenant.tids) + tenant.behind
        room = MOST_THREADS - sum(len(other.tids) + other.behind for other in self._others(tenant))
        if count <= max(room // 2, len(before)):
            return
        tenant.tids, tenant.behind = before, 0
        raise UserError(
            f"{tenant.name}: its {count:,} threads are more than half of the {room:,} that the others leave of {MOST_THREADS:,}",
            remedy="name those that poll: threads = a pattern",
        )

    def stir(self) -> None:
        """Makes `settle` act without a request: threads came, went, or need CPU now."""
        self._dirty = self._urgent = True

    def gone(self, tenant: Tenant) -> None:
        """Its process has ended: the weight is free again. A tenant of the API is removed."""
        self.events.publish("ended", tenant=tenant.name, pid=tenant.pid, weight=tenant.wish.weight)
        if tenant.added:
            self._forget(tenant)
        else:
            self._leave(tenant)

    def _appear(self, tenant: Tenant) -> None:
        try:
            with in_words():
                tenant.look(self.base, room=MOST_NEW)
            self._check_threads(tenant)
            for other in self._others(tenant):
                if both := other.processes.keys() & tenant.processes.keys():
                    raise UserError(
                        f"{tenant.name}: process {min(both)} is the tenant {other.name} already",
                        "a process is one tenant",
                    )
            check_room(self._shares({tenant.name: tenant.wish}), self.machine)
        except UserError:
            tenant.leave()
            raise
        if tenant.found is None:
            return
        self.room = max(0, self.room - len(tenant.tids))
        self._total += tenant.wish.weight if tenant.wish.shares else 0
        self.stir()
        if tenant.pid_fd is not None:
            self._processes.register(tenant.pid_fd, select.POLLIN)
        self.on_process(tenant)

    def _others(self, tenant: Tenant) -> Iterator[Tenant]:
        return (other for other in self.tenants.values() if other is not tenant)

    def _leave(self, tenant: Tenant) -> None:
        if tenant.pid is not None and tenant.wish.shares:
            self._total -= tenant.wish.weight
        if tenant.pid_fd is not None:
            self._processes.unregister(tenant.pid_fd)
            self.on_leave(tenant.pid_fd)
        tenant.leave()
        self.stir()

    def _forget(self, tenant: Tenant) -> None:
        self._leave(tenant)
        del self.tenants[tenant.name], self._numbers[tenant.number]

    def _shares(self, wishes: Mapping[str, Wish] = MappingProxyType({})) -> list[Share]:
        """Of the tenants of `ls`, if these were their wishes: what is promised, also to one that is left out for now, or whose threads have
        ended."""
        wished = [(t, wishes.get(t.name, t.wish)) for t in self.tenants.values() if t.pid is not None]
        return [
            Share(t.name, wish.weight, len(t.tids) if t.name in wishes else max(len(t.tids), dedicated(wish.weight)))
            for t, wish in wished
            if wish.shares
        ]

    def _used_shares(self) -> list[Share]:
        """What of that is used now."""
        here = [t for t in self.tenants.values() if t.takes_part and t.wish.shares]
        return [Share(t.name, min(t.wish.weight, t.usable), len(t.tids)) for t in here]

    # requests

    def ask(self, changes: Iterable[Change], by: str) -> None:
        """Grants all changes or none. Raises UserError. `settle` carries them out."""
        wishes, total = self._considered(changes)
        for name, wish in wishes.items():
            tenant = self.tenants[name]
            if wish == tenant.wish:
                continue
            self._settled.setdefault(name, tenant.wish)
            self._news.append(
                ("changed", {"tenant": name, "by": by, "from": tenant.wish.weight, "weight": wish.weight})
            )
            self._urgent = self._urgent or not _weight_alone(tenant.wish, wish)
            tenant.wish, self._dirty = wish, True
        self._total = total
        self._urgent = self._urgent or dedicated(total) != max(1, len(self.plan.ls))

    def preview(self, changes: Iterable[Change]) -> Plan:
        """The plan that these changes would lead to. Raises UserError as `ask`."""
        wishes, _ = self._considered(changes)
        return plan(self._shares(wishes), self.machine, self.plan)

    def exit(self, by: str) -> None:
        """PvCC's EXIT: weights as at the beginning, tenants back to `be`, the cores given back."""
        for tenant in self.tenants.values():
            if tenant.wish.pool == "ls":
                self._settled.setdefault(tenant.name, tenant.wish)
                tenant.wish = replace(tenant.wish, weight=tenant.keys.weight, parked=True)
        self._total = 0
        self.stir()
        self._news.append(("exit", {"by": by}))

    def _considered(self, changes: Iterable[Change]) -> tuple[dict[str, Wish], int]:
        """Wishes after the changes, and the weight of `ls` then."""
        wishes: dict[str, Wish] = {}
        total = self._total
        for change in changes:
            tenant = self.tenant(change.name)
            before = wishes.get(tenant.name, tenant.wish)
            after = tenant.asked(before, change.fields)
            if tenant.pid is not None:
                total += (after.weight if after.shares else 0) - (before.weight if before.shares else 0)
            wishes[tenant.name] = after
        if total > self._total and dedicated(total) > self.machine.ls_most:
            check_room(self._shares(wishes), self.machine)
        return wishes, total

    # carrying out

    def settle_soon(self) -> None:
        """As `settle`; but weights by which no CPU changes pools and no tenant has more lanes wait until PACE_S after the last carrying
        out. What then cannot be is taken back and told as an event."""
        rest = self._carried_at + PACE_S - time.monotonic()
        if not self._dirty or self._urgent or self.later is None or rest <= 0:
            self.settle()
        elif not self._put_off:
            self._put_off = True
            self.later(rest)

    def settle_late(self) -> None:
        """What `settle_soon` has put off."""
        self._put_off = False
        try:
            self.settle()
        except UserError as error:
            self.events.publish("not carried out", why=error.message, remedy=error.remedy)

    def settle(self) -> None:
        """Carries out what was granted. Raises UserError where that cannot be; then nothing of it was.

        Tenants whose process has ended are out before: its number may be another's by now.
        """
        for fd, _ in self._processes.poll(0):
            self.gone(next(tenant for tenant in self.tenants.values() if tenant.pid_fd == fd))
        if not self._dirty:
            return
        begin = time.perf_counter_ns()
        try:
            made = self._carry_all()
        except Exception:
            self._take_back()
            raise
        self.carried_ns, self.moved_ns = time.perf_counter_ns() - begin, self.carrier.moved_at_ns - begin
        self._carried_at = time.monotonic()
        if made.ls != self.plan.ls:
            self.events.publish("cores", ls=list(made.ls), be=list(made.be), took_ns=self.carried_ns)
        for (name, number), cpu in made.places.items():
            before = self.plan.places.get((name, number), cpu)
            if before != cpu:
                self.events.publish("moved", tenant=name, lane=number or None, **{"from": before, "to": cpu})
        for what, facts in self._news:
            self.events.publish(what, **facts)
        self.plan, self._dirty, self._urgent = made, False, False
        self._settled.clear()
        self._news.clear()

    def _carry_all(self) -> Plan:
        """Without the tenants that the kernel does not let us share."""
        while True:
            made = plan(self._used_shares(), self.machine, self.plan)
            try:
                self._carry(made)
            except CannotChange as error:
                self.leave_out(error)
            else:
                return made

    def leave_out(self, why: CannotChange) -> None:
        """Leaves the tenant out whose thread cannot be changed, so that the others can be. Raises it where it is nobody's."""
        tenant = next((one for one in self.tenants.values() if one.takes_part and why.tid in one.tids), None)
        if tenant is None:
            raise why
        tenant.leave_out(why)
        self._news = [(what, facts) for what, facts in self._news if (what, facts.get("tenant")) != (BACK, tenant.name)]
        self.stir()
        self.events.publish("left out", tenant=tenant.name, why=why.message, remedy=why.remedy)

    def _bring_back(self, tenant: Tenant) -> None:
        """Tries again to share one that was left out."""
        tenant.left_out = None
        self._news.append((BACK, {"tenant": tenant.name}))
        self.stir()

    def _carry(self, made: Plan) -> None:
        here = [tenant for tenant in self.tenants.values() if tenant.takes_part]
        crews = {tenant.name: tenant.crew for tenant in here if tenant.wish.shares}
        capped = any(tenant.wish.cap for tenant in here if tenant.wish.shares)
        caps = {t.name: Cap(t.wish.weight, t.wish.cap) for t in here if t.wish.shares} if capped else {}
        ended = self.carrier.carry(arrange(made, crews, [t.crew for t in here if not t.wish.shares]), caps)
        for tenant in here if ended else ():
            tenant.tids = tuple(tid for tid in tenant.tids if tid not in ended)

    def _take_back(self) -> None:
        for name, wish in self._settled.items():
            if name in self.tenants:
                self.tenants[name].wish = wish
        self._settled.clear()
        self._news.clear()
        self._total = sum(share.weight for share in self._shares())
        self.stir()  # threads that came and went since are still to be carried out


def _weight_alone(before: Wish, after: Wish) -> bool:
    """Nothing else is different that has to be carried out, and the tenant has as many lanes as before."""
    lanes = dedicated(before.weight) == dedicated(after.weight)
    return lanes and before.shares == after.shares and before.cap == after.cap
