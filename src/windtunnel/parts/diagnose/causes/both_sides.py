"""Both sides of a tie: workers that are equally full have to become faster together, so their causes are taken together."""

from collections.abc import Iterable

from windtunnel.finding import NotMeasured
from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Kind, Limit
from windtunnel.parts.diagnose.observation import Observation

CODE = "both-sides"


def both_sides(checks: Iterable[Check]) -> Check:
    """The cause that takes those of `checks` together."""
    alone = tuple(checks)

    def find(observation: Observation, limit: Limit) -> Case | None:
        workers = observation.kinds_of_limit(limit)
        if limit.kind != "tie" or len(workers) < 2:
            return None
        firsts = [_first(alone, observation, limit, slack) for slack in workers]
        cases = [check_and_case for check_and_case in firsts if check_and_case is not None]
        codes = list(dict.fromkeys(check.code for check, _ in cases))
        if len(cases) < len(workers) or len(codes) < 2:
            return None  # one of them has no remedy, or all have the same: then that is the cause
        return Case(
            evidence=f"{limit.words.partition(':')[0]}: {'; '.join(case.evidence for _, case in cases)}",
            remedy=" and, at once, ".join(case.remedy for _, case in cases),
            sets=list(dict.fromkeys(change for _, case in cases for change in case.sets))
            if all(case.sets for _, case in cases)
            else [],
            reliefs=tuple(case.reliefs[0] for _, case in cases),
            against=[line for _, case in cases for line in case.against],
            not_measured=[line for _, case in cases for line in case.not_measured],
            parts=codes,
        )

    return Check(CODE, "both sides are full: their causes together", find)


def _first(checks: Iterable[Check], observation: Observation, limit: Limit, slack: Slack) -> tuple[Check, Case] | None:
    """Of the causes of one worker, if it limited alone, the one whose remedy saves most there; one that can be tried before others."""
    kind: Kind = "generator" if slack.sides == "client" else "worker"
    of_one = limit.model_copy(update={"kind": kind, "workers": [slack.worker], "engines": [slack.engine]})
    relieving = []
    for check in checks:
        try:
            case = check.find(observation, of_one)
        except NotMeasured:
            continue
        if case is not None and case.reliefs and case.reliefs[0].slack is slack:
            relieving.append((check, case))
    return max(relieving, key=lambda of: (bool(of[1].sets), of[1].reliefs[0].saved.mean), default=None)
