"""What `run` says when the run is over."""

from json import dumps
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.measure.earlier import earlier
from windtunnel.printing import print_values
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.validity import reasons_panel
from windtunnel.results.show import show
from windtunnel.results.terminal.console import progress
from windtunnel.results.terminal.messages import show_error
from windtunnel.results.terminal.renderer import blocks_view
from windtunnel.runs import Run, Verdict
from windtunnel.runs.directories import Held


def write_report(run: Run, directory: Held) -> Path | None:
    """Writes the report into the run's directory, which is open, and returns its path; None if it could not be written, which is said on
    stderr and changes no verdict."""
    from windtunnel.results.run.report import write_run_report

    try:
        with directory.named():
            return write_run_report(run.path, place=directory.place)
    except UserError as error:
        show_error(error)
        return None


def print_tables(run: Run, page: Path | None, trace: Path | None) -> None:
    """The whole run, and where its files are."""
    paths = (("run", run.path), ("report", page), ("trace", trace))
    show(run_document(run, earlier(run), [(label, str(path)) for label, path in paths if path]))


def print_short(run: Run) -> None:
    """The verdict with its reasons, or the limits that were relaxed, on one line; the run directory on the next."""
    because = "; ".join(run.record.verdict.reasons or run.record.relaxed)
    print_values(f"{run.record.verdict_words}{f': {because}' if because else ''}", run.path)


def print_json(run: Run) -> None:
    print(dumps(run_json(run, earlier(run)), indent=1, ensure_ascii=False))


def print_unkept(verdict: Verdict, error: UserError) -> None:
    """On stderr: why a run's directory could not be finished, after the reasons that it had against it before."""
    if not verdict.valid:
        for view in blocks_view([reasons_panel(verdict, "not kept")]):
            progress().print(view)
    show_error(error)
