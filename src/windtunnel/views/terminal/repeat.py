"""Repeated runs of one scenario in the terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.host.states import counts
from windtunnel.measure.repeat import Middle, Repeated
from windtunnel.stats.median import LEAST_RUNS, least_at_any_look
from windtunnel.views.terminal.columns import Column, Fitting


def run_line(so_far: Repeated) -> str:
    """What the last run added: its state, or why it is invalid; and how well the median is known by now."""
    last, number = so_far.runs[-1], len(so_far.runs)
    bound = "at most " if so_far.until is not None else ""
    what = f"invalid: {last.reasons[0]}" if last.reasons else f"{last.state or 'state not known'}  {known(so_far)}"
    return f"{number} of {bound}{so_far.most}  {what}"


def repeated_view(repeated: Repeated) -> RenderableType:
    """A row for each state and metric, the state with the most runs first; then what was reached."""
    rows = [(state, each) for state in repeated.states for each in state.metrics]
    table = Fitting(
        [
            Column("state", [state.state or "not known" for state, _ in rows], words=True),
            Column("runs", [str(state.runs) for state, _ in rows]),
            Column("workload", [each.workload for _, each in rows], words=True, spare=1),
            Column("metric", [each.metric for _, each in rows], words=True),
            Column("median", [_text(each, each.median) for _, each in rows]),
            Column(
                "min .. max", [f"{_text(each, each.least)} .. {_text(each, each.most)}" for _, each in rows], spare=2
            ),
            Column("95% interval", [_interval(each) for _, each in rows]),
        ]
    )
    invalid = [run for run in repeated.runs if run.reasons]
    parts: list[RenderableType] = [table, Text()] if rows else []
    parts += [Text(f"{run.path}: invalid, in no median: {run.reasons[0]}", style="yellow") for run in invalid]
    return Group(*parts, Text(outcome(repeated), style="green" if repeated.exit_code == 0 else "yellow"))


def outcome(repeated: Repeated) -> str:
    """One line: what was asked for, whether it was reached, and how many runs of which states it took."""
    stopped = "interrupted; " if repeated.stopped == "interrupted" else ""
    runs = counts([(state.state, state.runs) for state in repeated.states], 0, "runs") or _plain(len(repeated.runs))
    if not repeated.states:
        return f"{stopped}no valid run of {len(repeated.runs)}"
    if repeated.until is None:
        return f"{stopped}{runs}: {known(repeated)}"
    reached = "reached" if repeated.reached else "not reached"
    return f"{stopped}±{fmt.percent(repeated.until)} {reached} with {runs}: {known(repeated)}"


def known(repeated: Repeated) -> str:
    """How well the median of the first state is known."""
    if repeated.off is not None:
        return f"95% interval of the median within ±{fmt.percent(repeated.off)}"
    least = LEAST_RUNS if repeated.until is None else least_at_any_look()
    return f"no interval yet: it takes {least} runs of one state"


def _plain(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _interval(each: Middle) -> str:
    if each.low is None or each.high is None:
        return fmt.DASH
    return f"{_text(each, each.low)} .. {_text(each, each.high)}"


def _text(of: Middle, value: float) -> str:
    return fmt.rate(value) if of.unit == "/s" else fmt.duration(value)
