"""How does the rate of one endpoint grow with its workers?

`l2fwd` on one `net_null` port that gives frames of 64 bytes and copies them, one queue and one dispatcher a worker, each worker on
a CPU of its own: one worker, then two, up to as many as there are CPUs. The share of a rate that is as many times that of one
worker. The workers have a pool in common, and what the CPUs share (caches, memory, a core's threads) is in the result.
"""

from harness.main import main
from harness.results import Result
from harness.sample import Sample
from harness.session import Session, compared

SCENARIO = "l2fwd.toml"


def measure(session: Session) -> list[Result]:
    cpus = [session.cpu, *(cpu for cpu in session.cpus if cpu != session.cpu)]
    if len(cpus) == 1:
        session.log("scaling: skipped, it needs two CPUs")
        return []
    names = {count: f"{count} worker{'s' if count > 1 else ''}" for count in range(1, len(cpus) + 1)}

    def forwarded(count: int) -> Sample:
        sets = {"server.cores": str(cpus[:count]), "workload.0.dispatchers": str(count)}
        return session.run(SCENARIO, sets).forwarded_by_all()

    rounds = session.in_turns(
        {name: lambda count=count: forwarded(count) for count, name in names.items()}, "Mpps", 1e6
    )
    return [
        compared(
            session,
            f"l2fwd on {name}",
            rounds,
            name,
            names[1],
            "Mpps",
            1e6,
            as_result=(f"x {count} times one worker", lambda ratio, count=count: ratio / count),
        )
        for count, name in names.items()
        if count > 1
    ]


if __name__ == "__main__":
    main(__doc__, measure)
