"""How near does an emulated link of 100 Mbit/s come to arithmetic?

scenarios/link.toml with a budget that keeps the queue in front of the line filled for 12 ms: responses a second by what the line carries,
152 bytes each. No peer: the reference is the sum. A worker that is preempted for longer than the queue lasts leaves the line idle.
"""

from pathlib import Path

from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, interval, judge

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "link.toml"
FILLED = {"client.inflight": "1000", "wire.link.queue": "1024"}
MESSAGE_ON_LINE_BITS = (86 + 42 + 24) * 8


def measure(session: Session) -> list[Result]:
    shares = []
    for number in range(session.options.pairs):
        run = session.run(SCENARIO, FILLED)
        seconds = sum(window.end_ns - window.start_ns for window in run.windows) / 1e9
        responses = sum(window.workloads[0].responses for window in run.windows)
        assert run.plan.endpoints[0].port.link is not None
        carried = run.plan.endpoints[0].port.link.bits_per_s / MESSAGE_ON_LINE_BITS
        shares.append(100 * (responses / seconds / carried - 1))
        session.log(f"run {number + 1}: {responses / seconds:.0f} responses a second, {carried:.0f} are the line's")
    spread, goal = interval([abs(share) for share in shares]), Goal(0.5, "at most")
    details = {"percent": shares}
    return [
        Result(
            "rate of an emulated link, away from arithmetic",
            session.memory,
            spread,
            "%",
            goal=goal,
            verdict=judge(spread, goal),
            details=details,
        )
    ]


if __name__ == "__main__":
    main(__doc__, measure)
