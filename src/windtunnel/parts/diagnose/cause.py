"""How a cause is searched for, and the gain that its remedy should bring."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.confidence import confidence, evidence_of
from windtunnel.parts.diagnose.model import BOUNDLESS, Cause, Gain, Limit, Observable
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate

NOT_TRIED = "not tried on hardware"
"""A note on every cause that the texts of other tools show: it is tested on texts alone."""


@dataclass(frozen=True)
class Relief:
    """What a remedy saves at a worker and at all of its replicas."""

    slack: Slack
    saved: Estimate
    """ns per message."""


@dataclass(frozen=True)
class Case:
    """What the check of one cause has found."""

    evidence: str
    remedy: str
    sets: list[str] = field(default_factory=list)
    reliefs: tuple[Relief, ...] = ()
    """That of the worker with the least slack first. The gain follows from them."""
    bound: Gain | None = None
    """The gain if it follows from no relief; None with no relief: it cannot be told from one run."""
    against: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    """Codes of the causes that this one takes together; empty: it is one."""


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
        known = gain(observation, case.reliefs) if case.reliefs else case.bound
        return Cause(
            code=self.code,
            title=self.title,
            evidence=case.evidence,
            remedy=case.remedy,
            observable=self.observable,
            sets=case.sets,
            gain=known,
            against=case.against,
            parts=case.parts,
            not_measured=[*case.not_measured, NOT_TRIED] if self.observable == "recorded" else case.not_measured,
            confidence=None if self.observable == "recorded" else confidence(evidence_of(known, limit)),
        )


def gain(observation: Observation, reliefs: Sequence[Relief]) -> Gain:
    """The gain if workers, and their replicas, need less for a message: the rate rises until they, or the next worker, are full. The first
    relief is of a worker that limits.

    Raises NotMeasured if no message got a response.
    """
    now = observation.ns_a_message
    relieved = [worker for relief in reliefs for worker in observation.replicas(relief.slack)]
    others = [other for other in observation.slacks if other not in relieved]
    least, most = (  # keeping up, a worker works, but could work less
        max([now * (1 - share) for share in shares], default=0.0)
        for shares in ([_high(other.share) for other in others], [_low(other.waiting) for other in others])
    )
    first, *more = reliefs
    fewest = [now - _high(first.saved), *(now * (1 - _high(r.slack.share)) - _high(r.saved) for r in more)]
    longest = [now - _low(first.saved), *(now * (1 - _low(r.slack.waiting)) - _low(r.saved) for r in more)]
    low = _percent(now, max(*longest, most))
    after = max(*fewest, least)
    return Gain(low, max(low, _percent(now, after)) if after > 0 else BOUNDLESS)


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
