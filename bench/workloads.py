"""What do many workloads cost on one worker, compared with one workload?

The echo of six_stages.py, both sides on one worker, as one workload and as 4 and 16 equal ones (16 are the most that a scenario may
have): ticks per packet. Each workload has an application and a dispatcher on each side, so that a loop of the worker has as many times
the stages. The in-flight budget is divided among the workloads. With 16 it is 64 messages each, which is still a full batch.
"""

from pathlib import Path

from harness.engine_run import SCENARIOS
from harness.main import main
from harness.results import Result
from harness.session import Session, compared

SCENARIO = "six-stages.toml"
HEAD = "[[workload]]\n"
COUNTS = (4, 16)


def measure(session: Session) -> list[Result]:
    sets = {f"{side}.cores": f"[{session.cpu}]" for side in ("server", "client")}
    one = "1 workload"
    several = {f"{count} workloads": _scenario(session, count) for count in COUNTS}
    rounds = session.in_turns(
        {one: lambda: session.run(SCENARIO, sets).ticks_per_packet()}
        | {name: lambda path=path: session.run(path, sets).ticks_per_packet() for name, path in several.items()},
        "ticks/packet",
    )
    return [compared(session, f"six stages, {name}", rounds, name, one, "ticks/packet") for name in several]


def _scenario(session: Session, count: int) -> Path:
    """SCENARIO with its workload `count` times, in the session's directory."""
    start, workload = (SCENARIOS / SCENARIO).read_text().split(HEAD)
    path = session.directory / f"workloads-{count}.toml"
    path.write_text(start + (HEAD + workload + "\n") * count)
    return path


if __name__ == "__main__":
    main(__doc__, measure)
