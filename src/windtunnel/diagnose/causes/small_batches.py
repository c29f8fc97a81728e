"""Small batches: what a call costs before it moves anything is shared by few packets."""

from windtunnel.diagnose.causes.batches import USUAL, loops_of, small
from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import Slack


def _find(seen: Observed, limit: Limit) -> Case | None:
    cases = [case for slack in seen.of_limit(limit) if (case := _of_worker(seen, slack))]
    return cases[0] if cases else None


def _of_worker(seen: Observed, slack: Slack) -> Case | None:
    stages = {stage: moved for stage, moved in small(seen, slack).items() if moved == _batch(seen, stage)}
    if not stages:
        return None
    stage, moved = next(iter(stages.items()))
    loops = loops_of(seen, slack, moved)
    return Case(
        evidence=(
            f"most calls of {stage} that move something move {moved}, its largest batch, so a loop of its worker moves few: {loops.words}"
        ),
        remedy=f"a larger batch of {' and '.join(stages)}: up to {USUAL} packets share what a loop costs",
        sets=[f"{'.batch.'.join(each.split())}={USUAL}" for each in stages],
        gain=loops.gain,
        not_measured=[f"{missing}. --probe tries it" for missing in loops.not_measured],
    )


def _batch(seen: Observed, stage: str) -> int:
    side, name = stage.split()
    return int(getattr(seen.endpoint(side).batch, name))


CAUSE = Check("small-batches", "few packets share what a loop costs", _find)
