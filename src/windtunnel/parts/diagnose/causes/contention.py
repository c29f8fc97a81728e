"""Contention: a worker pays for what another one does at the same time, as for a lock, or for a cache line that both write."""

from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Alone, Interval, Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate

OF_THE_OTHER_SIDE = ("nic_tx", "nic_rx", "disp_rx")
"""Stages that share rings, or a NIC, with the other side in any case, and the one that is the first to read what that side wrote."""
ALIKE = 2.0
"""If no stage saves a share of its time so many times larger than another one, the hardware is shared and not a line of the code."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    limiting = observation.of_limit(limit)
    reliefs, sentences, shares = [], [], []
    for slack in [*limiting, *(slack for slack in observation.slacks if slack not in limiting)]:
        for alone in observation.alone:
            if (alone.engine, alone.worker) != (slack.engine, slack.worker) or not (saved := _saved(alone)):
                continue
            reliefs.append(Relief(slack, _sum(saved)))
            sentences += [
                f"{stage} takes {alone.took_ns[stage] - ns.mean:.1f} ns per message in place of {alone.took_ns[stage]:.1f}"
                for stage, ns in saved.items()
            ]
            shares += [
                alone.saved_ns[stage].mean / took
                for stage, took in alone.took_ns.items()
                if took and stage in alone.saved_ns
            ]
    if not reliefs or reliefs[0].slack not in limiting:
        return None
    all_alike = min(shares) > 0 and max(shares) <= ALIKE * min(shares)
    return Case(
        evidence=f"while the other workers hold still, {' and '.join(sentences)}",
        remedy="no lock and no counter that workers share, and no cache line that two of them write: a state of its own for each worker",
        reliefs=tuple(reliefs),
        against=["all stages save alike: workers that share a core, a cache or memory look so, too"]
        if all_alike
        else [],
        not_measured=["what a lock costs that nobody else holds"],
    )


def _saved(alone: Alone) -> dict[str, Interval]:
    """The stages that cost less for sure."""
    return {
        stage: saved
        for stage, saved in alone.saved_ns.items()
        if not stage.endswith(OF_THE_OTHER_SIDE) and saved.low is not None and saved.low > 0
    }


def _sum(saved: dict[str, Interval]) -> Estimate:
    low, high = (sum(getattr(ns, end) for ns in saved.values()) for end in ("low", "high"))
    return Estimate(sum(ns.mean for ns in saved.values()), low, high)


CAUSE = Check("contention", "workers pay for each other", _find)
