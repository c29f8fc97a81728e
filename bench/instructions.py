"""How many instructions does a round trip through the six stages take, compared with a bare C program that does the same work?

The echo of six_stages.py on one worker, both programs under callgrind: a count, which a busy host does not change. No goal
is set for it. The price of the accounting levels likewise, against `counts`; what a time stamp costs beyond its two
instructions is not in it.
"""

from harness import callgrind
from harness.bare import bare_round_trips
from harness.main import main
from harness.results import Result, text
from harness.session import Session
from harness.statistics import Spread, extent

from windtunnel.engine.find import find_engine

SCENARIO = "six-stages.toml"
LEVELS = ("counts", "sampled", "cycles", "histograms")
RUNS = 3
SECONDS = 2.0
UNIT = "instructions/round trip"


def measure(session: Session) -> list[Result]:
    if not callgrind.installed():
        session.log(f"instructions: skipped, {callgrind.NAME} is not installed. {callgrind.REMEDY}")
        return []
    bare = extent([_bare(session) for _ in range(RUNS)])
    ours = {level: extent([_ours(session, level) for _ in range(RUNS)]) for level in LEVELS}
    return [
        _ratio(session, "six stages, instructions", ours["sampled"], ("bare_echo", bare)),
        *(_ratio(session, f"{level}, instructions", ours[level], ("counts", ours["counts"])) for level in LEVELS[1:]),
    ]


def _sets(session: Session) -> dict[str, str]:
    window = f"{round(SECONDS * 500)}ms"
    return {f"{side}.cores": f"[{session.cpu}]" for side in ("server", "client")} | {
        "duration": f"{round(SECONDS * 1000)}ms",
        "window": window,
        "validity.max_preempted": "1",  # of a count
        "validity.max_excluded_windows": "1",
    }


def _ours(session: Session, level: str) -> float:
    counter = callgrind.Callgrind(session.directory, "wt::worker_main*")
    engine = counter.wrapped(find_engine())
    trips = session.run(SCENARIO, _sets(session) | {"accounting.level": level}, engine).round_trips()
    return counter.instructions() / trips


def _bare(session: Session) -> float:
    counter = callgrind.Callgrind(session.directory, "worker_main")
    trips = bare_round_trips(session.plan(SCENARIO, _sets(session)), SECONDS, counter.command)
    return counter.instructions() / trips


def _ratio(session: Session, name: str, ours: Spread, reference: tuple[str, Spread]) -> Result:
    """Of the medians; its range is that of the extremes."""
    of, other = reference
    spread = Spread(
        ours.median / other.median, ours.low / other.high, ours.high / other.low, ours.samples, kind="range"
    )
    return Result(
        name=name,
        memory=session.memory,
        spread=spread,
        unit="x",
        ours=text(ours, UNIT),
        reference=f"{of}: {text(other, UNIT)}",
    )


if __name__ == "__main__":
    main(__doc__, measure)
