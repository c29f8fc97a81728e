"""Does `windtunnel search` find what emulated links carry?

Four links; of each, --pairs searches. No peer: the references are sums.

loss      NDR, messages at constant intervals. The line carries its bits a second by the message's; a trial of a second hides as
          many more as the queue holds
latency   --goal p99, Poisson arrivals. A line of constant service times is an M/D/1 queue: its waiting time is Erlang's (A. K. Erlang,
          The Theory of Probabilities and Telephone Conversations, 1909). Responses leave the line of requests a service time apart, so
          they do not wait for their own
"""

import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from decimal import Decimal, getcontext
from math import factorial

from harness.engine_run import SCENARIOS
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge

import windtunnel
from windtunnel.measure.search import NDR, Objective
from windtunnel.measure.search import Goal as SearchGoal
from windtunnel.measure.throughput.find import INTERRUPTED, Options
from windtunnel.measure.throughput.record import GoalRow, SearchRecord

SCENARIO = SCENARIOS.parents[1] / "scenarios" / "link.toml"
HEADERS_BYTES, FRAMING_BYTES = 42, 24
DELAY_NS = 100_000
WITHIN_PERCENT = 1.0
WIDTH = 0.005


@dataclass(frozen=True)
class Line:
    bits_per_s: float
    payload_bytes: int
    queue: int

    @property
    def service_ns(self) -> float:
        """Of one message on the line."""
        return (self.payload_bytes + HEADERS_BYTES + FRAMING_BYTES) * 8e9 / self.bits_per_s

    @property
    def carried(self) -> float:
        """Messages a second."""
        return 1e9 / self.service_ns

    @property
    def name(self) -> str:
        return f"{self.bits_per_s / 1e6:g} Mbit/s, {self.payload_bytes} bytes"

    def sets(self, arrivals: str, queue: int) -> dict[str, str | int]:
        return {
            "wire.link.rate": f"{self.bits_per_s / 1e6:g}Mbps",
            "wire.link.queue": queue,
            "client.inflight": 4096,
            "client.arrivals": arrivals,
            "workload.0.request": self.payload_bytes,
            "workload.0.response": self.payload_bytes,
        }


LINES = (Line(100e6, 86, 512), Line(50e6, 86, 512), Line(500e6, 1000, 512), Line(1e9, 1400, 512))
"""Their queues last 6 to 13 ms. Other programs of a virtual machine take a worker's CPU for 1 to 2 ms each second: that loses nothing."""
LONG_QUEUE = 4096
"""For latency: no message is lost where p99 is within its limit."""
WAIT = 8.0
"""The p99 that is allowed: so many service times of waiting on top of an empty link's latency."""


def measure(session: Session) -> list[Result]:
    return [_result(session, LINES[n], kind) for kind in session.options.kind for n in session.options.link]


def _result(session: Session, line: Line, kind: str) -> Result:
    errors, trials = [], 0
    goal, sets, truth = _loss(line) if kind == "loss" else _latency(line)
    for number in range(session.options.pairs):
        directory = session.directory / f"{kind}-{LINES.index(line)}-{number}"
        options = Options(goals=(goal,), latency=False, bursts=0)
        record = windtunnel.search(SCENARIO, sets, options, out=directory)
        if record.stopped == INTERRUPTED:
            sys.exit(130)
        (row,) = record.goals
        errors.append(_error(row, truth))
        trials += len(record.trials)
        session.log(f"{line.name}, {kind}: {_words(record, row, truth)}")
    spread, limit = extent([min(error, 100.0) for error in errors]), Goal(WITHIN_PERCENT, "at most")
    right = sum(error <= WITHIN_PERCENT for error in errors)
    details = {"percent": errors, "truth_per_s": truth, "trials": trials}
    ours = f"{right} of {len(errors)} within {WITHIN_PERCENT:g}%"
    name = f"{'NDR' if kind == 'loss' else f'p99 of {goal.latency.limit_ns / 1e3:.0f} us'}: {line.name}"
    verdict = judge(spread, limit)
    reference = f"{truth:,.0f} /s"
    return Result(name, session.memory, spread, "%", ours, reference, goal=limit, verdict=verdict, details=details)


def _loss(line: Line) -> tuple[SearchGoal, dict[str, str | int], float]:
    return NDR, line.sets("constant", line.queue), line.carried


def _latency(line: Line) -> tuple[SearchGoal, dict[str, str | int], float]:
    limit_ns = 2 * (DELAY_NS + line.service_ns) + WAIT * line.service_ns
    goal = SearchGoal("p99", 0.01, latency=Objective(0.99, limit_ns), width=WIDTH)
    return goal, line.sets("poisson", LONG_QUEUE), line.carried * utilisation_of(0.99, WAIT)


def _error(row: GoalRow, truth: float) -> float:
    """Of the lower bound, %; infinite for an irregular result."""
    if row.irregular or row.relevant_lower_bound is None:
        return float("inf")
    return 100 * abs(row.relevant_lower_bound / truth - 1)


def _words(record: SearchRecord, row: GoalRow, truth: float) -> str:
    excluded = sum(trial.excluded is not None for trial in record.trials)
    found = row.irregular or f"{row.relevant_lower_bound:,.0f} .. {row.relevant_upper_bound:,.0f} /s"
    return f"{found}, the line's is {truth:,.0f}; {len(record.trials)} trials, {excluded} excluded; {record.state}"


def utilisation_of(share: float, services: float) -> float:
    """Of an M/D/1 queue in which this share of the messages waits for at most so many service times."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if waits_at_most(services, middle) > share else (low, middle)
    return low


def waits_at_most(services: float, utilisation: float) -> float:
    """Share of the messages of an M/D/1 queue that wait for at most so many service times."""
    getcontext().prec = 60  # terms of alternating signs that cancel
    rho, t = Decimal(utilisation), Decimal(services)
    terms = (
        (-rho * (t - k)) ** k / factorial(k) * (rho * (t - k)).exp() if k else (rho * t).exp()
        for k in range(int(services) + 1)
    )
    return float((1 - rho) * sum(terms, Decimal(0)))


def _more(parser: ArgumentParser) -> None:
    parser.add_argument("--kind", nargs="+", choices=("loss", "latency"), default=["loss", "latency"])
    numbers = range(len(LINES))
    parser.add_argument("--link", nargs="+", type=int, choices=numbers, default=list(numbers), help="some of the links")


if __name__ == "__main__":
    main(__doc__, measure, more=_more)
