"""The diagnosis of one run."""

from collections.abc import Sequence
from dataclasses import replace

from windtunnel.finding import NotMeasured
from windtunnel.measure.validity import Slack
from windtunnel.part_registry import part_functions, part_modules
from windtunnel.parts.diagnose.causes import find_causes
from windtunnel.parts.diagnose.confidence import chance, evidence_of
from windtunnel.parts.diagnose.experiment import experiment, is_experiment
from windtunnel.parts.diagnose.limits import limit
from windtunnel.parts.diagnose.model import Cause, Diagnosis, Experiment, Interval, Limit, OwnDiagnosis, WorkerSeen
from windtunnel.parts.diagnose.observation import Observation, observe
from windtunnel.parts.diagnose.recorded import NONE, Evidence
from windtunnel.runs import Run
from windtunnel.runs.record import BUSY


def diagnose(run: Run, as_: str | None = None, recorded: Evidence = NONE) -> Diagnosis:
    """What the record of a run shows, and if the run is an experiment, what its delays show; an invalid run is read too. `as_`: the
    name of a tool whose own rule is asked, too; it raises UserError if no stage was timed. `recorded`: what other tools counted meanwhile,
    beside what the run itself brings."""
    for diagnosis_of in part_functions("own_diagnosis", "diagnosis_of"):
        if (own := diagnosis_of(run)) is not None:
            return _of_part(run, own)
    observation = observe(run, recorded.with_run(run))
    record = run.record
    workers = [_worker(observation, slack) for slack in observation.slacks]
    by_experiment, not_shown = _experiment(run, observation, workers)
    if by_experiment:
        observation = replace(observation, alone=by_experiment.alone)
    diagnosis = Diagnosis(
        run=str(run.path),
        verdict=record.verdict_words,
        state=record.where.state,
        windows=observation.count,
        limit=limit(observation),
        workers=workers,
        ledgers=[account.ledger for account in observation.accounts],
        causes=[],
        experiment=by_experiment,
        not_measured=[*_not_measured(observation), *not_shown, *observation.recorded.not_read],
        **{tool.NAME: tool.verdicts(run) if tool.NAME == as_ else None for tool in part_modules("as_option")},
    )
    causes, not_measured = find_causes(
        observation, diagnosis.conclusion, by_experiment.remedies if by_experiment else ()
    )
    known = {
        "causes": causes,
        "chance": _chance(causes, diagnosis.conclusion) if record.verdict.valid else None,
        "not_measured": [*diagnosis.not_measured, *not_measured],
    }
    return diagnosis.model_copy(update=known)


def _chance(causes: Sequence[Cause], limit: Limit) -> float | None:
    """That the first cause is right; None without one, of one that other tools recorded, and if too few planted faults had such evidence."""
    if not causes or causes[0].observable == "recorded":
        return None
    return chance(evidence_of(causes[0].gain, limit))


def _of_part(run: Run, own: OwnDiagnosis) -> Diagnosis:
    return Diagnosis(
        run=str(run.path),
        verdict=run.record.verdict_words,
        state=None,
        windows=own.windows,
        limit=own.limit,
        workers=[],
        ledgers=[],
        causes=own.causes,
        not_measured=own.not_measured,
        **dict.fromkeys(tool.NAME for tool in part_modules("as_option")),
    )


def _worker(observation: Observation, slack: Slack) -> WorkerSeen:
    return WorkerSeen(
        engine=slack.engine,
        worker=slack.worker,
        cpu=slack.cpu,
        sides=slack.sides,
        slack=Interval.from_estimate(slack.share),
        stages=observation.stages_of(slack.engine, slack.worker),
    )


def _experiment(run: Run, observation: Observation, workers: list[WorkerSeen]) -> tuple[Experiment | None, list[str]]:
    """None if the run is no experiment, or if its windows show nothing: then the list says what is missing."""
    if not workers or not is_experiment(run):
        return None, []
    try:
        return experiment(run, observation, workers), []
    except NotMeasured as missing:
        return None, [str(missing)]


def _not_measured(observation: Observation) -> list[str]:
    """What this run cannot show."""
    sentences = []
    imported = observation.run.record.imported
    if imported and any(value.unit == BUSY for value in imported.values):
        sentences.append("intervals of slack: the text has no windows of its own")
    elif imported:
        sentences.append("slack, and with it what limits: the text has no windows and no idle time")
    elif not observation.slacks:
        sentences.append("slack: no call was timed")
    return sentences
