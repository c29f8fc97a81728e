"""Does the tuner find back? Shipped scenarios with settings that are spoilt on purpose, and one as it is; with the real engine.

    bench/spoilt.py bursts
    bench/spoilt.py as-shipped --trials 12

Each is tuned in the default space. Its best settings are measured in turn with the spoilt file (by the tuner, afresh) and with the shipped
settings (here). The share that is back is how much of the throughput that spoiling took the best settings have again.
"""

import argparse
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from harness.options import positive
from harness.results import console
from rich.table import Table

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.exchange.toml_text import text_of
from windtunnel.measure.executor import ThisHost
from windtunnel.parts.tune.goal import Goal
from windtunnel.parts.tune.rig import Engines
from windtunnel.parts.tune.trial import pair_record
from windtunnel.parts.tune.tuner import Silent, Tuned, prepare, run
from windtunnel.parts.tune.tuning_record import differences
from windtunnel.scenario.load import parsed
from windtunnel.scenario.overrides import apply, as_sets, parse_overrides

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
STAGES = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
SHORT = ("duration=400ms", "warmup=100ms", "window=50ms")
PAIRS = 8
GOAL = 0.9
"""Share of the loss that is back."""


def _bursts(size: int) -> dict[str, int]:
    every = [(side, stage) for side in ("client", "server") for stage in STAGES]
    return {f"{side}.batch.{stage}": size for side, stage in every if (side, stage) != ("server", "app_tx")}


def _sides(key: str, value: int) -> dict[str, int]:
    return {f"{side}.{key}": value for side in ("client", "server")}


@dataclass(frozen=True)
class Spoilt:
    """A shipped scenario and what is changed in it."""

    scenario: str
    shipped: dict[str, Any] = field(default_factory=dict)
    """The values of these keys as shipped: defaults stand in no file."""
    spoilt: dict[str, Any] = field(default_factory=dict)


ALL = {
    "bursts": Spoilt("echo.toml", _bursts(32), _bursts(2)),
    "in-flight": Spoilt("echo.toml", {"client.inflight": 1024}, {"client.inflight": 32}),
    "pool-cache": Spoilt("handler-kv.toml", _sides("mempool.cache", 256), _sides("mempool.cache", 0)),
    "split": Spoilt("echo.toml", {"workload.0.colocate": True}, {"workload.0.colocate": False}),
    "rings": Spoilt("echo.toml", _sides("ring_size", 1024), _sides("ring_size", 16)),
    "bursts-and-in-flight": Spoilt(
        "handler-kv.toml", {**_bursts(32), "client.inflight": 1024}, {**_bursts(4), "client.inflight": 32}
    ),
    "as-shipped": Spoilt("echo.toml"),
}


@dataclass(frozen=True)
class Result:
    name: str
    tuned: Tuned
    over_file: float
    """The best settings over the spoilt file, natural logarithm."""
    under_shipped: float
    """The best settings over the shipped ones, likewise."""
    error: float
    """Standard error of that one."""

    @property
    def back(self) -> float | None:
        """None: spoiling took less than 2%."""
        best, shipped = math.exp(self.over_file), math.exp(self.over_file - self.under_shipped)
        return (best - 1) / (shipped - 1) if shipped > 1.02 else None


def spoil(which: Spoilt, directory: Path) -> Path:
    """The scenario as a file of its own."""
    file = SCENARIOS / which.scenario
    data = parsed(file, file.read_text())
    for override in parse_overrides(as_sets(which.spoilt)):
        apply(override, data)
    path = directory / which.scenario
    path.write_text(text_of("How fast is it with settings that are spoilt?", ["made by bench/spoilt.py"], data))
    return path


def measure(name: str, out: Path, trials: int, seed: int) -> Result:
    which = ALL[name]
    out.mkdir(parents=True, exist_ok=True)
    file = out / which.scenario
    if not file.exists():
        spoil(which, out)
    prepared = prepare(file, SHORT, Goal("throughput"), out=out / "tuning", seed=seed)
    with Interrupts() as interrupts, TemporaryDirectory() as directory:
        tuned = run(prepared, interrupts, Silent(), trials)
        rig = Engines(prepared.space, ThisHost(), interrupts, seed)
        best = tuned.best.sets if tuned.best else ()
        pairs = [pair_record(*rig.pair(as_sets(which.shipped), best, Path(directory), n)) for n in range(1, PAIRS + 1)]
    found = differences(pairs)
    if len(found) < 2:
        why = next(pair.excluded for pair in pairs if pair.excluded)
        raise UserError(f"{name}: {len(found)} of {PAIRS} pairs count: {why}", remedy="a quieter host")
    final = tuned.final.difference if tuned.final else 0.0
    return Result(name, tuned, math.log1p(final or 0.0), fmean(found), stdev(found) / math.sqrt(len(found)))


def shown(result: Result) -> Table:
    table = Table(title=f"{result.name}: {result.tuned.counted} trials")
    for head in ("trial", "why", "outcome", "over the file"):
        table.add_column(head)
    for trial in result.tuned.trials:
        if trial.outcome == "better":
            table.add_row(str(trial.number), trial.why, trial.words, f"{math.expm1(trial.gain or 0.0):+.1%}")
    return table


def main() -> None:
    """Exit codes: 0 the goal is met, 1 it is not, 2 bad input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=ALL)
    parser.add_argument("--trials", type=positive(int), default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="DIR", help="keeps the tuning, and goes on where it stopped")
    given = parser.parse_args()
    try:
        with TemporaryDirectory() as directory:
            result = measure(given.name, given.out or Path(directory) / "out", given.trials, given.seed)
    except UserError as error:
        console().print(f"[red]{error.message}[/]" + (f"\n{error.remedy}" if error.remedy else ""))
        sys.exit(2)
    console().print(shown(result))
    over, under = math.expm1(result.over_file), math.expm1(result.under_shipped)
    words = f"best over the file {over:+.1%}, over the shipped settings {under:+.1%} +- {result.error:.1%}"
    back = "spoiling took nothing" if result.back is None else f"{result.back:.0%} of the loss is back"
    console().print(f"{words}; {back} (goal {GOAL:.0%})")
    slower = result.under_shipped + 2 * result.error < 0
    sys.exit(int(slower if result.back is None else result.back < GOAL))


if __name__ == "__main__":
    main()
