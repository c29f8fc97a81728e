"""The host's time: other threads, or other guests, run on the workers' CPUs."""

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check, filled
from windtunnel.parts.diagnose.model import Gain, Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate, mean_of

LEAST_SHOWN = 0.0005
"""Share of the time; less is printed as 0.0%, and every kernel takes it."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    excluded = [reason for reasons in _excluded_reasons(observation) for reason in reasons]
    workers = observation.of_limit(limit) or observation.slacks
    worst = max(
        ((slack, _share_taken(observation, slack)) for slack in workers),
        key=lambda slack_and_share: slack_and_share[1].mean,
        default=None,
    )
    share = worst[1] if worst else Estimate(0.0)
    is_shown = share.low is not None and share.low > 0 and (share.high or 0.0) >= LEAST_SHOWN
    if limit.kind != "host" and not is_shown:
        return None
    sentences = [f"the worker on CPU {worst[0].cpu} had no CPU for {share.mean:.1%} of the time"] if worst else []
    sentences += [f"{len(_excluded_reasons(observation))} windows excluded, as for: {excluded[0]}"] if excluded else []
    too_many = [reason for reason in observation.run.record.verdict.reasons if reason.startswith("windows:")]
    low, high = (share.mean if bound is None else bound for bound in (share.low, share.high))
    return Case(
        evidence="; ".join([*sentences, *too_many]) or limit.words,
        remedy="stop other programs on these CPUs, or give the workers CPUs of their own",
        bound=None if too_many else Gain(filled(low), filled(high)),
        against=["no metric includes excluded windows: the gain is that of the windows that count"]
        if excluded and not too_many
        else [],
    )


def _excluded_reasons(observation: Observation) -> list[list[str]]:
    validity = observation.run.record.validity
    phrases = ("preempted", "steal", "slower than", "the process was stopped")
    marks = validity.excluded if validity else []
    return [mark.reasons for mark in marks if any(phrase in reason for reason in mark.reasons for phrase in phrases)]


def _share_taken(observation: Observation, slack: Slack) -> Estimate:
    """Share of the time in which this worker was preempted, or its CPU's time was steal."""
    shares = [
        ((worker.preempted_ns or 0) + worker.steal_ns) / (window.end_ns - window.start_ns)
        for window in observation.windows[slack.engine]
        for worker in window.workers
        if worker.worker == slack.worker
    ]
    return mean_of(shares)


CAUSE = Check("host-time", "the host runs something else on the workers' CPUs", _find)
