"""Small batches: what a call costs before it moves anything is shared by few packets."""

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.causes.batches import USUAL, cost_of_loops, small_batches
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation


def _find(observation: Observation, limit: Limit) -> Case | None:
    cases = [case for slack in observation.kinds_of_limit(limit) if (case := _case_of_worker(observation, slack))]
    if len(cases) < 2:
        return cases[0] if cases else None
    return Case(
        evidence="; ".join(case.evidence for case in cases),
        remedy=" and ".join(case.remedy for case in cases),
        sets=[change for case in cases for change in case.sets],
        reliefs=tuple(relief for case in cases for relief in case.reliefs),
        not_measured=list(dict.fromkeys(line for case in cases for line in case.not_measured)),
    )


def _case_of_worker(observation: Observation, slack: Slack) -> Case | None:
    stages = {
        stage: moved
        for stage, moved in small_batches(observation, slack).items()
        if moved == _batch(observation, stage)
    }
    if not stages:
        return None
    stage, moved = next(iter(stages.items()))
    loops = cost_of_loops(observation, slack, moved)
    return Case(
        evidence=(
            f"most calls of {stage} that move something move {moved}, its largest batch, so a loop of its worker moves few: {loops.sentence}"
        ),
        remedy=f"a larger batch of {' and '.join(stages)}: up to {USUAL} packets share what a loop costs",
        sets=[f"{'.batch.'.join(stage_name.split())}={USUAL}" for stage_name in stages],
        reliefs=(loops.relief,),
        not_measured=[f"{missing}. --probe tries it" for missing in loops.not_measured],
    )


def _batch(observation: Observation, stage: str) -> int:
    side, name = stage.split()
    return int(getattr(observation.endpoint(side).batch, name))


CAUSE = Check("small-batches", "few packets share what a loop costs", _find)
