"""The longest burst without loss (RFC 9004), with runs as bursts.

A run warms up under a tenth of what is carried, falls silent, sends its burst at the greatest rate, and is silent until every
answer has come or its timeout is over. A client has no more messages in flight than its budget: that is the longest burst.
"""

from windtunnel.measure.search import BurstLimits, BurstResult, back_to_back
from windtunnel.measure.throughput.search_record import BurstRow
from windtunnel.measure.throughput.trials import Runs, balance
from windtunnel.scenario import Scenario
from windtunnel.scenario.keys import Client
from windtunnel.scenario.traffic_keys import LoadPhase

WARM_NS, SILENCE_NS, AFTER_NS = 50_000_000, 20_000_000, 100_000_000
WARM_SHARE = 0.1
"""Share of the throughput that is sent while the caches warm up."""
STEP = 32
"""Messages by which two bursts differ at least: a burst of app_tx."""
MOST_EXCLUDED = 60
"""Most excluded bursts in a row: half a minute, which a state of the host often lasts."""


def longest_burst(specs: Runs, rate: float, carried: float, repeats: int) -> BurstRow:
    """The row of search.json: bursts at `rate` messages per second of which `carried` are sustained. Raises as `Runs.run`."""
    budget = (specs.scenario.client or Client()).inflight
    limits = BurstLimits(
        rate=rate, longest_s=budget / rate, step=min(STEP, budget), repeats=repeats, excluded=MOST_EXCLUDED
    )
    most = limits.steps * limits.step

    def send(length: int) -> BurstResult:
        run = specs.run(_burst(specs.scenario, rate, WARM_SHARE * carried, length), f"a burst of {length:,} messages")
        lost = balance(run)
        return BurstResult(length, max(length - lost.lost - lost.unsent, 0), specs.exclusion_reason(run))

    first = send(most)
    if first.excluded is None and first.forwarded == first.sent:
        sentence = f"a burst of {most:,} messages, as many as the in-flight limit allows, lost nothing: the buffer is at least that long"
        return BurstRow(rate=rate, messages=None, repeats=[], corrected_messages=None, most=most, words=sentence)
    result = back_to_back(send, limits, min(carried, 0.999 * rate))
    corrected = None if result.corrected_buffer_s is None else result.corrected_buffer_s * rate
    sentence = result.irregular or f"mean of {len(result.bursts)} repeats, deviation {result.deviation:.0f}"
    return BurstRow(
        rate=rate,
        messages=result.average,
        repeats=list(result.bursts),
        corrected_messages=corrected,
        most=most,
        words=sentence,
    )


def _burst(scenario: Scenario, rate: float, warm_rate: float, length: int) -> Scenario:
    burst_ns = max(round(length / rate * 1e9), 1000)
    phases = [
        LoadPhase.model_construct(duration=ns, rate=phase_rate, arrivals="constant", on=None, off=None)
        for ns, phase_rate in (
            (WARM_NS, warm_rate),
            (SILENCE_NS, 0.0),
            (burst_ns, length * 1e9 / burst_ns),
            (AFTER_NS, 0.0),
        )
    ]
    duration = sum(phase.duration for phase in phases)
    workload = scenario.workload[0].model_copy(update={"phase": phases})
    client = (scenario.client or Client()).model_copy(update={"rate": None})
    times = {"duration": duration, "warmup": 0, "window": duration}
    return scenario.model_copy(update={"client": client, "workload": [workload], **times})
