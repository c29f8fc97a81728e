"""How far is a slicer's p99 below the tick's, and what does it cost? (--slicer; else the one that the last probe of this CPU picked, or the kicker)

4 and 8 tenants that always poll share one core, each with 5,000 requests a second (Poisson, made inside the tenant) of 2.5 us. Each
round has one tenant alone, then the tick, then the slicer. Throughput is the time of the core that went into polls and service at
the price that they have for a tenant alone, so that switches, kicks and cold caches count as lost. The tenants' own part of the core is shown:
what other programs took is neither slicer's doing.

Then weights that lie between the steps of nice values, for 10 s: the largest distance of a share from what it should be.
"""

from argparse import ArgumentParser

from harness.main import main
from harness.options import positive
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, interval, judge

from windtunnel.errors import UserError
from windtunnel.sharing import changed_threads, polling_trial
from windtunnel.sharing.polling_trial import Load, Trial
from windtunnel.sharing.probe import best
from windtunnel.sharing.slicers import SLICERS
from windtunnel.sharing.slicers.weights import by_steps_alone

GOALS = {4: 20.0, 8: 15.0}
"""By tenants: p99 of the tick, in p99 of the slicer."""
LEAST_THROUGHPUT = 92.0
WEIGHTS = [100, 70, 45, 30]
WEIGHTS_S = 10.0
MOST_OFF_POINTS = 3.0


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--slicer", choices=SLICERS, help="without: what the last probe picked")
    parser.add_argument("--slice-us", type=positive(int), default=120)


def measure(session: Session) -> list[Result]:
    name = session.options.slicer or best(session.cpu)
    with changed_threads.held(session.directory / "bench.journal") as journal:
        results = [result for count in GOALS for result in against_the_tick(session, journal, name, count)]
        return [*results, shares(session, journal, name)]


def run_trial(session: Session, journal: changed_threads.Journal, name: str, load: Load) -> Trial:
    measured = polling_trial.run(journal, name, session.cpu, session.options.slice_us * 1000, load, session.seconds)
    if measured.latency_us(99) is None:
        raise UserError(f"{measured.served} requests are too few for p99", remedy="more --seconds")
    return measured


def against_the_tick(session: Session, journal: changed_threads.Journal, slicer: str, count: int) -> list[Result]:
    ratios, throughputs, ticks, own, p99s = [], [], [], [], []
    for _ in range(session.options.pairs):
        alone = run_trial(session, journal, "tick", Load(1))
        tick, sliced = (run_trial(session, journal, name, Load(count)) for name in ("tick", slicer))
        ratios.append(tick.latency_us(99) / sliced.latency_us(99))
        p99s.append((tick.latency_us(99), sliced.latency_us(99)))
        whole = alone.useful(alone.poll_ns)
        ticks.append(100 * tick.useful(alone.poll_ns) / whole)
        throughputs.append(100 * sliced.useful(alone.poll_ns) / whole)
        own += [100 * tick.slicer.own_share, 100 * sliced.slicer.own_share]
    ours, theirs = interval([p99 for _, p99 in p99s]), interval([p99 for p99, _ in p99s])
    goal, floor = Goal(GOALS[count], "at least"), Goal(LEAST_THROUGHPUT, "at least")
    ratio, throughput = interval(ratios), interval(throughputs)
    return [
        Result(
            f"{count} tenants: p99 of the tick by that of {slicer}, {session.options.slice_us} us",
            session.memory,
            ratio,
            "x",
            ours=f"{ours.median:.0f} us",
            reference=f"{theirs.median:.0f} us",
            goal=goal,
            verdict=judge(ratio, goal),
            details={"tick_and_sliced_p99_us": p99s},
        ),
        Result(
            f"{count} tenants: throughput under {slicer}, of one tenant alone",
            session.memory,
            throughput,
            "%",
            reference=f"tick {interval(ticks).median:.1f} %",
            goal=floor,
            verdict=judge(throughput, floor),
            details={slicer: throughputs, "tick": ticks},
        ),
        Result(f"{count} tenants: their own part of the core", session.memory, interval(own), "%"),
    ]


def shares(session: Session, journal: changed_threads.Journal, slicer: str) -> Result:
    measured = polling_trial.run(
        journal, slicer, session.cpu, session.options.slice_us * 1000, Load(len(WEIGHTS)), WEIGHTS_S, WEIGHTS
    )
    entitled = [weight / sum(WEIGHTS) for weight in WEIGHTS]
    steps = max(abs(a - b) for a, b in zip(by_steps_alone(WEIGHTS), entitled, strict=True))
    off = interval([100 * measured.off_points])
    goal = Goal(MOST_OFF_POINTS, "at most", least_samples=1)
    return Result(
        f"weights {WEIGHTS} over {WEIGHTS_S:g} s: furthest from its share",
        session.memory,
        off,
        "points",
        reference=f"nearest nice values alone: {100 * steps:.1f}",
        goal=goal,
        verdict=judge(off, goal),
        details={"members": [member.model_dump() for member in measured.slicer.members]},
    )


if __name__ == "__main__":
    main(__doc__, measure, more=more)
