"""How far below the tick's is the p99 of tenants that `windtunnel share serve` shares a core among, and what does it cost?

The daemon as shipped, in turns with the tick and with what its file says (--slicer, --slice; without them: auto, so that the host is probed
first, once). Its tenants are programs of the bench's own (bench/poll_tenant.c), each with a thread that polls, one that sleeps and wakes, and
one that waits for its input; all their threads are shared (`threads = "*"`). Each has 5,000 requests a second (Poisson) of 2.5 us, and measures
its own latency and slices: what is longer than 10 us between two looks at the clock is not its own. Loss is the core's time outside the tenants' slices. Weights lie between steps of nice values.

With --neighbour, instead: for a minute a program that never sleeps is on the tenants' core, outside the shield.
"""

import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.engine_run import COMMAND
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, interval, judge

from windtunnel.errors import UserError

GOALS = {4: 20.0, 8: 15.0}
"""By tenants: p99 of the tick, in p99 of the slicer."""
MOST_LOSS, MOST_OFF_POINTS = 8.0, 1.0
WEIGHTS = [100, 70, 45, 30]
WEIGHTS_S, NEIGHBOUR_S = 10.0, 60.0
RATE, SERVICE_NS = 5000, 2500
START_S, PATIENCE_S = 0.7, 120.0
"""To the first request: by then the daemon has seen which threads want CPU."""
TENANT = Path(__file__).parents[1] / "build" / "bench" / "poll_tenant"


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--slicer", default="auto", help="as in the daemon's file")
    parser.add_argument("--slice", default="auto", help="as in the daemon's file")
    parser.add_argument("--neighbour", action="store_true", help="beside a busy program outside the shield")


@dataclass(frozen=True)
class Trial:
    """What the tenants measured of themselves. `slices`: slicer and slice, by the daemon."""

    slices: str
    tenants: list[dict[str, int]]
    seconds: float

    @property
    def p99_us(self) -> float:
        """The worst tenant's."""
        return max(one["p99_ns"] for one in self.tenants) / 1e3

    @property
    def loss(self) -> float:
        """In percent."""
        return 100 * (1 - sum(one["own_ns"] for one in self.tenants) / (self.seconds * 1e9))

    @property
    def shares(self) -> list[float]:
        everything = sum(one["own_ns"] for one in self.tenants)
        return [one["own_ns"] / everything for one in self.tenants]


def measure(session: Session) -> list[Result]:
    if session.options.neighbour:
        return beside_a_neighbour(session)
    return [result for count in GOALS for result in against_the_tick(session, count)] + [shares(session)]


def against_the_tick(session: Session, count: int) -> list[Result]:
    chosen = session.options.slicer, session.options.slice
    ticks, sliced = [], []
    for number in range(session.options.pairs):
        ticks.append(trial(session, ("tick", "4ms"), [256 // count] * count, session.seconds, number))
        sliced.append(trial(session, chosen, [256 // count] * count, session.seconds, number))
        session.log(f"{count} tenants: tick {ticks[-1].p99_us:.0f} us, {sliced[-1].slices} {sliced[-1].p99_us:.0f} us")
    ratio = interval([tick.p99_us / ours.p99_us for tick, ours in zip(ticks, sliced, strict=True)])
    loss = interval([one.loss for one in sliced])
    off = interval([100 * max(abs(share - 1 / count) for share in one.shares) for one in sliced])
    goals = Goal(GOALS[count], "at least"), Goal(MOST_LOSS, "at most"), Goal(MOST_OFF_POINTS, "at most")
    return [
        Result(
            f"{count} tenants: p99 of the tick by that under {sliced[0].slices}",
            session.memory,
            ratio,
            "x",
            ours=f"{interval([one.p99_us for one in sliced]).median:.0f} us",
            reference=f"{interval([one.p99_us for one in ticks]).median:.0f} us",
            goal=goals[0],
            verdict=judge(ratio, goals[0]),
            details={"tick_us": [one.p99_us for one in ticks], "sliced_us": [one.p99_us for one in sliced]},
        ),
        Result(
            f"{count} tenants: core time outside their slices",
            session.memory,
            loss,
            "%",
            reference=f"tick {interval([one.loss for one in ticks]).median:.1f} %",
            goal=goals[1],
            verdict=judge(loss, goals[1]),
        ),
        Result(
            f"{count} equal tenants: furthest from an equal share",
            session.memory,
            off,
            "points",
            goal=goals[2],
            verdict=judge(off, goals[2]),
        ),
    ]


def shares(session: Session) -> Result:
    chosen = session.options.slicer, session.options.slice
    due = [weight / sum(WEIGHTS) for weight in WEIGHTS]
    found = [trial(session, chosen, WEIGHTS, WEIGHTS_S, number) for number in range(max(3, session.options.pairs // 3))]
    off = extent([100 * max(abs(a - b) for a, b in zip(one.shares, due, strict=True)) for one in found])
    goal = Goal(MOST_OFF_POINTS, "at most", least_samples=3)
    return Result(
        f"weights {WEIGHTS} over {WEIGHTS_S:g} s: furthest from its share",
        session.memory,
        off,
        "points",
        goal=goal,
        verdict=judge(off, goal),
        details={"shares": [one.shares for one in found]},
    )


def beside_a_neighbour(session: Session) -> list[Result]:
    """A minute beside a program on the same core that never sleeps: the kernel's fair server may give it time."""
    chosen = session.options.slicer, session.options.slice
    quiet = trial(session, chosen, [64] * 4, NEIGHBOUR_S, 1)
    command = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{session.cpu}])\nwhile True: pass"]
    neighbour = subprocess.Popen(command)
    try:
        beside = trial(session, chosen, [64] * 4, NEIGHBOUR_S, 1)
        fields = Path(f"/proc/{neighbour.pid}/schedstat").read_text().split()
    finally:
        neighbour.kill()
        neighbour.wait()
    rows = [("alone", quiet), ("beside a busy program", beside)]
    results = []
    for where, one in rows:
        results.append(Result(f"{one.slices}, {where}: p99", session.memory, extent([one.p99_us]), "us"))
        results.append(Result(f"{one.slices}, {where}: loss", session.memory, extent([one.loss]), "%"))
    had = extent([100 * int(fields[0]) / 1e9 / NEIGHBOUR_S])
    return [*results, Result("the program had of the core, its start included", session.memory, had, "%")]


def trial(session: Session, chosen: tuple[str, str], weights: list[int], seconds: float, seed: int) -> Trial:
    """Tenants of these weights for `seconds`."""
    with ExitStack() as stack:
        tenants = [stack.enter_context(_tenant(100 * seed + n)) for n in range(len(weights))]
        pids = [int(tenant.stdout.readline()) for tenant in tenants]
        slices = stack.enter_context(_daemon(session, chosen, list(zip(pids, weights, strict=True))))
        begin = time.monotonic_ns() + round(START_S * 1e9)
        for tenant in tenants:
            tenant.stdin.write(f"{begin} {round(seconds * 1e9)}\n")
            tenant.stdin.flush()
        return Trial(slices, [json.loads(tenant.stdout.readline()) for tenant in tenants], seconds)


@contextmanager
def _tenant(seed: int) -> Iterator[subprocess.Popen[str]]:
    words = [TENANT, str(RATE), str(SERVICE_NS), str(seed)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _daemon(session: Session, chosen: tuple[str, str], tenants: list[tuple[int, int]]) -> Iterator[str]:
    """A daemon that shares the last CPU; yields its slicer and slice, in its own words. Raises UserError."""
    slicer, slice_ = chosen
    file = session.directory / "share.toml"
    others = sorted(os.sched_getaffinity(0) - {session.cpu})
    tables = "".join(f'[[tenant]]\nname = "t{pid}"\npid = {pid}\nweight = {weight}\n' for pid, weight in tenants)
    file.write_text(
        f'state = "state"\ncpus = {[others[0], session.cpu]}\nslicer = "{slicer}"\nslice = "{slice_}"\n{tables}'
    )
    process = subprocess.Popen([COMMAND, "share", "serve", "--from-anywhere", file], stdout=subprocess.PIPE, text=True)
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("HTTP on"):
                break
        else:
            raise UserError(f"the daemon ended: {''.join(said)}")
        yield next(line for line in said if line.startswith("slicer ")).split(";")[0].removeprefix("slicer ").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


if __name__ == "__main__":
    main(__doc__, measure, more=more)
