"""The command line's work as Python calls. `windtunnel` exports them.

Bad input raises UserError with the message of the command line. Ctrl-C stops a run as it does there, where the call is
made from the main thread.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import Comparison
from windtunnel.measure.execute import execute, new_directory
from windtunnel.measure.study.study import Study
from windtunnel.measure.throughput.search_record import SearchRecord
from windtunnel.notebook import Presentation, present
from windtunnel.results.data_tables import comparison_tables, run_tables, search_tables, study_tables
from windtunnel.runs import Run, load
from windtunnel.runs.labels import labels_of
from windtunnel.scenario import here, resolve
from windtunnel.scenario import load as load_scenario
from windtunnel.scenario.overrides import as_sets

__all__ = [
    "Comparison",
    "Run",
    "SearchRecord",
    "Study",
    "UserError",
    "compare",
    "export",
    "import_run",
    "load",
    "query",
    "run",
    "search",
    "study",
]

if TYPE_CHECKING:
    from windtunnel.measure.throughput.find import Options


def run(
    scenario: str | Path,
    sets: Mapping[str, Any] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    report: bool = False,
) -> Run:
    """Run a scenario and return its run. An invalid run has the reasons in `run.record.verdict`; where it measured windows all the
    same, `run.rejected` is True, and its metrics are rejected.

    `sets` changes keys as --set does: {"client.inflight": 64, "duration": "2s"}. `labels` mark the run: {"commit": "8fe5ed78"}. `out` is the new run directory, by default
    one below runs/. `report` writes report.html into it. Raises UserError for bad input, and where the run could not be kept.
    """
    file = Path(scenario)
    marked = labels_of([f"{key}={value}" for key, value in (labels or {}).items()])
    spec = replace(resolve(load_scenario(file, as_sets(sets or {})), here()), labels=marked)
    with Interrupts() as interrupts:
        ended = execute(spec, Path(out) if out else new_directory(file.stem), interrupts, settle=True)
    if ended.run is None or ended.held is None:
        raise ended.unkept or UserError("the run directory cannot be read")
    if report:
        from windtunnel.results.run.report import write_run_report

        with ended.held.named():
            write_run_report(ended.run.path, place=ended.held.place)
    return ended.run


def compare(
    a: str | Path,
    b: str | Path,
    sets: Mapping[str, Any] | None = None,
    *,
    sets_a: Mapping[str, Any] | None = None,
    sets_b: Mapping[str, Any] | None = None,
    pairs: int | None = None,
    within_s: float | None = None,
    seed: int | None = None,
    alternate: Literal["window", "run"] | None = None,
    between_runs: float = 0.05,
    include_invalid: bool = False,
    force: bool = False,
    out: str | Path | None = None,
    report: bool = False,
) -> Comparison:
    """Compare B against A: run directories, directories with runs below them, or scenario files.

    Two scenarios alternate, `pairs` times (15) or until `within_s` has passed. `sets` changes keys of both, `sets_a` and `sets_b` of
    one. `alternate` is how often they alternate: after each window, where the wire allows it, or after each run. The runs and
    comparison.json go into the new directory `out`, by default one below runs/. For existing runs nothing is written without `out`.
    `report` writes report.html beside it. `between_runs` is the assumed difference between identical runs, a share; it is used where
    too few runs show it: for runs in turn, and with `force` for others, whose verdict is "cannot tell" without. `include_invalid`
    uses the rejected metrics of invalid runs too. Raises UserError for bad input.
    """
    from windtunnel.measure.compare.compared import Running
    from windtunnel.measure.compare.compared import compare as compare_paths

    of_both, of_a, of_b = (as_sets(keys or {}) for keys in (sets, sets_a, sets_b))
    running = Running(of_both, of_a, of_b, pairs, within_s, seed, alternate)
    comparison, directory = compare_paths(
        Path(a),
        Path(b),
        running,
        Path(out) if out else None,
        between_runs,
        include_invalid=include_invalid,
        force=force,
    )
    if report and directory:
        from windtunnel.results.comparison import comparison_document
        from windtunnel.results.page.files import write_new_page

        write_new_page(comparison_document(comparison), directory / "report.html")
    return comparison


def export(
    run: str | Path,
    directory: str | Path,
    format: Literal["csv", "parquet", "json"] = "parquet",
    *,
    include_invalid: bool = False,
    redact: bool = False,
) -> Path:
    """Write a run's windows as tables in long form into a new directory, with its run.json and its other files.

    `redact` leaves out what is not for others (docs/how-to/export.md). Raises UserError for an invalid run, except with `include_invalid`.
    """
    from windtunnel.exchange.redacted import redaction_of
    from windtunnel.exchange.tables import export as write

    loaded = load(Path(run))
    if loaded.rejected:
        loaded.require_usable(include_invalid)
    return write(loaded, Path(directory), format, redaction_of(loaded.record) if redact else None)


def import_run(directory: str | Path, out: str | Path) -> Run:
    """Make a run directory again, in the new directory `out`, from what `export` wrote: nothing is lost."""
    from windtunnel.exchange.tables import restore

    return restore(Path(directory), Path(out))


def study(
    source: str | Path,
    sets: Mapping[str, Any] | None = None,
    *,
    out: str | Path | None = None,
    report: bool = False,
    full: bool = False,
    include_invalid: bool = False,
    from_elsewhere: bool = False,
) -> Study:
    """Run a study file, or continue a study in its directory; returns its record and the rows of its table.

    `sets` changes keys for every point. `full` runs the full size: with what [full] of the file changes. `out` is the study's directory; where it holds this very study already, what is missing
    is run. `report` writes report.html too. Invalid runs are rows whose `valid` is False, with their rejected metrics if
    `include_invalid`, else without; `interrupted` says that runs are missing. `from_elsewhere` continues what another user began. Raises UserError for bad input, and where
    something could not be kept.
    """
    from windtunnel.measure.study.conduct import Silent
    from windtunnel.measure.study.study import prepare
    from windtunnel.measure.study.study import run as run_study

    prepared = prepare(Path(source), as_sets(sets or {}), Path(out) if out else None, None, full, from_elsewhere)
    with Interrupts() as interrupts:
        finished = run_study(prepared, interrupts, Silent(), include_invalid)
    if report and finished.rows:
        from windtunnel.results.study import write_report

        write_report(finished)
    return finished


def search(
    scenario: str | Path,
    sets: Mapping[str, Any] | None = None,
    options: "Options | None" = None,
    *,
    out: str | Path | None = None,
    report: bool = False,
) -> SearchRecord:
    """Find the highest rate that a scenario carries; returns what search.json holds, goal by goal.

    `options` are goals, limits and method (`windtunnel.measure.throughput.find.Options`); without them NDR and PDR by MLRsearch. A goal's
    `irregular` says why it has no result. `out` is the search's directory, new. `report` writes report.html too. Raises UserError
    for bad input, and for a run that broke.
    """
    from windtunnel.measure.throughput.find import Finder, Options

    file = Path(scenario)
    directory = Path(out) if out else new_directory(f"{file.stem}-search")
    with Interrupts() as interrupts:
        record = Finder(file, as_sets(sets or {}), options or Options(), directory, interrupts).find()
    if report:
        from windtunnel.results.page.files import REPORT, write_page
        from windtunnel.results.search import search_document

        write_page(search_document(record), directory / REPORT)
    return record


def query(sql: str, *studies: str | Path) -> list[dict[str, Any]]:
    """The rows of one SELECT over the view `results` of these studies, or of the latest below runs/ (docs/reference/study.md).

    Raises UserError for a study without results, and for what DuckDB does not understand.
    """
    from windtunnel.measure.study.directory import latest
    from windtunnel.measure.study.query import query as ask
    from windtunnel.runs.latest import RUNS

    return ask(sql, [Path(study) for study in studies] or [latest(RUNS)]).dicts()


# How notebooks show these results. What renders them is imported when it is asked for.


def _run_html(run: Run) -> str:
    from windtunnel.results.notebook import html
    from windtunnel.results.run.document import run_document

    return html(run_document(run, files=[("run", str(run.path))]))


def _study_html(study: Study) -> str:
    from windtunnel.results.notebook import html
    from windtunnel.results.study import study_document

    return html(study_document(study, charts=False, files=[("study", str(study.path))]))


def _comparison_html(comparison: Comparison) -> str:
    from windtunnel.results.comparison import comparison_document
    from windtunnel.results.notebook import html

    return html(comparison_document(comparison, files=[("A", comparison.a), ("B", comparison.b)]))


def _search_html(record: SearchRecord) -> str:
    from windtunnel.results.notebook import html
    from windtunnel.results.search import search_document

    return html(search_document(record))


present(Run, Presentation(_run_html, run_tables))
present(Study, Presentation(_study_html, study_tables))
present(Comparison, Presentation(_comparison_html, comparison_tables))
present(SearchRecord, Presentation(_search_html, search_tables))
