"""Repeated runs of one scenario as a document: the medians of each state of the host, and how well they are known."""

from collections.abc import Sequence

from windtunnel import format as fmt
from windtunnel.host.states import counts
from windtunnel.measure.repeat import Middle, Repeated
from windtunnel.results.document import Document, Marked, Sentence, Table, columns_of
from windtunnel.results.metric_columns import compared_text
from windtunnel.stats.median import LEAST_RUNS, least_at_any_look


def repeated_document(repeated: Repeated, files: Sequence[tuple[str, str]] = ()) -> Document:
    """A row for each state and metric, the state with the most runs first; then what was reached."""
    rows = [(state, metric) for state in repeated.states for metric in state.metrics]
    column = columns_of(rows)
    table = Table(
        [
            column("state", lambda row: row[0].state or "not known", words=True),
            column("runs", lambda row: str(row[0].runs)),
            column("workload", lambda row: row[1].workload, words=True, spare=1),
            column("metric", lambda row: row[1].metric, words=True),
            column("median", lambda row: compared_text(row[1].unit, row[1].median)),
            column("min .. max", lambda row: _range(row[1], row[1].least, row[1].most), spare=2),
            column("95% interval", lambda row: _range(row[1], row[1].low, row[1].high)),
        ]
    )
    return Document(
        kind="repeat",
        title="Repeated runs",
        at=repeated.made,
        blocks=[table] if rows else [],
        warnings=[f"{run.path}: invalid, in no median: {run.reasons[0]}" for run in repeated.runs if run.reasons],
        verdict=Sentence(Marked(outcome(repeated), "good" if repeated.exit_code == 0 else "warning")),
        files=files,
    )


def run_line(so_far: Repeated) -> str:
    """What the last run added: its state, or why it is invalid; and how well the median is known by now. For stderr."""
    last, number = so_far.runs[-1], len(so_far.runs)
    bound = "at most " if so_far.until is not None else ""
    added = f"invalid: {last.reasons[0]}" if last.reasons else f"{last.state or 'state not known'}  {_known(so_far)}"
    return f"{number} of {bound}{so_far.most}  {added}"


def outcome(repeated: Repeated) -> str:
    """One line: what was asked for, whether it was reached, and how many runs of which states it took."""
    stopped = "interrupted; " if repeated.stopped == "interrupted" else ""
    runs = counts([(state.state, state.runs) for state in repeated.states], 0, "runs") or _plain(len(repeated.runs))
    if not repeated.states:
        return f"{stopped}no valid run of {len(repeated.runs)}"
    if repeated.until is None:
        return f"{stopped}{runs}: {_known(repeated)}"
    reached = "reached" if repeated.reached else "not reached"
    return f"{stopped}±{fmt.percent(repeated.until)} {reached} with {runs}: {_known(repeated)}"


def _known(repeated: Repeated) -> str:
    """How well the median of the first state is known."""
    if repeated.off is not None:
        return f"95% interval of the median within ±{fmt.percent(repeated.off)}"
    least = LEAST_RUNS if repeated.until is None else least_at_any_look()
    return f"no interval yet: it takes {least} runs of one state"


def _plain(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _range(metric: Middle, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return fmt.DASH
    return f"{compared_text(metric.unit, low)} .. {compared_text(metric.unit, high)}"
