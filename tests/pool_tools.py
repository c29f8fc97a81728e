"""Pools without a machine: tenants that need no process, and a carrier that only remembers."""

from windtunnel.errors import UserError
from windtunnel.sharing.daemon.events import Events
from windtunnel.sharing.daemon.keys import TenantKeys
from windtunnel.sharing.daemon.roster import Tenant
from windtunnel.sharing.daemon.sharing import Sharing
from windtunnel.sharing.pools.arrangement import Arrangement
from windtunnel.sharing.pools.plan import Machine


class Remembers:
    """Carries nothing out, or refuses to."""

    def __init__(self):
        self.now = Arrangement()
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
    tenant.pid = 1
    self._total += tenant.wish.weight if tenant.wish.shares else 0
    self._dirty = True


Pools._appear = _appear
