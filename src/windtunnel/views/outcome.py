"""What `run` says when the run is over."""

from json import dumps
from pathlib import Path

from rich.text import Text

from windtunnel.errors import UserError
from windtunnel.measure.earlier import earlier
from windtunnel.printing import print_values
from windtunnel.runs import Run, Verdict
from windtunnel.runs.directories import Held
from windtunnel.views.document import document
from windtunnel.views.terminal.console import progress, results
from windtunnel.views.terminal.messages import show_error
from windtunnel.views.terminal.run import reasons_view, run_view


def write_report(run: Run, directory: Held) -> Path | None:
    """Writes the report into the run's directory, which is open, and returns its path; None if it could not be written, which is said on
    stderr and changes no verdict."""
    from windtunnel.views import pages as report

    try:
        with directory.named():
            return report.write(run.path, place=directory.place)
    except UserError as error:
        show_error(error)
        return None


def print_tables(run: Run, page: Path | None, trace: Path | None) -> None:
    """The whole run, and where its files are."""
    console = results()
    console.print(run_view(run, earlier(run)))
    console.print(_path("run", run.path), soft_wrap=True)
    if page:
        console.print(_path("report", page), soft_wrap=True)
    if trace:
        console.print(_path("trace", trace), soft_wrap=True)


def print_short(run: Run) -> None:
    """The verdict with its reasons, or the limits that were relaxed, on one line; the run directory on the next."""
    because = "; ".join(run.record.verdict.reasons or run.record.relaxed)
    print_values(f"{run.record.verdict_words}{f': {because}' if because else ''}", run.path)


def print_json(run: Run) -> None:
    print(dumps(document(run, earlier(run)), indent=1, ensure_ascii=False))


def print_unkept(verdict: Verdict, error: UserError) -> None:
    """On stderr: why a run's directory could not be finished, after the reasons that it had against it before."""
    if not verdict.valid:
        progress().print(reasons_view(verdict, "not kept"))
    show_error(error)


def _path(what: str, path: Path) -> Text:
    return Text.assemble((f"{what:<7}", "dim"), str(path))
