"""The payload: what every byte costs, if messages have different sizes; else which keys have every byte read."""

from collections.abc import Iterator
from statistics import fmean

from windtunnel.finding import NotMeasured
from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.line import slope_of
from windtunnel.stats.mean import Estimate

LEAST_POINTS = 8
LEAST_BYTES = 1024
"""Of a message and its response: fewer are read in some nanoseconds."""
READING = ("app_rx", "disp_rx", "disp_tx")
"""Stages that read every byte: the handler's scan, and checksums of what is received and sent."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next(iter(observation.of_limit(limit)), None)
    if slack is None:
        return None
    vary = any(
        workload.request_sizes or workload.response_sizes for plan in observation.plans for workload in plan.workloads
    )
    sizes = list(_bytes(observation))
    account = observation.account(slack)
    if not vary or len(set(sizes)) < 2 or len(sizes) < LEAST_POINTS:
        return _by_keys(observation, limit, fmean(sizes) if sizes else 0.0)
    work = [sum(stage.work for stage in parts.stages) * ns for parts, ns in zip(account.parts, account.ns, strict=True)]
    if len(work) != len(sizes):
        raise NotMeasured("what a byte costs: some windows have no message")
    per_byte = slope_of(sizes, work)
    if per_byte.low is None or per_byte.high is None or per_byte.low <= 0:
        return None
    mean = fmean(sizes)
    of_all = per_byte.mean * mean
    return Case(
        evidence=f"a byte costs {per_byte.mean:.3f} ns (at least {per_byte.low:.3f}), and a message has {mean:.0f}: {of_all:.1f} ns of it",
        remedy="do not touch every byte: no scan by the handler, no UDP checksum in software",
        sets=list(_sets(observation)),
        reliefs=(Relief(slack, Estimate(of_all, 0.0, per_byte.high * mean)),),
        not_measured=["which part of it is the scan, the checksum, and the copy"],
    )


def _by_keys(observation: Observation, limit: Limit, bytes_: float) -> Case:
    """Of messages of one size, what a byte costs is not known: at most all that the stages do which read it. Raises NotMeasured if no key
    has long messages read."""
    sets = list(_sets(observation))
    if not sets or bytes_ < LEAST_BYTES:
        raise NotMeasured("what a byte costs: messages have one size, or windows are few")
    keys = " and ".join(change.partition("=")[0] for change in sets)
    return Case(
        evidence=f"a message and its response have {bytes_:,.0f} bytes, and {keys} {'have' if len(sets) > 1 else 'has'} all of them read",
        remedy="do not touch every byte: no scan by the handler, no UDP checksum in software",
        sets=sets,
        reliefs=tuple(Relief(slack, _of_reading(observation, slack)) for slack in observation.kinds_of_limit(limit)),
        not_measured=["what a byte costs: messages have one size, or windows are few"],
    )


def _of_reading(observation: Observation, slack: Slack) -> Estimate:
    """At most all that the stages do which read every byte."""
    account = observation.account(slack)
    most = sum(account.work(name).mean for name in account.stages if name.endswith(READING))
    return Estimate(most / 2, 0.0, most)


def fewer(observation: Observation) -> list[str]:
    """Half the bytes, as words of --set: what every byte costs shows by them. Empty: messages are short, or of several sizes."""
    sizes = list(_bytes(observation))
    workloads = observation.run.record.scenario.get("workload") or []
    plans = [plan for plan in observation.plans if any(workload.load for workload in plan.workloads)]
    if not sizes or fmean(sizes) < LEAST_BYTES or not plans or len(workloads) != len(plans[0].workloads):
        return []
    return [
        f"workload.{n}.{what}={bytes_ // 2}"
        for n, workload in enumerate(plans[0].workloads)
        for what, bytes_, varied in (
            ("request", workload.request_bytes, workload.request_sizes),
            ("response", workload.response_bytes, workload.response_sizes),
        )
        if bytes_ >= LEAST_BYTES // 2 and not varied
    ]


def _bytes(observation: Observation) -> Iterator[float]:
    """Bytes that ports received per message, for each window with messages."""
    for n, messages in enumerate(observation.messages):
        received = sum(port.rx_bytes for windows in observation.windows.values() for port in windows[n].ports)
        if messages:
            yield received / messages


def _sets(observation: Observation) -> Iterator[str]:
    scenario = observation.run.record.scenario
    for n, workload in enumerate(scenario.get("workload") or []):
        if workload.get("handler") and workload.get("scan"):
            yield f"workload.{n}.scan=false"
    if (scenario.get("wire") or {}).get("udp_checksum"):
        yield "wire.udp_checksum=false"


CAUSE = Check("payload", "every byte of the payload costs", _find)
