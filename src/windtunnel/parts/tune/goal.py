"""The goal of a tuner: an objective, and the latency that must be kept at a rate."""

from dataclasses import dataclass
from typing import Literal

from windtunnel.errors import UserError
from windtunnel.measure.throughput.search_options import PERCENTILES, rate
from windtunnel.scenario import Scenario
from windtunnel.scenario.keys import Client
from windtunnel.scenario.overrides import as_sets
from windtunnel.scenario.quantities import option, write
from windtunnel.scenario.topology import endpoint, rates

Objective = Literal["throughput", "cores", "pareto"]
CLOSED = "a closed loop's latency is the time in the client's own queue: more in flight makes it longer, whatever the server does"


@dataclass(frozen=True)
class Slo:
    """A percentile of latency that must not exceed a limit."""

    percentile: str
    """The percentile as metrics name it: "p99"."""
    limit_ns: float

    @property
    def text(self) -> str:
        return f"{self.percentile} at most {write('duration', int(self.limit_ns))}"


@dataclass(frozen=True)
class Goal:
    objective: Objective
    slo: Slo | None = None
    rate: float | None = None
    """Rate of the open loop in which latency is measured, messages per second; None: the scenario's own, or no latency is asked for."""

    @property
    def latency(self) -> str | None:
        """The percentile that every trial measures in an open loop; None: none."""
        if self.slo:
            return self.slo.percentile
        return "p99" if self.objective == "pareto" and self.rate is not None else None

    @property
    def pairs(self) -> bool:
        """Whether throughput is compared, in pairs of runs."""
        return self.objective != "cores"

    @property
    def offered(self) -> tuple[str, ...]:
        """The changes, as texts of --set, that make the loop open."""
        return () if self.rate is None else tuple(as_sets({"client.rate": self.rate}))

    @property
    def text(self) -> str:
        """The goal as text: "throughput, p99 at most 50us at 2Mpps"."""
        at = f" at {write('rate', self.rate)}" if self.rate is not None else ""
        parts = [self.objective, self.slo.text + at if self.slo else f"p99{at}" if at else ""]
        return ", ".join(filter(None, parts))


def goal(objective: Objective, slo: str | None, at: str | None) -> Goal:
    """Reads the goal from the texts of the command line. Raises UserError that names the option."""
    return Goal(objective, _slo(slo) if slo is not None else None, rate("--rate", at) if at is not None else None)


def _slo(text: str) -> Slo:
    name, equals, limit = text.partition("=")
    if not equals or name not in PERCENTILES:
        raise UserError(
            f"--slo {text}: not a latency and its limit", remedy=f"one of {', '.join(PERCENTILES)}, as in p99=50us"
        )
    return Slo(name, float(option("--slo", "duration", limit, "100ns", "60s")))


def check(goal: Goal, scenario: Scenario) -> None:
    """Raises UserError for a goal that this scenario cannot be measured against."""
    client = endpoint(scenario, "client")
    offered = rates(scenario, client) if isinstance(client, Client) else []
    is_open = any(rate_ is not None for rate_ in offered)
    file = scenario.source.file
    if client is None and (goal.slo or goal.rate is not None or goal.objective == "cores"):
        raise UserError(
            f"{file}: no client here measures latency",
            remedy="tune the client's side, or give only --objective throughput",
        )
    if goal.objective == "cores" and goal.slo is None:
        raise UserError("--objective cores: how many are enough depends on an SLO", remedy="--slo p99=50us --rate 2M")
    if goal.objective == "pareto" and goal.slo:
        raise UserError(
            "--objective pareto shows every trade-off of throughput and latency, and takes no --slo",
            remedy="give only --rate 2M",
        )
    if goal.slo and goal.rate is None and not is_open:
        raise UserError(
            f"--slo {goal.slo.percentile}: {CLOSED}",
            remedy="--rate 2M: latency is measured in an open loop at this rate",
        )
    if goal.rate is not None and goal.latency is None:
        raise UserError("--rate has no effect without --slo", remedy="--slo p99=50us, or --objective pareto")
    if goal.rate is not None and any(w.rate is not None or w.phase or w.on is not None for w in scenario.workload):
        raise UserError(
            f"--rate: {file} has workloads with rates of their own", remedy="leave --rate out, or those rates"
        )
    if goal.pairs and is_open:
        raise UserError(
            f"{file}: an open loop's throughput is the rate that is offered",
            remedy="a scenario without a rate, or --objective cores --slo p99=50us",
        )
