"""The diagnosis of one run."""

from windtunnel.diagnose import axio
from windtunnel.diagnose.causes import look
from windtunnel.diagnose.experiment import experiment, is_experiment
from windtunnel.diagnose.limits import limit
from windtunnel.diagnose.model import Diagnosis, Experiment, Interval, WorkerSeen
from windtunnel.diagnose.observed import Observed, observe
from windtunnel.diagnose.recorded import NONE, Evidence
from windtunnel.finding import NotMeasured
from windtunnel.measure.validity import Slack
from windtunnel.runs import Run


def diagnose(run: Run, as_axio: bool = False, recorded: Evidence = NONE) -> Diagnosis:
    """What the record of a run tells, and where it is an experiment, what its delays tell; an invalid run is read too. `as_axio`:
    with the verdict of Axio's own rule, which raises UserError where no stage was timed. `recorded`: what other tools counted meanwhile."""
    seen = observe(run, recorded)
    record = run.record
    workers = [_worker(seen, slack) for slack in seen.slacks]
    found_by, missing = _experiment(run, seen, workers)
    found = Diagnosis(
        run=str(run.path),
        verdict=record.verdict_words,
        state=record.where.state,
        windows=seen.count,
        limit=limit(seen),
        workers=workers,
        ledgers=[account.ledger for account in seen.accounts],
        causes=[],
        experiment=found_by,
        not_measured=[*_not_measured(seen), *missing],
        axio=axio.verdicts(run) if as_axio else None,
    )
    causes, not_measured = look(seen, found.conclusion, found_by.remedies if found_by else ())
    return found.model_copy(update={"causes": causes, "not_measured": [*found.not_measured, *not_measured]})


def _worker(seen: Observed, slack: Slack) -> WorkerSeen:
    return WorkerSeen(
        engine=slack.engine,
        worker=slack.worker,
        cpu=slack.cpu,
        sides=slack.sides,
        slack=Interval.of(slack.share),
        stages=seen.stages_of(slack.engine, slack.worker),
    )


def _experiment(run: Run, seen: Observed, workers: list[WorkerSeen]) -> tuple[Experiment | None, list[str]]:
    """None where the run is no experiment, or its windows show nothing: then with what is missing."""
    if not workers or not is_experiment(run):
        return None, []
    try:
        return experiment(run, seen, workers), []
    except NotMeasured as missing:
        return None, [str(missing)]


def _not_measured(seen: Observed) -> list[str]:
    """What this run cannot show."""
    said = []
    if seen.run.record.imported:
        said.append("slack, and with it what limits: the text has no windows and no idle time")
    elif not seen.slacks:
        said.append("slack: no call was timed")
    return said
