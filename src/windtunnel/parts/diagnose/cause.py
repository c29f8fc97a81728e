"""How a cause is searched for, and the gain that its remedy should bring."""

from collections.abc import Callable
from dataclasses import dataclass, field

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.model import BOUNDLESS, Cause, Confidence, Gain, Limit, Observable
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate

NOT_TRIED = "not tried on hardware"
"""A note on every cause that the texts of other tools show: it is tested on texts alone."""


@dataclass(frozen=True)
class Case:
    """What the check of one cause has found."""

    evidence: str
    remedy: str
    sets: list[str] = field(default_factory=list)
    gain: Gain | None = None
    """None: it cannot be told from one run."""
    against: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """A cause by its code. `find` returns None if the run does not have it; it raises NotMeasured."""

    code: str
    title: str
    find: Callable[[Observation, Limit], Case | None]
    observable: Observable = "run"

    def cause(self, observation: Observation, limit: Limit) -> Cause | None:
        """Raises NotMeasured."""
        case = self.find(observation, limit)
        if case is None:
            return None
        return Cause(
            code=self.code,
            title=self.title,
            evidence=case.evidence,
            remedy=case.remedy,
            observable=self.observable,
            sets=case.sets,
            gain=case.gain,
            against=case.against,
            not_measured=[*case.not_measured, NOT_TRIED] if self.observable == "recorded" else case.not_measured,
            confidence=None if self.observable == "recorded" else _confidence(case, limit),
        )


def _confidence(case: Case, limit: Limit) -> Confidence:
    if case.gain is None:
        return "low"
    return "high" if case.gain.low > 0 and limit.kind not in ("tie", "unknown") else "medium"


def gain(observation: Observation, relieved: Slack, saved: Estimate) -> Gain:
    """The gain if a worker and its replicas need `saved` ns per message less, as a remedy applies to all of them: the rate rises until they, or
    the next worker, are full.

    Raises NotMeasured if no message got a response.
    """
    now = observation.ns_a_message
    relieved_too = observation.replicas(relieved)
    others = [other for other in observation.slacks if other not in relieved_too]
    least = max((now * (1 - _high(other.share)) for other in others), default=0.0)
    most = max(
        (now * (1 - _low(other.waiting)) for other in others), default=0.0
    )  # keeping up, it works, but could work less
    low = _percent(now, max(now - _low(saved), most))
    return Gain(low, max(low, _percent(now, max(now - _high(saved), least))))


def room(observation: Observation) -> Gain:
    """The gain if work fills the time in which the worker with the least slack waits: from nothing to all of it. Raises NotMeasured."""
    return Gain(0.0, filled(min((slack.share.mean for slack in observation.slacks), default=0.0)))


def filled(share: float) -> float:
    """Percent by which a rate rises when this share of the time, which was lost, is used. There is no bound if it was all of the time."""
    return 100 * share / (1 - share) if share < 1 else BOUNDLESS


def _percent(now: float, after: float) -> float:
    return 100 * (now / after - 1) if after > 0 else 0.0


def _low(estimate: Estimate) -> float:
    return estimate.mean if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.mean if estimate.high is None else estimate.high
