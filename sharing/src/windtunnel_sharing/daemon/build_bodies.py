"""Tenants and pools as the API shows them."""

from typing import TYPE_CHECKING, Any

from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.bodies import Planned, PoolsView, TenantView
from windtunnel_sharing.daemon.roster import Tenant
from windtunnel_sharing.pools.plan import Plan, entitled
from windtunnel_sharing.pools.weights import CPU_WEIGHT

if TYPE_CHECKING:
    from windtunnel_sharing.daemon.core import Core


def tenants(sharing: Sharing) -> list[TenantView]:
    loads = sharing.plan.loads()
    return [_tenant(sharing.plan, loads, tenant) for tenant in sharing.tenants.values()]


def tenant(sharing: Sharing, one: Tenant) -> TenantView:
    return _tenant(sharing.plan, sharing.plan.loads(), one)


def pools(core: "Core") -> PoolsView:
    sharing, plan = core.sharing, core.sharing.plan
    weight = sum(plan.loads().values())
    return PoolsView(
        **_plan(plan),
        cpus=list(sharing.machine.cpus),
        slicer=core.chosen.kind.name,
        slice_ns=core.chosen.slice_ns,
        weight=weight,
        room=max(0, sharing.machine.ls_most * CPU_WEIGHT - weight),
        shield=core.shield,
        carried_ns=sharing.carried_ns,
        moved_ns=sharing.moved_ns,
    )


def planned(plan: Plan, changed: int, dry_run: bool) -> Planned:
    return Planned(**_plan(plan), dry_run=dry_run, changed=changed)


def _plan(plan: Plan) -> dict[str, Any]:
    return {"ls": list(plan.ls), "be": list(plan.be), "loads": plan.loads(), "overfull": plan.overfull()}


def _tenant(plan: Plan, loads: dict[int, int], one: Tenant) -> TenantView:
    wish = one.wish
    return TenantView(
        name=one.name,
        number=one.number,
        pool=wish.pool,
        parked=wish.parked,
        pid=one.pid,
        threads=list(one.tids),
        weight=wish.weight,
        min=wish.least,
        max=wish.most,
        cap=wish.cap,
        slo_p99_ns=wish.slo_ns,
        cpus=[cpu for key, cpu in plan.places.items() if key[0] == one.name],
        promised=wish.weight / CPU_WEIGHT,
        entitled=entitled(plan, loads, one.name),
        autoscaled=one.rule is not None,
        told=one.told,
    )
