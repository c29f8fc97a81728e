"""Several runs side by side: one column a run."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.host.states import groups
from windtunnel.runs.notices import notices, warnings_of
from windtunnel.runs.reader import Run
from windtunnel.runs.registry import Noun, metrics
from windtunnel.runs.summary import Summary, summarise
from windtunnel.views.metric_cells import written
from windtunnel.views.terminal.columns import plain_table
from windtunnel.views.terminal.harmless import on_one_line
from windtunnel.views.terminal.rejected import WORD


def side_by_side_view(runs: Sequence[Run]) -> RenderableType:
    """A column for each run; rejected metrics with that word. Where memory modes or states of the host differ, a warning is first: such
    runs cannot be compared."""
    summaries = [summarise(run) if run.has_metrics else None for run in runs]
    table = plain_table()
    table.add_column()
    table.add_column()
    for run in runs:
        table.add_column(Text(run.path.name), justify="right", overflow="fold")
    for name, of_record in (
        ("title", lambda r: r.title),
        ("verdict", lambda r: r.verdict_words),
        ("memory", lambda r: fmt.words(r.memory)),
        ("wire", lambda r: fmt.words(r.wire)),
        ("accounting", lambda r: fmt.words(r.accounting)),
        ("host state", lambda r: fmt.words(r.where.state)),
        ("labels", lambda r: [f"{key}={value}" for key, value in r.labels.items()] or fmt.DASH),
        ("emulated", lambda r: [mark.removeprefix("emulated on ") for mark in r.emulated] or fmt.DASH),
    ):
        table.add_row(name, "", *(_lines(of_record(run.record)) for run in runs))
    rejected = [run.rejected for run in runs]
    _add(table, summaries, rejected, "workload", lambda summary: {(r.workload,): r for r in summary.workloads})
    _add(table, summaries, rejected, "stage", lambda summary: {(r.endpoint, r.stage): r for r in summary.stages})
    return Group(*_warnings(runs, summaries), table)


def _add(
    table: Table,
    summaries: Sequence[Summary | None],
    rejected: Sequence[bool],
    noun: Noun,
    rows_by_key: Callable[[Summary], dict[tuple[str, ...], Any]],
) -> None:
    """A section for each key that any run has, a line for each metric; a run without that key has a dash."""
    columns = [{} if summary is None else rows_by_key(summary) for summary in summaries]
    for key in dict.fromkeys(key for column in columns for key in column):
        table.add_row()
        for position, metric in enumerate(each for each in metrics(noun) if each.side_by_side):
            values = [written(metric, column[key]) if key in column else fmt.DASH for column in columns]
            cells = (_rejected(value) if out else value for value, out in zip(values, rejected, strict=True))
            table.add_row(Text("" if position else " ".join(key)), metric.side_by_side, *cells)


def _lines(values: str | Sequence[str]) -> RenderableType:
    return Group(*map(on_one_line, [values] if isinstance(values, str) else values))


def _rejected(value: str) -> Text:
    return Text(value if value == fmt.DASH else f"{value} {WORD}", style="dim")


def _warnings(runs: Sequence[Run], summaries: Sequence[Summary | None]) -> list[Text]:
    warnings = []
    if len({run.record.memory for run in runs}) > 1:
        modes = ", ".join(f"{run.path.name} {run.record.memory or 'not known'}" for run in runs)
        warnings.append(f"memory modes differ ({modes}): these runs cannot be compared")
    if len(groups([(run.record.where,) for run in runs if run.record.where.state])) > 1:
        of_run = ", ".join(f"{run.path.name} {run.record.where.state or 'not known'}" for run in runs)
        warnings.append(f"states of the host differ ({of_run}): a difference between these runs may be the host's")
    for run, summary in zip(runs, summaries, strict=True):
        warnings += [f"{run.path.name}: {words}" for words in (warnings_of(notices(run, summary)) if summary else [])]
        what = "metrics rejected" if run.rejected else "no window was measured"
        warnings += [f"{run.path.name}: invalid, {what}: {reason}" for reason in run.record.verdict.reasons]
        warnings += [f"{run.path.name}: limit relaxed: {limit}" for limit in run.record.relaxed]
        warnings += [f"{run.path.name}: {problem}" for problem in run.problems]
    return [Text(f"warning: {warning}", style="bold yellow") for warning in warnings]
