"""How far are the sharing simulator, and a fitted model at held-out settings, from what tenants on this host see?

The points of Fig. 10 (PvCC): 1 to 32 native tenants on one core under the kicker, slices of 50, 100, 500 and 1000 us, a tenth and six
tenths of what the core carries; p99 from a request's intended moment, arrivals made inside the tenants. With each the simulator's
p99, whose costs of a switch, of a request and lateness of kicks come from trials of their own (overload, and a tenant alone), not from the
points. Every point is measured --pairs times, in an order drawn anew for each round; the median counts. A trial in which others
had more than 5% of the core is run again, once, and then left out by name.

The model of `windtunnel share fit` is fitted to the same points and to overloaded ones, and judged by settings that it was not fitted to.
Memory modes mean nothing here.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from random import Random
from statistics import median

from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent
from pydantic_core import to_jsonable_python

from windtunnel.host import facts
from windtunnel.sharing.model.calibrate import calibrate
from windtunnel.sharing.model.fit import GOAL as MODEL_GOAL
from windtunnel.sharing.model.fit import fit
from windtunnel.sharing.model.live import Measured, Setting, run
from windtunnel.sharing.model.points import LEAST_OWN_SHARE, Point
from windtunnel.sharing.polling_trial import Trial
from windtunnel.sharing.simulate import Machine, Phase, Plan, Tenant, simulate
from windtunnel.sharing.simulate.plan import SECOND
from windtunnel.sharing.slicers import SliceReading
from windtunnel.sharing.tenant import TenantWindow

TENANTS, SLICES_US, LOADS = (1, 2, 4, 8, 16, 32), (50, 100, 500, 1000), (0.1, 0.6)
SERVICE_NS = 2500
SLICER = "kicker"
CALIBRATION = ((1, 300, 1.5), (1, 300, 0.15), (8, 120, 1.5), (2, 1000, 1.5), (4, 50, 1.5), (4, 300, 1.5))
"""Tenants, slice in us, load: overload, and a tenant alone."""
MOST_ROUNDS = 5
WITHIN = 0.25
CARRIED = 0.97
"""Of what is offered: below, a point has no p99 that could be told."""
ATTEMPTS = 2
GOAL = Goal(90.0, "at least")


Runs = list[tuple[Setting, Measured]]


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--record", type=Path, metavar="FILE", help="only measure, and append the trials to FILE")
    parser.add_argument(
        "--from", type=Path, dest="pool", metavar="FILE", help="read trials from FILE and measure nothing"
    )


def measure(session: Session) -> list[Result]:
    if session.options.record:
        record(session, session.options.record)
        return []
    trials = read(session.options.pool) if session.options.pool else list(measured(session, 0))
    full = [found for one, found in trials if is_calibration(one)]
    machine, capacity = calibrate(full, Machine())
    cost_ns = SERVICE_NS + round(capacity.request_ns)
    session.log(f"{machine}; a request costs {cost_ns} ns")
    points: dict[Setting, list[Measured]] = {}
    for one, found in trials:
        if not is_calibration(one):
            points.setdefault(one, []).append(found)
    return [simulator(session, points, machine, cost_ns), model(session, points, full), *itself(session, points)]


def record(session: Session, file: Path) -> None:
    """One trial after the other, so that what ends it before its time leaves what there is. Where there are some already, another order."""
    there = len(file.read_text().splitlines()) if file.exists() else 0
    with file.open("a", buffering=1) as kept:
        for one, found in measured(session, there):
            kept.write(line(one, found) + "\n")


def measured(session: Session, seed: int) -> Iterator[tuple[Setting, Measured]]:
    settings = [setting(session, *one) for one in CALIBRATION]
    settings += [setting(session, *one) for one in product(TENANTS, SLICES_US, LOADS) if one[0] > 1 or one[1] == 100]
    for number in range(max(min(session.options.pairs, MOST_ROUNDS), 1)):
        order = list(settings)
        Random(seed + number).shuffle(order)
        for one in order:
            if found := quiet_trial(session, one, 1 + (seed + number) * ATTEMPTS):
                yield one, found


def is_calibration(one: Setting) -> bool:
    load = one.rate * one.tenants * one.service_ns / SECOND
    return any((n, us) == (one.tenants, one.slice_ns // 1000) and abs(at - load) < 1e-6 for n, us, at in CALIBRATION)


def line(one: Setting, found: Measured) -> str:
    """A trial as JSON, for `read`."""
    trial = found.trial
    return json.dumps(
        {
            "setting": asdict(one),
            "point": found.point.model_dump(),
            "slicer": trial.slicer.model_dump(),
            "tenants": [tenant.model_dump() for tenant in trial.tenants],
        }
    )


def read(file: Path) -> Runs:
    """What `--record` wrote."""
    trials = []
    for row in map(json.loads, file.read_text().splitlines()):
        one = Setting(**row["setting"])
        tenants = [TenantWindow.model_validate(tenant) for tenant in row["tenants"]]
        trial = Trial(one.slicer, one.seconds, SliceReading.model_validate(row["slicer"]), tenants)
        trials.append((one, Measured(Point.model_validate(row["point"]), trial)))
    return trials


def setting(session: Session, tenants: int, slice_us: int, load: float) -> Setting:
    return Setting(
        SLICER, tenants, slice_us * 1000, load * SECOND / (tenants * SERVICE_NS), SERVICE_NS, 0, session.seconds
    )


def quiet_trial(session: Session, one: Setting, seed: int) -> Measured | None:
    """The first trial without other threads on the core, of at most ATTEMPTS."""
    for attempt in range(ATTEMPTS):
        found = run(one, session.cpu, seed + attempt)
        if found.point.own_share is None or found.point.own_share >= LEAST_OWN_SHARE:
            return found
    session.log(f"{words(one)}: excluded, other threads ran on the core")
    return None


def simulated_p99(one: Setting, machine: Machine, cost_ns: int) -> float:
    """ns; median of three seeds."""
    alike = tuple(
        Tenant(f"t{n}", phases=(Phase(0, one.rate),), service_ns=cost_ns, queue=None) for n in range(one.tenants)
    )
    plan = Plan(alike, one.slicer, one.slice_ns, int(one.seconds * SECOND), machine=machine)
    return median(simulate(replace(plan, seed=seed)).document()["all"]["p99"] for seed in (1, 2, 3))


def simulator(session: Session, points: dict[Setting, list[Measured]], machine: Machine, cost_ns: int) -> Result:
    rows = []
    for one, trials in points.items():
        if not carried(one, trials):
            session.log(f"{words(one)}: overload, whose p99 is the length of the trial")
            continue
        live, predicted = median(trial.point.p99_ns for trial in trials), simulated_p99(one, machine, cost_ns)
        rows.append((one, live, predicted))
        session.log(
            f"{words(one)}: live {live / 1000:.0f} us, simulated {predicted / 1000:.0f} us, {predicted / live - 1:+.0%}"
        )
    errors = [abs(predicted / live - 1) for _, live, predicted in rows]
    share = 100 * sum(error <= WITHIN for error in errors) / len(errors)
    return Result(
        name=f"points of Fig. 10 whose p99 is simulated within {WITHIN:.0%}",
        memory=session.memory,
        spread=extent([share]),
        unit="%",
        ours=f"error {100 * median(errors):.1f}% in the median, {100 * max(errors):.0f}% at most",
        reference=f"{len(rows)} of {len(points)} points live",
        goal=GOAL,
        verdict=Verdict(share >= GOAL.limit, "met" if share >= GOAL.limit else "missed"),
        details={
            "points": [
                {"setting": vars(one), "live_ns": live, "simulated_ns": predicted} for one, live, predicted in rows
            ]
        },
    )


def carried(one: Setting, trials: Sequence[Measured]) -> bool:
    return bool(trials) and median(trial.point.served for trial in trials) >= CARRIED * one.rate


def itself(session: Session, points: dict[Setting, list[Measured]]) -> list[Result]:
    """How well a trial is told by the others of its point: what of the errors is the host's. Nothing with fewer than three rounds."""
    errors = []
    for one, trials in points.items():
        values = [trial.point.p99_ns for trial in trials]
        if len(values) > 2 and carried(one, trials):
            errors += [abs(median(values[:n] + values[n + 1 :]) / value - 1) for n, value in enumerate(values)]
    if not errors:
        return []
    share = 100 * sum(error <= WITHIN for error in errors) / len(errors)
    name = f"live trials that the median of their point's others tells within {WITHIN:.0%}"
    return [Result(name=name, memory=session.memory, spread=extent([share]), unit="%")]


def model(session: Session, points: dict[Setting, list[Measured]], full: Sequence[Measured]) -> Result:
    all_points = [trial.point for trials in points.values() for trial in trials] + [one.point for one in full]
    found = fit(all_points, "live", to_jsonable_python(facts.collect()), Machine(), SLICER)
    errors = found.p99_errors
    share = 100 * errors.within
    return Result(
        name=f"held-out settings whose p99 the model tells within {MODEL_GOAL:.0%}",
        memory=session.memory,
        spread=extent([share]),
        unit="%",
        ours=f"error {100 * errors.mape:.1f}% in the mean, {100 * errors.most:.0f}% at most; peak {100 * (found.peak_errors.mape or 0):.1f}%",
        reference=f"{errors.points} settings live",
        goal=GOAL,
        verdict=Verdict(share >= GOAL.limit, "met" if share >= GOAL.limit else "missed"),
        details={"model": found.model_dump(mode="json", exclude={"draws", "host"})},
    )


def words(one: Setting) -> str:
    load = one.rate * one.tenants * one.service_ns / SECOND
    return f"{one.tenants} tenants, {one.slice_ns // 1000} us, load {load:.0%}"


if __name__ == "__main__":
    main(__doc__, measure, more=more)
