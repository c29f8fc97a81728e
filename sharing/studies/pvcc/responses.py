"""What a server responded during a trial, as the client of this product or one of others says it."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from pvcc.carried import MOST_LOST, why_not_carried
from pvcc.client import WINDOW_NS, Client
from pvcc.other_clients.other_client import Asking
from windtunnel.api.errors import UserError
from windtunnel.api.histograms import percentile

OWN = "windtunnel-client"
WARMUP_NS = 200_000_000
"""Of the client of this product; the others count from their first request."""
DEVIATIONS = 3
"""By which the number of a client's random arrivals may lie below the rate's."""


@dataclass(frozen=True)
class Responses:
    """Percentiles are null if the rate was not carried, or if the client prints none."""

    responses_per_s: float
    not_responses: float | None
    """Of the offered requests: unsent, lost, or with a wrong response; null: the client does not count them."""
    not_carried: str | None
    p50_ns: int | None
    p99_ns: int | None
    p99_sent_ns: int | None
    """From the real send time; null: the client has only the intended one."""
    offered: int | None = None
    right: int | None = None
    longest_gap_ns: int | None = None

    def fields(self) -> dict[str, Any]:
        """Those of a row."""
        names = ("responses_per_s", "not_responses", "not_carried", "p50_ns", "p99_ns", "p99_sent_ns")
        return {name: getattr(self, name) for name in names}


def of_own(client: Client) -> Responses:
    """Waits for the end of `windtunnel-client`, whose one target has the phases `warmup` and `measure`."""
    result = client.result()
    [target] = result.targets
    phase = target.phase("measure")
    not_carried = why_not_carried(target, WARMUP_NS, WINDOW_NS)
    return Responses(
        responses_per_s=phase.responses_per_s,
        not_responses=1 - phase.right / phase.offered if phase.offered else 0.0,
        not_carried=not_carried,
        p50_ns=None if not_carried else percentile(phase.latency, 50),
        p99_ns=None if not_carried else percentile(phase.latency, 99),
        p99_sent_ns=None if not_carried else percentile(phase.latency_sent, 99),
        offered=phase.offered,
        right=phase.right,
        longest_gap_ns=result.longest_gap_ns,
    )


def of_other(client: Asking) -> Responses:
    """Waits for the end of a client of others. Without an intended send time its one p99 stands for both.

    Raises UserError if it says that there were more responses than requests."""
    reading, load = client.result(), client.load
    asked, had = (load.rate or 0) * load.seconds, reading.responses_per_s * load.seconds
    if asked and had > asked / (1 - MOST_LOST) + DEVIATIONS * sqrt(asked):
        raise UserError(
            f"{client.client.name} printed {reading.responses_per_s:,.0f} responses a second at a rate of {load.rate:,}",
            remedy="such a report is not used; a longer trial, without --quick, may end in a better one",
        )
    short = had < (1 - MOST_LOST) * asked - DEVIATIONS * sqrt(asked)
    not_carried = f"{reading.responses_per_s:,.0f} responses a second" if short else None
    p99_ns = None if not_carried else reading.p99_ns
    return Responses(
        responses_per_s=reading.responses_per_s,
        not_responses=None,
        not_carried=not_carried,
        p50_ns=None if not_carried else reading.p50_ns,
        p99_ns=p99_ns,
        p99_sent_ns=None if client.client.intended else p99_ns,
    )
