"""The host's time: other threads, or other guests, run on the workers' CPUs."""

from windtunnel.diagnose.causes.cause import Case, Check, filled
from windtunnel.diagnose.model import Gain, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import Slack
from windtunnel.stats.mean import Estimate, mean_of

LEAST_SHOWN = 0.0005
"""Share of the time; less is 0.0% in words, and every kernel takes it."""


def _find(seen: Observed, limit: Limit) -> Case | None:
    excluded = [reason for each in _excluded(seen) for reason in each]
    workers = seen.of_limit(limit) or seen.slacks
    worst = max(((slack, _taken(seen, slack)) for slack in workers), key=lambda one: one[1].mean, default=None)
    taken = worst[1] if worst else Estimate(0.0)
    shown = taken.low is not None and taken.low > 0 and (taken.high or 0.0) >= LEAST_SHOWN
    if limit.kind != "host" and not shown and not excluded:
        return None
    said = [f"the worker on CPU {worst[0].cpu} had no CPU for {taken.mean:.1%} of the time"] if worst else []
    said += [f"{len(_excluded(seen))} windows excluded, as for: {excluded[0]}"] if excluded else []
    said += [reason for reason in seen.run.record.verdict.reasons if reason.startswith("windows:")]
    low, high = (taken.mean if bound is None else bound for bound in (taken.low, taken.high))
    return Case(
        evidence="; ".join(said) or limit.words,
        remedy="stop other programs on these CPUs, or give the workers CPUs of their own",
        gain=Gain(filled(low), filled(high)),
        against=["no metric includes excluded windows: the gain is that of the windows that count"] if excluded else [],
    )


def _excluded(seen: Observed) -> list[list[str]]:
    validity = seen.run.record.validity
    words = ("preempted", "steal", "slower than", "the process was stopped")
    marks = validity.excluded if validity else []
    return [mark.reasons for mark in marks if any(word in reason for reason in mark.reasons for word in words)]


def _taken(seen: Observed, slack: Slack) -> Estimate:
    """Share of the time in which this worker was preempted, or its CPU's time was steal."""
    shares = [
        ((each.preempted_ns or 0) + each.steal_ns) / (window.end_ns - window.start_ns)
        for window in seen.windows[slack.engine]
        for each in window.workers
        if each.worker == slack.worker
    ]
    return mean_of(shares)


CAUSE = Check("host-time", "the host runs something else on the workers' CPUs", _find)
