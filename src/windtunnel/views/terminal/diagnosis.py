"""A diagnosis in the terminal: the limit first, then what it is known by."""

from collections.abc import Iterator
from shlex import quote

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.diagnose.model import AxioVerdict, Cause, Diagnosis, Experiment, Gain, Interval, Ledger, Limit, Tried
from windtunnel.views.terminal.columns import Column, Fitting

COLOURS = {
    "worker": "cyan", "generator": "yellow", "in-flight": "cyan", "link": "cyan", "offered load": "green", "host": "red",
    "tie": "yellow", "unknown": "yellow",
}  # fmt: skip
INVALID = (
    "the run is invalid: no cause has more than low confidence. Its reasons say what to do first: `windtunnel show`"
)


def diagnosis_view(found: Diagnosis) -> RenderableType:
    """The limit, its evidence, the workers and their ledgers, what was not measured, and Axio's verdict."""
    parts: list[RenderableType] = [*_axio(found)]
    if found.experiment:
        parts += [
            *_limit("by experiment: ", found.experiment.limit),
            Text(),
            *_limit("from the counters: ", found.limit),
        ]
    else:
        parts += _limit("", found.limit)
    state = f", host state {found.state}" if found.state else ""
    parts.append(Text(f"by {found.windows} windows{state}, run {found.verdict}: {found.run}", style="dim"))
    parts += [Text(INVALID, style="yellow")] if found.verdict == "invalid" and found.causes else []
    for cause in found.causes:
        parts += [Text(), *_cause(cause)]
    if found.tried is not None:
        parts += [Text(), Text("tried, in turns with the file", style="bold"), _tried(found.tried)]
    if found.workers:
        parts += [Text(), _workers(found)]
    if found.experiment:
        parts += [
            Text(),
            Text(f"experiments, {found.experiment.blocks} blocks of windows", style="bold"),
            _slopes(found.experiment),
        ]
    if found.ledgers:
        parts += [Text(), Text("ns per message", style="bold"), _ledgers(found)]
    parts += [Text(f"not measured: {line}", style="dim") for line in found.not_measured]
    return Group(*parts)


def _limit(by: str, limit: Limit) -> Iterator[Text]:
    yield Text(f"{by}{limit.words}", style=f"bold {COLOURS[limit.kind]}")
    yield from (Text(f"  {line}") for line in limit.evidence)


def _slopes(experiment: Experiment) -> Fitting:
    rows = experiment.slopes
    return Fitting(
        [
            Column("delayed", [row.stage for row in rows], words=True),
            Column("slope", [_bounded(row.slope, 2) for row in rows]),
            Column("slack ns", [_bounded(row.slack_ns, 1) for row in rows]),
            Column("needs ns by slope", [_bounded(row.implied_ns, 1) for row in rows]),
            Column("by its calls", [fmt.number(row.accounted_ns) for row in rows]),
            Column("limits", [LIMITS[row.limits] for row in rows], words=True),
        ]
    )


def _bounded(found: Interval, digits: int) -> str:
    mean = fmt.number(found.mean, digits)
    return (
        mean
        if found.low is None or found.high is None
        else f"{mean} [{found.low:.{digits}f} .. {found.high:.{digits}f}]"
    )


def share(found: Interval) -> str:
    """As in "1.2% [0.8 .. 1.6]"."""
    mean = fmt.percent(found.mean)
    if found.low is None or found.high is None:
        return mean
    return f"{mean} [{found.low * 100:.1f} .. {found.high * 100:.1f}]"


def _cause(cause: Cause) -> Iterator[Text]:
    known = f"{_gain(cause.gain)}, confidence {cause.confidence}" if cause.confidence else "recorded by other tools"
    yield Text.assemble((cause.title, "bold"), f" ({cause.code}), {known}")
    yield Text(f"  for: {cause.evidence}")
    yield from (Text(f"  against: {line}") for line in cause.against)
    yield from (Text(f"  not measured: {line}", style="dim") for line in cause.not_measured)
    sets = f": {' '.join(f'--set {quote(each)}' for each in cause.sets)}" if cause.sets else ""
    yield Text(f"  remedy: {cause.remedy}{sets}", style="green" if cause.sets else "")


def _gain(gain: Gain | None) -> str:
    return "gain not known" if gain is None else f"gain {gain.low:+.1f}% to {gain.high:+.1f}%"


def _tried(rows: list[Tried]) -> RenderableType:
    if not rows:
        return Text("nothing: no remedy of these causes is a change of keys")
    return Fitting(
        [
            Column("cause", [row.code for row in rows], words=True),
            Column("change", [" ".join(row.sets) for row in rows], words=True, spare=1),
            Column("predicted", [_gain(row.predicted).removeprefix("gain ") for row in rows]),
            Column("metric", [row.metric or "" for row in rows], words=True),
            Column("brought", [_brought(row) for row in rows]),
            Column("verdict", [row.verdict for row in rows], words=True),
        ]
    )


def _brought(row: Tried) -> str:
    if row.percent is None:
        return fmt.DASH
    return f"{row.percent:+.1f}% [{row.low:+.1f} .. {row.high:+.1f}]"


def _workers(found: Diagnosis) -> Fitting:
    rows = sorted(found.workers, key=lambda worker: worker.slack.mean)
    limiting = list(zip(found.conclusion.engines, found.conclusion.workers, strict=True))
    return Fitting(
        [
            Column("worker", [str(row.worker) for row in rows]),
            Column("CPU", [str(row.cpu) for row in rows]),
            Column("sides", [row.sides for row in rows], words=True),
            Column("slack", [share(row.slack) for row in rows]),
            Column("limits", ["yes" if (row.engine, row.worker) in limiting else "" for row in rows], words=True),
            Column("share of its work", [_stages(row.stages) for row in rows], spare=1, words=True),
        ]
    )


def _stages(stages: dict[str, float]) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in stages.items())


def _ledgers(found: Diagnosis) -> Fitting:
    rows = [(ledger, *part) for ledger in found.ledgers for part in parts_of(ledger)]
    starts = [n for n, (ledger, name, _) in enumerate(rows) if n and name == WINDOW]
    return Fitting(
        [
            Column("worker", [str(ledger.worker) if name == WINDOW else "" for ledger, name, _ in rows]),
            Column("", [name for _, name, _ in rows], words=True),
            Column("ns", [text for _, _, text in rows]),
        ],
        starts,
    )


LIMITS = {True: "yes", False: "", None: "cannot tell"}
WINDOW = "time of the windows"


def parts_of(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The lines of one ledger: the whole, its parts, the rest."""
    yield WINDOW, fmt.number(ledger.window_ns)
    yield from ((name, fmt.number(ns)) for name, ns in ledger.work.items())
    for name in ("stall", "idle", "interrupted", "traffic", "clock"):
        if ns := getattr(ledger, name):
            yield NAMES.get(name, name), fmt.number(ns)
    rest = ledger.rest
    yield "rest: the sample's error, and the host", _bounded(rest, 1)


NAMES = {"clock": "reading the clock", "traffic": "own traffic of handlers"}


def _axio(found: Diagnosis) -> Iterator[RenderableType]:
    for verdict in found.axio or ():
        yield Text(_axio_words(verdict), style="bold")
        if verdict.rounding:
            yield Text(f"  {verdict.rounding}", style="yellow")
        yield from (Text(f"  Windtunnel: {line}") for line in verdict.ours)


def _axio_words(verdict: AxioVerdict) -> str:
    head = f"Axio's rule, {verdict.side}: the most critical phase is {verdict.stage}"
    if verdict.contention is None or verdict.completion_us is None or verdict.stall_us is None:
        return f"{head}; no contention point"
    work = verdict.completion_us - verdict.stall_us
    sign = "<" if verdict.contention == "C1" else ">"
    return f"{head}, its completion {work:.3f} {sign} stall {verdict.stall_us:.3f} µs: {verdict.contention}"
