"""Cores as the daemon shares them: shield, softirq threads, slicers. The daemon, the probe, the figures and the benches share cores by
this alone, so that what one measures is what another one runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache

from windtunnel.api.errors import UserError
from windtunnel_sharing import costs
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools import cgroups
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.shield import NoRealTime, Shield, clean
from windtunnel_sharing.rounds import Budgets
from windtunnel_sharing.slicers import Slicer
from windtunnel_sharing.softirqs import softirqs_first


@dataclass(frozen=True)
class Shielding:
    """The shield, and in words which one, or why there is none."""

    shield: Shield | None
    words: str


@contextmanager
def shielding(wanted: bool, raises: bool, last: ExitStack | None = None) -> Iterator[Shielding]:
    """The shield of this process, made with the rights of the moment and removed at every end. `raises`: of a slicer that makes
    tenants SCHED_FIFO. `last`: of `remove_groups.swept`. The shields of those who were killed are removed.

    Raises UserError where the slicer cannot work in the shield of this host.
    """
    found = cgroups.find()
    if isinstance(found, cgroups.Hierarchy):
        clean(found)
    made = _made(found, raises) if wanted else Shielding(None, "none: `shield = false`")
    with made.shield.swept(last) if made.shield else nullcontext():
        yield made


def _made(found: cgroups.Hierarchy | cgroups.Nowhere, raises: bool) -> Shielding:
    if isinstance(found, cgroups.Nowhere):
        return Shielding(None, f"none: {found.why}")
    try:
        shield = Shield(found, raises)
    except NoRealTime:
        raise
    except UserError as error:
        return Shielding(None, f"none: {error.message}")
    return Shielding(shield, f"cgroup v{found.version} {shield.path}")


@contextmanager
def shared_cores(
    journal: Journal,
    kind: type[Slicer],
    cpus: Sequence[int],
    slice_ns: int,
    shield: Shield | None,
    starting: Callable[[], AbstractContextManager[None]] = nullcontext,
    budgets: Budgets | None = None,
) -> Iterator[Carrier]:
    """What carries out arrangements on these CPUs. `starting`, `budgets`: of `Carrier`. At the end every thread is restored."""

    @cache
    def turn_cost_ns(cpu: int, slicer: str) -> int:
        return costs.turn_cost_ns(costs.kept(cpu, shield is not None), slicer)

    with (
        softirqs_first(journal, cpus),
        closing(Carrier(journal, kind, slice_ns, shield, starting, turn_cost_ns, budgets)) as carrier,
    ):
        yield carrier
