"""How far is the sharing simulator, with the costs that `share probe` measured here, from what tenants on this host see?

2 to 16 native tenants on one core under --slicer, slices of 100 to 1000 us, 10 to 80% of what the core can serve; p99 from a request's
intended moment, arrivals made inside the tenants. With each the simulator's p99 for a machine of this host's costs. No cost comes from
the points: a turn's and its lateness are the probe's, a request's is that of a tenant alone. Every point is measured --pairs times, in
an order drawn anew for each round; the median counts. A trial in which others had more than 5% of the core is run again, once, and then
left out by name. Memory modes mean nothing here.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from statistics import median

from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent

from windtunnel.errors import UserError
from windtunnel_sharing import changed_threads, costs, polling_trial, probe
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.journal import SUFFIX, directory
from windtunnel_sharing.polling_trial import Load, Trial
from windtunnel_sharing.simulate import POLICIES, Machine, Phase, Plan, Tenant, simulate
from windtunnel_sharing.simulate.plan import SECOND
from windtunnel_sharing.slicers import SLICERS
from windtunnel_sharing.slicers.readings import own_share

TENANTS, SLICES_US, LOADS = (2, 4, 8, 16), (100, 200, 500, 1000), (0.1, 0.4, 0.8)
SERVICE_NS = 2500
ALONE = Load(1, 1.5 * SECOND / SERVICE_NS, SERVICE_NS)
MOST_ROUNDS = 5
WITHIN = 0.25
LEAST_OWN_SHARE = 0.95
CARRIED = 0.97
"""Of what is offered: below, a point has no p99 that could be told."""
ATTEMPTS = 2
GOAL = Goal(90.0, "at least")


@dataclass(frozen=True)
class Setting:
    tenants: int
    slice_ns: int
    load: float
    """Of what the core serves beside its turns, all tenants together."""


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    names = [name for name in SLICERS if name.removesuffix("-far") in POLICIES]
    parser.add_argument("--slicer", choices=names, default="rotor-far", help="slicer of the live tenants")


def measure(session: Session) -> list[Result]:
    slicer = session.options.slicer
    with changed_threads.held(directory() / f"probe-cpu{session.cpu}{SUFFIX}") as journal:
        probes = costs.kept(session.cpu)
        if not probes:
            costs.keep(probe.to_keep(probe.probe(journal, session.cpu)), session.cpu)
            probes = costs.kept(session.cpu)
        machine = costs.machine(probes, slicer)
        cost_ns = request_ns(session, journal)
        session.log(f"{machine}; a request costs {cost_ns} ns")
        trials: dict[Setting, list[Trial]] = {}
        for one, trial in measured(session, journal, slicer, machine, cost_ns):
            trials.setdefault(one, []).append(trial)
    return [compared(session, slicer, trials, machine, cost_ns), *itself(session, trials, machine, cost_ns)]


def request_ns(session: Session, journal: Journal) -> int:
    """CPU time of a request with all that a tenant does around it: of one that is alone and overloaded."""
    trial = polling_trial.run(journal, "tick", session.cpu, SECOND // 1000, ALONE, session.seconds)
    (alone,) = trial.tenants
    return round(alone.own_ns / alone.served)


def measured(session: Session, journal: Journal, slicer: str, machine: Machine, cost_ns: int):
    """Settings with their trials, round by round."""
    settings = [Setting(n, us * 1000, load) for n, us, load in product(TENANTS, SLICES_US, LOADS)]
    for number in range(max(min(session.options.pairs, MOST_ROUNDS), 1)):
        order = list(settings)
        Random(number).shuffle(order)
        for one in order:
            load = Load(one.tenants, rate(one, machine, cost_ns), SERVICE_NS)
            if found := quiet_trial(session, journal, slicer, one, load, 1 + number * ATTEMPTS):
                yield one, found


def rate(one: Setting, machine: Machine, cost_ns: int) -> float:
    """Requests a second of each tenant."""
    useful = 1 - (machine.kick_ns + machine.switch_ns) / one.slice_ns - machine.noise.share
    return one.load * useful * SECOND / (one.tenants * cost_ns)


def quiet_trial(session: Session, journal: Journal, slicer: str, one: Setting, load: Load, seed: int) -> Trial | None:
    """The first trial without other threads on the core, of at most ATTEMPTS."""
    for attempt in range(ATTEMPTS):
        found = polling_trial.run(
            journal, slicer, session.cpu, one.slice_ns, load, session.seconds, seed=seed + attempt
        )
        own = own_share(found.slicer)
        if own is None or own >= LEAST_OWN_SHARE:
            return found
    session.log(f"{words(one)}: excluded, other threads ran on the core")
    return None


def simulated_p99(one: Setting, slicer: str, machine: Machine, cost_ns: int, seconds: float) -> float:
    """ns; median of three seeds."""
    each = Phase(0, rate(one, machine, cost_ns))
    alike = tuple(Tenant(f"t{n}", phases=(each,), service_ns=cost_ns, queue=None) for n in range(one.tenants))
    plan = Plan(alike, slicer.removesuffix("-far"), one.slice_ns, int(seconds * SECOND), machine=machine)
    return median(simulate(replace(plan, seed=seed)).document()["all"]["p99"] for seed in (1, 2, 3))


def compared(
    session: Session, slicer: str, points: dict[Setting, list[Trial]], machine: Machine, cost_ns: int
) -> Result:
    rows = []
    for one, trials in points.items():
        if not carried(one, trials, machine, cost_ns):
            session.log(f"{words(one)}: overload, whose p99 is the length of the trial")
            continue
        live, said = median(map(p99_ns, trials)), simulated_p99(one, slicer, machine, cost_ns, session.seconds)
        rows.append((one, live, said))
        session.log(f"{words(one)}: live {live / 1000:.0f} us, simulated {said / 1000:.0f} us, {said / live - 1:+.0%}")
    if not rows:
        raise UserError("no point was carried", remedy="an idle host")
    errors = [abs(said / live - 1) for _, live, said in rows]
    above = sorted(live / said for _, live, said in rows)
    share = 100 * sum(error <= WITHIN for error in errors) / len(errors)
    return Result(
        name=f"points of {slicer} whose p99 is simulated within {WITHIN:.0%}",
        memory=session.memory,
        spread=extent([share]),
        unit="%",
        ours=f"error {100 * median(errors):.1f}% in the median, {100 * max(errors):.0f}% at most; nine of ten live p99 below "
        f"{above[int(0.9 * len(above))]:.2f} x the simulated",
        reference=f"{len(rows)} of {len(points)} points live",
        goal=GOAL,
        verdict=Verdict(share >= GOAL.limit, "met" if share >= GOAL.limit else "missed"),
        details={
            "machine": vars(machine) | {"noise": vars(machine.noise)},
            "points": [{"setting": vars(one), "live_ns": live, "simulated_ns": said} for one, live, said in rows],
        },
    )


def p99_ns(trial: Trial) -> float:
    """Raises UserError where nothing was served."""
    found = trial.latency_us(99)
    if found is None:
        raise UserError("a trial served nothing", remedy="an idle host")
    return 1e3 * found


def carried(one: Setting, trials: Sequence[Trial], machine: Machine, cost_ns: int) -> bool:
    served = [trial.served / trial.seconds / one.tenants for trial in trials]
    return median(served) >= CARRIED * rate(one, machine, cost_ns)


def itself(session: Session, points: dict[Setting, list[Trial]], machine: Machine, cost_ns: int) -> list[Result]:
    """How well a trial is told by the others of its point: what of the errors is the host's. Nothing with fewer than three rounds."""
    errors = []
    for one, trials in points.items():
        values = [p99_ns(trial) for trial in trials]
        if len(values) > 2 and carried(one, trials, machine, cost_ns):
            errors += [abs(median(values[:n] + values[n + 1 :]) / value - 1) for n, value in enumerate(values)]
    if not errors:
        return []
    share = 100 * sum(error <= WITHIN for error in errors) / len(errors)
    name = f"live trials that the median of their point's others tells within {WITHIN:.0%}"
    return [Result(name=name, memory=session.memory, spread=extent([share]), unit="%")]


def words(one: Setting) -> str:
    return f"{one.tenants} tenants, {one.slice_ns // 1000} us, load {one.load:.0%}"


if __name__ == "__main__":
    main(__doc__, measure, more=more)
