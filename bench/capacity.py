"""Does the bottleneck law of one run say what another setting does?

For each case a run as the base and one with the change, alternating window by window as `windtunnel compare` runs them, `--pairs` times.
The change is predicted from the base's record alone (`windtunnel model what-if`) and compared with what its own run did. The error of a case
is that of the median pair; their mean is the MAPE. No case was used to make the law.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from harness.engine_run import SCENARIOS
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.host.states import same
from windtunnel.measure.compare.pair import Pair
from windtunnel.model.capacity import Capacity, what_if
from windtunnel.runs import Run
from windtunnel.runs.metrics import measured, ratio, seconds
from windtunnel.runs.variants import messages
from windtunnel.scenario import here, load, resolve

SHIPPED = SCENARIOS.parents[1] / "scenarios"
GOAL = 0.08
TRIES = 3
WINDOW = {"window": "50ms", "warmup": "200ms", "validity.settle": "0s"}


def batches(size: int, *sides: str) -> dict[str, str]:
    """Of all stages of these sides."""
    stages = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
    return {f"{side}.batch.{s}": str(size) for side in sides for s in stages if (side, s) != ("server", "app_tx")}


@dataclass(frozen=True)
class Case:
    name: str
    scenario: str
    sets: Mapping[str, str]
    """The change, in words of what-if."""
    base: Mapping[str, str] = field(default_factory=dict)


BOTH = ("client", "server")
ONE_CPU = {"client.cores": "[0]", "server.cores": "[0]"}
CASES = (
    Case("echo: batches of 4", "echo", batches(4, *BOTH)),
    Case("echo: batches of 8 to 32", "echo", batches(32, *BOTH), batches(8, *BOTH)),
    Case("echo: the server's batches of 4", "echo", batches(4, "server")),
    Case("echo: batches of 128", "echo", batches(128, *BOTH)),
    Case("echo: 200 ticks more in the handler", "echo", {"workload.0.extra_ticks": "200"}),
    Case("echo: both sides on one CPU", "echo", ONE_CPU),
    Case("echo: from one CPU to two", "echo", {"client.cores": "[0]", "server.cores": "[1]"}, ONE_CPU),
    Case("m_app: batches of 4", "handler-m_app", batches(4, *BOTH)),
    Case("m_app: 300 ticks more", "handler-m_app", {"workload.0.extra_ticks": "300"}),
    Case("t_app: batches of 8", "handler-t_app", batches(8, *BOTH)),
)


def measure(session: Session) -> list[Result]:
    numbers, host = count(), facts.collect()
    with Interrupts() as interrupts:
        found = [
            _judged(
                session, case, [_pair(session, case, interrupts, host, numbers) for _ in range(session.options.pairs)]
            )
            for case in CASES
        ]
    errors = [abs(median(of)) for _, of in found]
    mape = sum(errors) / len(errors)
    whole = Result(
        "capacity: MAPE of all cases",
        session.memory,
        extent([mape]),
        "of the rate",
        ours=f"{len(errors)} cases",
        goal=Goal(GOAL, "at most"),
        verdict=Verdict(mape <= GOAL, "met" if mape <= GOAL else "missed"),
        details={"errors": {case.name: error for case, error in zip(CASES, errors, strict=True)}},
    )
    return [whole, *(result for result, _ in found)]


def _pair(
    session: Session, case: Case, interrupts: Interrupts, host: facts.Facts, numbers: "count[int]"
) -> tuple[Capacity, float]:
    """What the base's record predicts, and what the change did to its rate. Raises UserError where the host spoils all tries."""
    length = {"duration": f"{round(1000 * session.seconds)}ms"}
    specs = [
        resolve(
            load(SHIPPED / f"{case.scenario}.toml", session.sets({**WINDOW, **length, **case.base, **more})), here()
        )
        for more in ({}, case.sets)
    ]
    reasons: list[str] = []
    for _ in range(TRIES):
        directory = session.directory / f"{next(numbers)}"
        order = (0, 1) if random.random() < 0.5 else (1, 0)
        pair = Pair(specs, [directory / side for side in "ab"], order, interrupts, [], host)
        outcomes = dict(pair.run("window", lambda _: None))
        base, changed = (outcomes[side].kept_run() for side in (0, 1))
        reasons = [reason for run in (base, changed) for reason in run.record.verdict.reasons]
        if not reasons and (
            len(case.base) or same(base.record.where, changed.record.where) or "cores" in str(case.sets)
        ):
            predicted = what_if(base, [f"{key}={value}" for key, value in case.sets.items()])
            session.log(
                f"{case.name}: {_rate(base) / 1e6:.2f} M/s becomes {_rate(changed) / 1e6:.2f}, predicted {predicted.per_s / 1e6:.2f}: {predicted.limit}"
            )
            return predicted, _rate(changed)
    raise UserError(
        f"{case.name}: {TRIES} pairs that are not valid or in two states of the host"
        + (f": {reasons[0]}" if reasons else "")
    )


def _rate(run: Run) -> float:
    windows = [window for of in run.counted.values() for window in measured(of)]
    return ratio(sum(map(messages, windows)), seconds(windows)) or 0.0


def _judged(session: Session, case: Case, pairs: list[tuple[Capacity, float]]) -> tuple[Result, list[float]]:
    errors = [predicted.per_s / rate - 1 for predicted, rate in pairs]
    held = sum((p.low or 0.0) <= rate <= (p.high or 0.0) for p, rate in pairs)
    result = Result(
        case.name,
        session.memory,
        extent([1 + error for error in errors]),
        "x",
        ours=f"predicted {median(p.per_s for p, _ in pairs) / 1e6:.2f} M/s",
        reference=f"measured {median(rate for _, rate in pairs) / 1e6:.2f} M/s; in the interval {held} of {len(pairs)}",
        details={"errors": errors, "held": held},
    )
    return result, errors


if __name__ == "__main__":
    main(__doc__, measure)
