"""How far apart are two runs of the same scenario in the same host state?

`windtunnel run` of scenarios/echo.toml and scenarios/handler-kv.toml, in turns, as a user runs them: each goes on until it has settled. Then
every two valid runs of one scenario and state are compared, and for reference every two runs whatever their state.

And does `windtunnel compare` find no difference between separate runs of the same? Of the runs of one state, ten chosen at random are held
against each other, five a side, 100 times.

The runs of several sittings can be taken together (--keep DIR).
"""

import random
import subprocess
import time
from argparse import ArgumentParser
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
from harness.engine_run import COMMAND
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Spread, judge

from windtunnel.errors import UserError
from windtunnel.measure.compare.judge import judge as compare
from windtunnel.measure.compare.reading import Reading, read
from windtunnel.measure.compare.sides import Side
from windtunnel.runs import Run, load
from windtunnel.runs.summary import summarise

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
FILES = ("echo.toml", "handler-kv.toml")
RUNS_A_PAIR = 2
"""Runs of each scenario for each of `--pairs`: 15 pairs are 30 runs."""


COMPARISONS, A_SIDE = 100, 5
"""Of runs with themselves, and the runs on each of the two sides."""


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the runs in DIR, and take those of earlier sittings with them"
    )


def measure(session: Session) -> list[Result]:
    directory = session.options.keep or session.directory
    directory.mkdir(parents=True, exist_ok=True)
    took = []
    for _ in range(session.options.pairs * RUNS_A_PAIR):
        for file in FILES:
            begin = time.monotonic()
            _run(session, file, directory)
            took.append(time.monotonic() - begin)
    results = [result for file in FILES for result in _results(session, file, sorted(directory.glob(f"{file}-*")))]
    return [*results, Result("a run with its start", session.memory, _range(took), "s")]


def _run(session: Session, file: str, directory: Path) -> None:
    out = directory / f"{file}-{time.time_ns()}"
    command = [COMMAND, "run", SCENARIOS / file, "--quiet", "--no-report", "--out", out]
    command += ["--set", f"memory={session.memory}"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in (0, 1):
        raise UserError(f"{file} did not run: {done.stdout.strip()}")


def _results(session: Session, file: str, paths: list[Path]) -> list[Result]:
    runs = [load(path) for path in paths]
    valid = [run for run in runs if run.record.verdict.valid]
    settled = [run for run in valid if (found := run.record.validity) and found.settled and found.settled.settled]
    by_state: dict[str, list[float]] = {}
    for run in valid:
        by_state.setdefault(run.record.validity.headline or "not known", []).append(_rate(run))
    within = [_apart(a, b) for rates in by_state.values() for a, b in combinations(rates, 2)]
    across = [_apart(a, b) for a, b in combinations([_rate(run) for run in valid], 2)]
    states = ", ".join(
        f"{state}: {len(rates)} runs, median {np.median(rates) / 1e6:.2f} M/s" for state, rates in by_state.items()
    )
    session.log(f"{file}: {states}")
    session.log(
        f"{file}: invalid: {Counter(reason.split(':')[0] for run in runs for reason in run.record.verdict.reasons)}"
    )
    median, p90 = (float(np.percentile(within, q)) for q in (50, 90))
    any_median, any_p90 = (float(np.percentile(across, q)) for q in (50, 90))
    details = {"rates": by_state}
    silent, of = _without_difference([read(run.path) for run in valid])
    return [
        _held(session, f"{file}: two runs in one state, median difference", median, len(within), Goal(4, "at most"), f"in any state {any_median:.1f} %", details),
        _held(session, f"{file}: two runs in one state, p90", p90, len(within), Goal(10, "at most"), f"in any state {any_p90:.1f} %", {}),
        Result(f"{file}: separate runs with themselves: no difference shown", session.memory, Spread(silent, silent, silent, of, "range"), "comparisons"),
        Result(f"{file}: valid and settled", session.memory, Spread(len(settled), len(settled), len(settled), len(runs), "range"), "runs"),
    ]  # fmt: skip


def _without_difference(readings: list[Reading]) -> tuple[int, int]:
    """Comparisons that found none, of how many; of the runs of the state that most were in."""
    states = Counter(reading.state for reading in readings)
    of_most = [reading for reading in readings if reading.state == max(states, key=states.__getitem__)]
    if len(of_most) < 2 * A_SIDE:
        return 0, 0
    coin, silent = random.Random(1), 0
    for _ in range(COMPARISONS):
        chosen = coin.sample(of_most, 2 * A_SIDE)
        (point,) = compare(Side(Path("a"), chosen[:A_SIDE]), Side(Path("b"), chosen[A_SIDE:])).points
        silent += all(judged.verdict == "no difference shown" for judged in point.judged)
    return silent, COMPARISONS


def _rate(run: Run) -> float:
    return summarise(run).workloads[0].responses_per_s


def _apart(a: float, b: float) -> float:
    """Percent of their mean."""
    return 200 * abs(a - b) / (a + b)


def _held(session: Session, name: str, value: float, pairs: int, goal: Goal, reference: str, details: dict) -> Result:
    spread = Spread(value, value, value, pairs, "range")
    verdict = judge(spread, goal)
    return Result(name, session.memory, spread, "%", reference=reference, goal=goal, verdict=verdict, details=details)


def _range(values: list[float]) -> Spread:
    return Spread(float(np.median(values)), min(values), max(values), len(values), "range")


if __name__ == "__main__":
    main(__doc__, measure, more=more)
