"""Does what `share advise` recommends meet its SLO when it is run?

--cases questions drawn from a seed: 2 to 16 tenants, 1,000 to 20,000 requests a second of each, 1 to 8 us of CPU a request, an SLO
of 150 us to 5 ms. Each advice is run as `share advise --check` runs it: one of the
advised cores, three trials. An advice to give each tenant a core of its own, or that no setting meets the SLO, is drawn again: there is
nothing to share. Memory modes mean nothing here.
"""

from argparse import ArgumentParser
from random import Random

from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent

from windtunnel_sharing import changed_threads, costs, probe
from windtunnel_sharing.advise import Advice, Demand, Slo, advise, check, estimator
from windtunnel_sharing.journal import SUFFIX, directory

CASES = 20
LEAST_SLO_NS, MOST_SLO_NS = 150_000, 5_000_000
GOAL = Goal(90.0, "at least")


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--cases", type=int, default=CASES, help="number of questions")
    parser.add_argument("--seed", type=int, default=1, help="of the questions")


def measure(session: Session) -> list[Result]:
    rng = Random(session.options.seed)
    cases, met, rows = session.options.cases, 0, []
    with changed_threads.held(directory() / f"probe-cpu{session.cpu}{SUFFIX}") as journal:
        if not costs.kept(session.cpu):
            costs.keep(probe.to_keep(probe.probe(journal, session.cpu)), session.cpu)
        model, slicer = estimator(session.cpu)
        session.log(model.source)
        while len(rows) < cases:
            demand, found = question(rng, model)
            if found.chosen is None or found.chosen.per_core < 2:
                continue
            seen = check(journal, found.chosen, slicer, demand, session.cpu)
            met += seen.p99_ns <= found.slo.p99_ns
            rows.append({"advice": found.document(), "demand": vars(demand), "seen": vars(seen)})
            one = found.chosen
            session.log(
                f"p99 <= {found.slo.p99_ns / 1000:.0f} us, {found.tenants} tenants of {demand.rate:.0f}/s x {demand.service_ns} ns: "
                f"{one.per_core} a core, {one.slice_ns // 1000} us, said {one.estimate.p99_ns / 1000:.0f} to "
                f"{one.estimate.high_ns / 1000:.0f}; seen {seen.p99_ns / 1000:.0f} [{seen.low_ns / 1000:.0f} .. {seen.high_ns / 1000:.0f}]: "
                f"{'met' if seen.p99_ns <= found.slo.p99_ns else 'MISSED'}"
            )
    share = 100 * met / cases
    return [
        Result(
            name="advices that meet their SLO when they are run",
            memory=session.memory,
            spread=extent([share]),
            unit="%",
            ours=f"{met} of {cases}, {slicer}",
            reference="live tenants",
            goal=GOAL,
            verdict=Verdict(share >= GOAL.limit, "met" if share >= GOAL.limit else "missed"),
            details={"cases": rows},
        )
    ]


def question(rng: Random, model) -> tuple[Demand, Advice]:
    """Drawn, with its advice."""
    slo = Slo(round(LEAST_SLO_NS * (MOST_SLO_NS / LEAST_SLO_NS) ** rng.random()))
    demand = Demand(round(1000 * 20 ** rng.random()), round(1000 * 8 ** rng.random()))
    return demand, advise(model, slo, rng.randint(2, 16), demand, None)


if __name__ == "__main__":
    main(__doc__, measure, more=more)
