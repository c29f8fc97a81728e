"""Do windows of one run that changes cost what separate runs of the same settings cost?

scenarios/echo.toml. In each round there is one run with all settings as variants, and for each setting two separate runs that alternate
window by window, as `windtunnel compare` runs them: as the file says, and with the setting. A setting's cost is its ns a message by
those of the file, a median over windows, on each side; the result is the variant's cost by the separate runs' cost. A delay of server
app_rx is in the separate run the key `workload.extra_ticks`: another wait, in another place of the engine.
"""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from harness.main import main
from harness.noise import Noise
from harness.results import Result
from harness.sample import Sample
from harness.session import Session, compared
from harness.statistics import Spread, Verdict

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.plan import Delay, Variant
from windtunnel.engine.plan_values import STAGES
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.host.states import Where, same
from windtunnel.measure.executor import in_turns
from windtunnel.measure.variants import execute_variants, variant
from windtunnel.runs import Run
from windtunnel.runs.metrics import measured, seconds
from windtunnel.runs.variants import messages
from windtunnel.scenario import here, load, resolve

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "echo.toml"
WITHIN = 0.03
TRIES = 5
WINDOW = {"window": "50ms", "warmup": "200ms", "validity.settle": "0s"}


@dataclass(frozen=True)
class Setting:
    name: str
    sets: Mapping[str, int] = field(default_factory=dict)
    delay_ns: float = 0.0
    """Of server app_rx."""

    def variant(self) -> Variant:
        delays = [Delay(endpoint="server", stage="app_rx", ns=self.delay_ns)] if self.delay_ns else []
        return variant(self.name, self.sets, delays)

    def alone(self, tsc_hz: int) -> dict[str, str]:
        """What a separate run is to change in the file."""
        ticks = {"workload.0.extra_ticks": round(self.delay_ns * tsc_hz / 1e9)} if self.delay_ns else {}
        return {key: str(value) for key, value in {**self.sets, **ticks}.items()}


def batches(size: int) -> dict[str, int]:
    """Of all stages."""
    return {
        f"{side}.batch.{stage}": size
        for side in ("client", "server")
        for stage in STAGES
        if (side, stage) != ("server", "app_tx")
    }


SETTINGS = (
    Setting("20 ns more in server app_rx", delay_ns=20.0),
    Setting("100 ns more in server app_rx", delay_ns=100.0),
    Setting("batches of 4", batches(4)),
    Setting("batches of 128", batches(128)),
)


def measure(session: Session) -> list[Result]:
    with Interrupts() as interrupts:
        host, numbers = facts.collect(), itertools.count()

        def directory() -> Path:
            return session.directory / f"{next(numbers)}"

        def take_round() -> dict[str, Sample]:
            (whole,) = valid(lambda: [together(session, interrupts, directory())])
            plain, *rows = whole.record.variants
            samples = {}
            for setting, row in zip(SETTINGS, rows, strict=True):
                if plain.ns_per_message is None or row.ns_per_message is None:
                    raise UserError(f"no window of {setting.name} counts")
                cost = row.ns_per_message.median / plain.ns_per_message.median
                samples[f"{setting.name}: variant"] = Sample(cost, noise([whole]), where=whole.record.where)
                a, b = valid(partial(apart, session, setting, hello_hz(whole), directory, interrupts, host))
                where = a.record.where if same(a.record.where, b.record.where) else Where("several")
                cost = ns_per_message(b) / ns_per_message(a)
                samples[f"{setting.name}: separate"] = Sample(cost, noise([a, b]), where=where)
            return samples

        rounds = session.rounds(take_round, "x")
    return [
        judged(compared(session, s.name, rounds, f"{s.name}: variant", f"{s.name}: separate", "x")) for s in SETTINGS
    ]


def valid(attempt: Callable[[], list[Run]]) -> list[Run]:
    """Runs again where the host spoilt one. Raises UserError where it goes on."""
    reasons: list[str] = []
    for _ in range(TRIES):
        runs = attempt()
        reasons = [reason for run in runs for reason in run.record.verdict.reasons]
        if not reasons:
            return runs
    raise UserError(f"{TRIES} invalid runs in a row; the last one: {reasons[0]}")


def together(session: Session, interrupts: Interrupts, directory: Path) -> Run:
    """One run with all settings, each as long as a sample."""
    length = session.seconds * (1 + len(SETTINGS))
    scenario = load(SCENARIO, session.sets({**WINDOW, "duration": f"{round(1000 * length)}ms"}))
    return execute_variants(scenario, [s.variant() for s in SETTINGS], directory, interrupts).kept_run()


def apart(
    session: Session,
    setting: Setting,
    tsc_hz: int,
    new_directory: Callable[[], Path],
    interrupts: Interrupts,
    host: facts.Facts,
) -> list[Run]:
    """Two runs that alternate: as the file says, and with the setting."""
    sets = ({}, setting.alone(tsc_hz))
    specs = [resolve(load(SCENARIO, session.sets({**WINDOW, **more})), here()) for more in sets]
    directory = new_directory()
    outcomes = in_turns(specs, [directory / side for side in "ab"], random.randrange(2), interrupts, [], host)
    return [outcome.kept_run() for outcome in outcomes]


def ns_per_message(run: Run) -> float:
    (windows,) = run.counted.values()
    return median(seconds([window]) * 1e9 / messages(window) for window in measured(windows))


def hello_hz(run: Run) -> int:
    hello = run.record.engines[0].hello
    if hello is None:
        raise UserError(f"the run with variants did not begin: {run.record.verdict.reasons}")
    return hello.tsc_hz


def noise(runs: Sequence[Run]) -> Noise:
    """The largest share of its time for which a worker was preempted, in the windows that count."""
    shares = [0.0]
    for run in runs:
        (windows,) = run.counted.values()
        for worker in range(len(run.record.engines[0].plan.workers)):
            lost = sum(window.workers[worker].preempted_ns or 0 for window in measured(windows))
            shares.append(lost / 1e9 / (seconds(measured(windows)) or 1))
    return Noise(max(shares), None)


def judged(result: Result) -> Result:
    """With the verdict: the interval of the ratio lies within WITHIN of 1, or beyond it, or neither."""
    spread = result.spread
    words = f"goal: within {WITHIN:.0%} of 1"
    return Result(**(vars(result) | {"verdict": verdict(spread), "ours": f"{result.ours}; {words}"}))


def verdict(spread: Spread) -> Verdict:
    if spread.kind != "95%":
        return Verdict(None, "no verdict: too few rounds")
    if 1 - WITHIN <= spread.low and spread.high <= 1 + WITHIN:
        return Verdict(True, "met")
    if spread.high < 1 - WITHIN or spread.low > 1 + WITHIN:
        return Verdict(False, "missed")
    return Verdict(None, "no verdict: the goal lies within the interval")


if __name__ == "__main__":
    main(__doc__, measure)
