"""Pools without a machine: tenants that need no process, and a carrier that only remembers."""

from sample_sharing import member, reading

from windtunnel.engine.histogram import Histogram
from windtunnel.errors import UserError
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.events import Events
from windtunnel_sharing.daemon.find_tenant import Found
from windtunnel_sharing.daemon.keys import TenantKeys
from windtunnel_sharing.daemon.roster import Tenant
from windtunnel_sharing.pools.plan import Arrangement, Machine
from windtunnel_sharing.slicers import Member, Slicer


class Remembers:
    """Carries nothing out, or refuses to."""

    def __init__(self):
        self.now = Arrangement()
        self.moved_at_ns = 0
        self.carried: list[Arrangement] = []
        self.refuses: str | None = None
        self.ended: frozenset[int] = frozenset()

    def carry(self, to, caps):
        if self.refuses:
            raise UserError(self.refuses)
        self.now = to
        self.caps = caps
        self.carried.append(to)
        return self.ended


class Pools(Sharing):
    """`tenants` name -> keys of a tenant; each has `threads` (1) of its own, from 100 on."""

    def __init__(self, cpus=(0, 1, 2), be_least=1, **tenants):
        super().__init__(Machine(tuple(cpus), be_least), Remembers(), Events())
        for name, keys in tenants.items():
            self.join(name, **keys)

    def join(self, name, threads=1, **keys):
        keys = TenantKeys(name=name, pid=1, **keys)
        tenant = self.add(keys)
        first = 100 * tenant.number
        tenant.tids = tuple(range(first, first + threads))
        self.settle()
        return tenant

    def weights(self):
        return {name: tenant.wish.weight for name, tenant in self.tenants.items()}


def _appear(self, tenant: Tenant) -> None:
    """Without /proc: everybody is there."""
    tenant.found = Found(1, 0)
    self._total += tenant.wish.weight if tenant.wish.shares else 0
    self.stir()


Pools._appear = _appear


class Turns(Slicer):
    """A slicer that only pins its members: for what pools and daemon do, not for slices."""

    name = "turns"
    broken = False

    def __init__(self, journal, *values):
        super().__init__(journal, *values)
        self.members: list[Member] = []
        self.history: list[list[Member]] = []

    @classmethod
    def missing(cls, cpu):
        return None

    def start(self, cpu, slice_ns):
        self.cpu, self.slice_ns = cpu, slice_ns

    def set_members(self, members):
        if self.broken:
            raise UserError("turns has ended")
        before, now = ({one.tid for one in them} for them in (self.members, members))
        for tid in now - before:
            self.journal.change(tid, affinity=(self.cpu,), nice=1)
        for tid in before - now:
            self.journal.put_back(tid)
        self.members = members
        self.history.append(members)

    def set_slice(self, slice_ns):
        self.slice_ns = slice_ns

    def read(self):
        if self.broken:
            raise UserError("turns has ended")
        total = sum(one.weight for one in self.members)
        shares = {one.tid: one.weight / total for one in self.members}
        return reading(
            self.cpu,
            *(member(one.tid, one.weight, share=shares[one.tid], entitled=shares[one.tid]) for one in self.members),
            slice_ns=self.slice_ns,
            slice=Histogram(counts=[(98304, 3)], bits=6, total=3, sum=300_000, max=100_000, min=100_000),
            kicks=3,
        )

    def stop(self):
        self.set_members([]) if not self.broken else [self.journal.put_back(m.tid) for m in self.members]
        self.members = []
