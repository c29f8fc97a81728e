"""What do the six stages cost, compared with a bare C program that does the same work?

`l_app`, 86 bytes each way, ring wire, both sides on one worker: ticks per packet, where a packet is one request or one response
that one side sends and the other receives; a round trip has two. The reference is bench/bare_echo.c. Ours runs with its
default accounting, `sampled`. The split has each side on a core of its own: all ticks of a side, idle ones too, for the packet
that it sends and the one that it receives; no goal is set for it. The ticks of the single stages come from runs of their
own at accounting `cycles`, whose stamps are in them.
"""

from harness.bare import bare_echo
from harness.main import main
from harness.results import Result
from harness.sample import Sample
from harness.session import Session, compared
from harness.statistics import Goal, extent

SCENARIO = "six-stages.toml"
SIDES = ("server", "client")
CYCLES_RUNS = 5


def measure(session: Session) -> list[Result]:
    return [_one_core(session), *_split(session), *_stages(session)]


def _on_one_core(session: Session) -> dict[str, str]:
    return {f"{side}.cores": f"[{session.cpu}]" for side in SIDES}


def _one_core(session: Session) -> Result:
    sets = _on_one_core(session)
    plan = session.plan(SCENARIO, sets)
    rounds = session.in_turns(
        {
            "six stages": lambda: session.run(SCENARIO, sets).ticks_per_packet(),
            "bare_echo": lambda: bare_echo(plan, session.seconds)["both"],
        },
        "ticks/packet",
    )
    goal = Goal(1.6, "at most", aim=1.3)
    return compared(session, "six stages, one core", rounds, "six stages", "bare_echo", "ticks/packet", goal=goal)


def _split(session: Session) -> list[Result]:
    """Server on the measured core, client on another. Each run gives one result for each side."""
    if session.other_cpu is None:
        session.log("six stages split: skipped, it needs two CPUs")
        return []
    sets = {"server.cores": f"[{session.cpu}]", "client.cores": f"[{session.other_cpu}]"}
    plan = session.plan(SCENARIO, sets)
    workers = {plan.endpoints[worker.stages[0].endpoint].side: number for number, worker in enumerate(plan.workers)}

    def take_round() -> dict[str, Sample]:
        run = session.run(SCENARIO, sets)
        bare = bare_echo(plan, session.seconds)
        ours = {f"six stages, {side}": run.ticks_per_round_trip(workers[side]) for side in SIDES}
        return ours | {f"bare_echo, {side}": bare[side] for side in SIDES}

    rounds = session.rounds(take_round, "ticks/packet")
    return [
        compared(
            session,
            f"six stages, {side} on its own core",
            rounds,
            f"six stages, {side}",
            f"bare_echo, {side}",
            "ticks/packet",
        )
        for side in SIDES
    ]


def _stages(session: Session) -> list[Result]:
    """Work of each stage in the order of the worker's loop; medians of a few runs at `cycles`."""
    sets = _on_one_core(session) | {"accounting.level": "cycles"}
    runs = [session.run(SCENARIO, sets).stage_ticks() for _ in range(min(session.options.pairs, CYCLES_RUNS))]
    results = []
    for endpoint, stage in runs[0]:
        work = [run[endpoint, stage]["work"] for run in runs]
        results.append(
            Result(
                name=f"{endpoint} {stage}, work (cycles)",
                memory=session.memory,
                spread=extent(work),
                unit="ticks/packet",
                details={"runs": [run[endpoint, stage] for run in runs]},
            )
        )
    return results


if __name__ == "__main__":
    main(__doc__, measure)
