"""Does `windtunnel compare` find 3% of extra work, and nothing where nothing is?

An echo in a closed loop on the ring wire, whose server is the bottleneck, is run in pairs as `windtunnel compare` runs them: against
itself, and against B with further work a message (`workload.extra_ticks`), reckoned from a first run to be 3% of the server's work
on it. Then 100 comparisons of each kind, on a stretch of the recorded pairs chosen at random, no longer than 10 minutes of runs.
Stretches overlap: the counts are those of one machine on one day, and have no interval. Each comparison is of the state of the host that most of its pairs share.

The pairs can be kept (--record DIR) and read again (--from DIR).
"""

import random
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from harness.engine_run import SCENARIOS
from harness.main import main
from harness.options import positive
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Spread, extent, judge

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host.states import counts, groups
from windtunnel.measure.compare.judge import judge as compare
from windtunnel.measure.compare.paired_runs import Contestant, run_in_turn
from windtunnel.measure.compare.reading import Reading, read
from windtunnel.measure.compare.sides import Side
from windtunnel.measure.executor import ThisHost
from windtunnel.scenario import load

EXTRA = 0.03
COMPARISONS = 100
ALLOWED_S = 600
"""Of runs, for one comparison."""
MOST_SHARE = 2 / 3
"""Of the pairs in one comparison, so that stretches differ."""
ATTEMPTS = 5
"""Calibration runs. The host may spoil some of them."""
TURNS = {"window": "50ms"}
"""How often A and B alternate."""
KINDS = ("same", "more")
"""What A is held against: itself, and itself with more work."""
SERVER = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")

Recorded = list[tuple[Reading, Reading]]
"""Pairs of valid runs in the order of time."""


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--recorded", type=positive(int), default=120, help="pairs of each kind that are run")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep them in DIR, new")
    parser.add_argument("--from", type=Path, dest="pool", metavar="DIR", help="read them from DIR and run nothing")


def measure(session: Session) -> list[Result]:
    pool = session.options.pool or record(session, session.options.record or session.directory / "pool")
    recorded = {kind: read_pool(pool / kind) for kind in KINDS}
    found = {kind: comparisons(session, kind, recorded[kind]) for kind in KINDS}
    silent = sum(word == "no difference shown" for word, _ in found["same"])
    slower = sum(word == "slower" for word, _ in found["more"])
    of_state = {kind: groups(recorded[kind]) for kind in KINDS}
    of_most = {kind: [recorded[kind][n] for n in of_state[kind][0].positions] for kind in KINDS}
    ratios = {kind: [log_rate(b) - log_rate(a) for a, b in of_most[kind]] for kind in KINDS}
    for kind in KINDS:
        numbers = [(group.state, len(group.positions)) for group in of_state[kind]]
        dropped = len(recorded[kind]) - sum(number for _, number in numbers)
        session.log(f"{kind}: {counts(numbers, dropped, 'pairs') or 'no state is known'}")
        session.log(
            f"{kind}: over the pairs of the first state B sends {100 * np.median(ratios[kind]):+.2f}% more responses a second than A; "
            f"one pair differs from the next by {100 * np.std(ratios[kind], ddof=1):.1f}%"
        )
    details = {"comparisons": found, "ratios": ratios}
    smallest = [least for kind in KINDS for _, least in found[kind]]
    return [
        counted(session, "compared with itself: no difference shown", silent, 93, details),
        counted(session, f"{EXTRA:.0%} of extra work: slower", slower, 80, {}),
        Result("smallest detectable difference", session.memory, extent(smallest), "%"),
    ]


def counted(session: Session, name: str, count: int, least: int, details: dict) -> Result:
    spread, goal = Spread(count, count, count, COMPARISONS, "range"), Goal(least, "at least")
    return Result(name, session.memory, spread, "of 100", goal=goal, verdict=judge(spread, goal), details=details)


def comparisons(session: Session, kind: str, recorded: Recorded) -> list[tuple[str, float]]:
    """Of each comparison the verdict, and its smallest detectable difference, %."""
    pair_s = seconds(recorded) / len(recorded)
    pairs = max(2, min(int(ALLOWED_S / pair_s), int(len(recorded) * MOST_SHARE)))
    session.log(f"{kind}: {len(recorded)} pairs; {pairs} in a comparison, {pairs * pair_s / 60:.1f} minutes of runs")
    coin = random.Random(1)
    begins = [coin.randrange(len(recorded) - pairs + 1) for _ in range(COMPARISONS)]
    return [verdict(recorded[begin : begin + pairs]) for begin in begins]


def verdict(stretch: Recorded) -> tuple[str, float]:
    (point,) = compare(*(Side(Path(name), [pair[side] for pair in stretch]) for side, name in enumerate("ab"))).points
    (judged,) = point.judged
    deciding = next((m for m in point.measures if m.metric == judged.decided_by and m.interval), None)
    if deciding is None:
        raise UserError(f"no comparison: {judged.verdict}: {'; '.join(judged.reasons)}")
    return judged.verdict, deciding.interval.smallest


def record(session: Session, directory: Path) -> Path:
    """Runs the pairs of each kind into the new `directory`. One with an invalid run is run again."""
    ticks = extra_ticks(session)
    plain = session.sets(TURNS)
    sets = {"same": plain, "more": [*plain, f"workload.0.extra_ticks={ticks}"]}
    file = SCENARIOS / "compare.toml"
    with Interrupts() as interrupts:
        for kind in KINDS:
            a, b = Contestant(file, plain), Contestant(file, sets[kind])
            finished = run_in_turn(a, b, directory / kind, interrupts, ThisHost(), pairs=session.options.recorded)
            session.log(f"{kind}: {finished.pairs} of {finished.pairs_wanted} pairs, {finished.stopped}")
            if finished.stopped == "interrupted":
                raise UserError(f"interrupted after {finished.pairs} pairs", remedy=f"--from {directory} reads them")
    return directory


def extra_ticks(session: Session) -> int:
    """The scenario's own, and EXTRA of the server's work on one message, from the stages of the fastest of some runs: preemption
    only adds to what a stage seems to cost."""
    runs = [ticks for _ in range(ATTEMPTS) if (ticks := first_run(session)) is not None]
    if not runs:
        raise UserError(f"none of {ATTEMPTS} first runs was valid", remedy="stop what else runs on this machine")
    work = min(runs)
    session.log(f"the server works {work:.0f} ticks on a message, of which {EXTRA:.0%} are {EXTRA * work:.1f}")
    base = load(SCENARIOS / "compare.toml").workload[0].extra_ticks
    return base + max(1, round(EXTRA * work))


def first_run(session: Session) -> float | None:
    """Ticks that the server works on a message; None where the run was invalid."""
    try:
        stages = session.run("compare.toml", {"accounting.level": "cycles"}).stage_ticks()
    except UserError as error:
        session.log(f"calibration run skipped: {error.message.splitlines()[0]}")
        return None
    return sum(stages["server", stage]["work"] or 0.0 for stage in SERVER)


def read_pool(directory: Path) -> Recorded:
    """Raises UserError where there are too few."""
    pairs = []
    for a in sorted(directory.glob("a/*")):
        both = [run for run in (a, directory / "b" / a.name) if (run / "run.json").is_file()]
        readings = [read(run) for run in both]
        if len(readings) == 2 and not any(reading.reasons for reading in readings):
            pairs.append((readings[0], readings[1]))
    if len(pairs) < 3:
        raise UserError(f"{directory}: {len(pairs)} pairs of valid runs, 3 are needed", remedy="--record DIR runs some")
    return pairs


def seconds(recorded: Recorded) -> float:
    """From the first start to the last, a pair more: what was run, with all that lies between runs."""
    gaps = np.diff([a.started.timestamp() for a, _ in recorded])
    return float(np.median(gaps)) * len(recorded)


def log_rate(reading: Reading) -> float:
    return float(np.log(next(v for (_, metric), v in reading.values.items() if metric == "responses_per_s" and v)))


if __name__ == "__main__":
    main(__doc__, measure, more=more)
