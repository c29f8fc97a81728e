"""A diagnosis as a document: the limit and its evidence, the causes, the workers and their ledgers."""

from collections.abc import Iterator, Mapping
from shlex import quote

from windtunnel import format as fmt
from windtunnel.part_registry import part_functions
from windtunnel.parts.diagnose.confidence import MEDIUM
from windtunnel.parts.diagnose.model import (
    BOUNDLESS,
    Cause,
    Diagnosis,
    Experiment,
    Gain,
    Interval,
    Kind,
    Ledger,
    Limit,
    Tried,
    WorkerSeen,
)
from windtunnel.results.document import (
    Block,
    Document,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    groups_of,
)
from windtunnel.results.replicas import grouped, representatives

INVALID = (
    "the run is invalid: no cause has more than low confidence. Its reasons say what to do first: `windtunnel show`"
)
LIMITS = {True: "yes", False: "", None: "cannot tell"}
WINDOW = "time of the windows"
_TONES: Mapping[Kind, Tone] = {
    "worker": "subject",
    "generator": "warning",
    "in-flight": "subject",
    "link": "subject",
    "offered load": "good",
    "host": "bad",
    "tie": "warning",
    "unknown": "warning",
}
_PARTS = {
    "stall": "stall",
    "idle": "idle",
    "interrupted": "interrupted",
    "traffic": "own traffic of handlers",
    "clock": "reading the clock",
}


def diagnosis_document(diagnosis: Diagnosis) -> Document:
    """The limit with its evidence as the verdict, the causes, the workers and their ledgers."""
    state = [f"host state {diagnosis.state}"] if diagnosis.state else []
    return Document(
        kind="diagnosis",
        title=f"What limits {diagnosis.run}",
        how=[f"by {diagnosis.windows} windows", *state, f"run {diagnosis.verdict}"],
        blocks=list(_sections(diagnosis)),
        warnings=[INVALID] if diagnosis.verdict == "invalid" and diagnosis.causes else [],
        verdict=_verdict(diagnosis),
    )


def _sections(diagnosis: Diagnosis) -> Iterator[Section]:
    for sections in part_functions("diagnosis", "sections"):
        yield from sections(diagnosis)
    if diagnosis.chance is not None and diagnosis.chance < MEDIUM:
        yield Section("the cause is not known", [Sentence(_not_known(diagnosis), tone="quiet")])
    changes = [cause.code for cause in diagnosis.causes if cause.sets]
    for place, cause in enumerate(diagnosis.causes):
        number = changes.index(cause.code) + 1 if cause.sets else None
        yield Section(cause.title, list(_cause_sentences(cause, number, None if place else diagnosis.chance)))
    if diagnosis.tried is not None:
        yield Section("tried, in turns with the file", [_tried_block(diagnosis.tried)], terminal="titled")
    if diagnosis.workers:
        yield Section("workers", [_worker_table(diagnosis)])
    if diagnosis.experiment:
        title = f"experiments, {diagnosis.experiment.blocks} blocks of windows"
        remedies = [Sentence(f"tried: {remedy.sentence}") for remedy in diagnosis.experiment.remedies]
        yield Section(title, [_slope_table(diagnosis.experiment), *remedies], terminal="titled")
    if diagnosis.ledgers:
        yield Section("ns per message", [_ledger_table(diagnosis)], terminal="titled")
    if diagnosis.not_measured:
        yield Section("not measured", [Sentence(f"not measured: {it}", tone="quiet") for it in diagnosis.not_measured])


def _verdict(diagnosis: Diagnosis) -> Panel:
    """The limit by experiment, if there was one, and then from the counters."""
    limit, experiment = diagnosis.limit, diagnosis.experiment
    if experiment is None:
        lines = list(_limit_sentences("", limit))
    else:
        lines = [
            *_limit_sentences("by experiment: ", experiment.limit),
            *_limit_sentences("from the counters: ", limit),
        ]
    return Panel("limit", lines, _TONES[diagnosis.conclusion.kind])


def _limit_sentences(source: str, limit: Limit) -> Iterator[Sentence]:
    yield Sentence(Marked(f"{source}{limit.words}", _TONES[limit.kind], strong=True))
    yield from (Sentence(f"  {line}") for line in limit.evidence)


def _slope_table(experiment: Experiment) -> Table:
    column = columns_of(experiment.slopes)
    return Table(
        [
            column("delayed", lambda row: row.stage, words=True),
            column("slope", lambda row: _bounded(row.slope, 2)),
            column("slack ns", lambda row: _bounded(row.slack_ns, 1)),
            column("needs ns by slope", lambda row: _bounded(row.implied_ns, 1)),
            column("by its calls", lambda row: fmt.number(row.accounted_ns)),
            column("limits", lambda row: LIMITS[row.limits], words=True),
        ]
    )


def _bounded(interval: Interval, digits: int) -> str:
    mean = fmt.number(interval.mean, digits)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low:.{digits}f} .. {interval.high:.{digits}f}]"


def _share(interval: Interval) -> str:
    """As in "1.2% [0.8 .. 1.6]"."""
    mean = fmt.percent(interval.mean)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low * 100:.1f} .. {interval.high * 100:.1f}]"


def _not_known(diagnosis: Diagnosis) -> str:
    """What would tell."""
    tell = "a longer run" if diagnosis.experiment else "--probe measures remedies, and what workers pay for each other"
    return f"what the cause is, is not known: {diagnosis.chance:.0%} of first causes like this one were right. {tell}"


def _cause_sentences(cause: Cause, number_of_change: int | None, chance: float | None) -> Iterator[Sentence]:
    """`number_of_change`: the place of its remedy among those that are changes of keys. `chance`: that it is right, of the first cause."""
    sure = f"confidence {cause.confidence}{'' if chance is None else f' ({chance:.0%})'}"
    known = f"{_gain(cause.gain)}, {sure}" if cause.confidence else "recorded by other tools"
    yield Sentence(Marked(cause.title, strong=True), f" ({cause.code}), {known}")
    yield Sentence(f"  for: {cause.evidence}")
    yield from (Sentence(f"  against: {line}") for line in cause.against)
    yield from (Sentence(f"  not measured: {line}", tone="quiet") for line in cause.not_measured)
    sets = f": {' '.join(f'--set {quote(change)}' for change in cause.sets)}" if cause.sets else ""
    yield Sentence(f"  remedy: {cause.remedy}{sets}", tone="good" if cause.sets else "plain")
    if number_of_change and cause.gain and cause.gain.basis == "bound":
        yield Sentence(f"  to measure what it brings: --try {number_of_change}", tone="quiet")


def _gain(gain: Gain | None) -> str:
    """As in "gain predicted: +17.0% to +34.0%". Of a bound, the most that is possible."""
    if gain is None or gain.high >= BOUNDLESS:
        return "gain not known"
    if gain.basis == "bound":
        return f"gain at most {gain.high:+.1f}%"
    return f"gain {gain.basis}: {gain.low:+.1f}% to {gain.high:+.1f}%"


def _tried_block(rows: list[Tried]) -> Block:
    if not rows:
        return Sentence("nothing: no remedy of these causes is a change of keys")
    column = columns_of(rows)
    return Table(
        [
            column("cause", lambda row: row.code, words=True),
            column("change", lambda row: " ".join(row.sets), words=True, spare=1),
            column("predicted", lambda row: _gain(row.predicted).removeprefix("gain ")),
            column("metric", lambda row: row.metric or "", words=True),
            column("brought", _brought),
            column("verdict", lambda row: row.verdict, words=True),
        ]
    )


def _brought(row: Tried) -> str:
    if row.percent is None:
        return fmt.DASH
    return f"{row.percent:+.1f}% [{row.low:+.1f} .. {row.high:+.1f}]"


def _worker_table(diagnosis: Diagnosis) -> Table:
    limiting = list(zip(diagnosis.conclusion.engines, diagnosis.conclusion.workers, strict=True))
    shown = _shown_workers(diagnosis)
    column = columns_of(shown)
    places = (
        [column("of those that do the same", lambda row: row[1], words=True)] if any(text for _, text in shown) else []
    )
    return Table(
        [
            column("worker", lambda row: str(row[0].worker)),
            column("CPU", lambda row: str(row[0].cpu)),
            column("sides", lambda row: row[0].sides, words=True),
            *places,
            column("slack", lambda row: _share(row[0].slack)),
            column("limits", lambda row: "yes" if (row[0].engine, row[0].worker) in limiting else "", words=True),
            column("share of its work", lambda row: _stages(row[0].stages), spare=1, words=True),
        ]
    )


def _shown_workers(diagnosis: Diagnosis) -> list[tuple[WorkerSeen, str]]:
    """The workers by their slack, the least first; of many that run the same stages three stand for all."""
    return representatives(_replicas(diagnosis), lambda worker: worker.slack.mean)


def _replicas(diagnosis: Diagnosis) -> list[list[WorkerSeen]]:
    """The workers by the stages that they run, those with the least slack first; each alone if they are few."""
    by_slack = sorted(diagnosis.workers, key=lambda worker: worker.slack.mean)
    return grouped(by_slack, lambda worker: (worker.engine, frozenset(worker.stages)))


def _stages(stages: dict[str, float]) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in stages.items())


def _ledger_table(diagnosis: Diagnosis) -> Table:
    """The ledger of each worker; of many that run the same stages that of the one with the least slack."""
    hidden = {(worker.engine, worker.worker) for _, *others in _replicas(diagnosis) for worker in others}
    ledgers = [ledger for ledger in diagnosis.ledgers if (ledger.engine, ledger.worker) not in hidden]
    rows = [(n, ledger, *part) for n, ledger in enumerate(ledgers) for part in parts_of(ledger)]
    column = columns_of(rows)
    return Table(
        [
            column("worker", lambda row: str(row[1].worker) if row[2] == WINDOW else ""),
            column("", lambda row: row[2], words=True),
            column("ns", lambda row: row[3]),
        ],
        groups_of([row[0] for row in rows]),
    )


def parts_of(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The lines of one ledger: the whole, its parts, the rest."""
    yield WINDOW, fmt.number(ledger.window_ns)
    yield from ((name, fmt.number(ns)) for name, ns in ledger.work.items())
    for field, name in _PARTS.items():
        if ns := getattr(ledger, field):
            yield name, fmt.number(ns)
    yield "rest: the sample's error, and the host", _bounded(ledger.rest, 1)
