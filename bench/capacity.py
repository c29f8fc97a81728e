"""Does the bottleneck law of one run say what another setting does?

One run a scenario and repeat, which changes between its windows: as the file says, with batches of 8, and with each setting that is to be
predicted. The law (`windtunnel model what-if`) sees the windows of the first two alone. Its error for a setting is what it predicts by what
the setting's own windows did; both relative to the windows of the file, so that the host's state is the same. The error of a case is that of
the median repeat; the mean of their absolute values is the MAPE. `--pairs` is the number of repeats. No case was used to make the law.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import median

from harness.engine_run import SCENARIOS
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.plan import Delay
from windtunnel.errors import UserError
from windtunnel.measure.variants import execute_variants, variant
from windtunnel.parts.models.capacity import Capacity, what_if
from windtunnel.runs import Run
from windtunnel.scenario import load

SHIPPED = SCENARIOS.parents[1] / "scenarios"
NAMES = ("echo", "handler-m_app", "handler-t_app")
GOAL = 0.08
TRIES = 3
WINDOW = {"window": "50ms", "warmup": "200ms", "validity.settle": "0s"}
BOTH = ("client", "server")


def batches(size: int, *sides: str) -> dict[str, int]:
    """Of all stages of these sides."""
    stages = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
    return {f"{side}.batch.{s}": size for side in sides for s in stages if (side, s) != ("server", "app_tx")}


@dataclass(frozen=True)
class Case:
    name: str
    sets: Mapping[str, int] = field(default_factory=dict)
    delay_ns: float = 0.0
    """Of server app_rx; the law is told of as many ticks more in the handler."""


KNOWN = Case("batches of 8", batches(8, *BOTH))
"""The law sees its windows."""
CASES = (
    Case("batches of 4", batches(4, *BOTH)),
    Case("batches of 16", batches(16, *BOTH)),
    Case("batches of 128", batches(128, *BOTH)),
    Case("the server's batches of 4", batches(4, "server")),
    Case("30 ns more in the handler", delay_ns=30.0),
    Case("100 ns more in the handler", delay_ns=100.0),
)


def measure(session: Session) -> list[Result]:
    numbers = count()
    errors: dict[str, list[float]] = {}
    held: dict[str, int] = {}
    with Interrupts() as interrupts:
        for name in NAMES:
            for _ in range(session.options.pairs):
                run = _valid(session, name, interrupts, numbers)
                for case, predicted, does in _predicted(run):
                    key = f"{name}: {case.name}"
                    errors.setdefault(key, []).append(predicted.per_s / predicted.run_per_s / does - 1)
                    low, high = ((end or 0.0) / predicted.run_per_s for end in (predicted.low, predicted.high))
                    held[key] = held.get(key, 0) + (low <= does <= high)
                    session.log(f"{key}: {does:.3f} of the rate, predicted {predicted.per_s / predicted.run_per_s:.3f}")
    middle = {name: abs(median(of)) for name, of in errors.items()}
    mape = sum(middle.values()) / len(middle)
    met = mape <= GOAL
    whole = Result(
        "capacity: MAPE of all cases",
        session.memory,
        extent([mape]),
        "of the rate",
        ours=f"{len(middle)} cases",
        goal=Goal(GOAL, "at most"),
        verdict=Verdict(met, "met" if met else "missed"),
        details={"errors": errors},
    )
    return [whole, *(_shown(session, name, of, held[name]) for name, of in errors.items())]


def _shown(session: Session, name: str, errors: list[float], held: int) -> Result:
    spread = extent([1 + error for error in errors])
    return Result(
        name,
        session.memory,
        spread,
        "x",
        ours="predicted by measured",
        reference=f"in its interval: {held} of {len(errors)}",
    )


def _valid(session: Session, name: str, interrupts: Interrupts, numbers: "count[int]") -> Run:
    """A run with all settings. Raises UserError where the host spoils all tries."""
    variants = [
        variant(
            case.name, case.sets, [Delay(endpoint="server", stage="app_rx", ns=case.delay_ns)] if case.delay_ns else []
        )
        for case in (KNOWN, *CASES)
    ]
    length = {"duration": f"{round(1000 * session.seconds * (1 + len(variants)))}ms"}
    reasons: list[str] = []
    for _ in range(TRIES):
        scenario = load(SHIPPED / f"{name}.toml", session.sets({**WINDOW, **length}))
        run = execute_variants(scenario, variants, Path(session.directory) / f"{next(numbers)}", interrupts).kept_run()
        if not (reasons := run.record.verdict.reasons):
            return run
    raise UserError(f"{name}: {TRIES} invalid runs in a row: {reasons[0]}")


def _predicted(run: Run) -> list[tuple[Case, Capacity, float]]:
    """Each case, what the law says of it, and its rate by that of the file."""
    seen = replace(
        run, windows={name: [w for w in of if w.variant in (None, 0, 1)] for name, of in run.windows.items()}
    )
    plain, _, *rows = run.record.variants
    (engine,) = run.record.engines
    found = []
    for case, row in zip(CASES, rows, strict=True):
        if engine.hello is None or plain.ns_per_message is None or row.ns_per_message is None:
            raise UserError(f"no window of {case.name} counts")
        ticks = round(case.delay_ns * engine.hello.tsc_hz / 1e9)
        more = run.record.scenario["workload"][0]["extra_ticks"] + ticks
        sets = [
            *(f"{key}={size}" for key, size in case.sets.items()),
            *([f"workload.0.extra_ticks={more}"] if ticks else []),
        ]
        found.append((case, what_if(seen, sets), plain.ns_per_message.median / row.ns_per_message.median))
    return found


if __name__ == "__main__":
    main(__doc__, measure)
