"""windtunnel study: run a scenario over factors, and answer a question."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli import completion
from windtunnel.cli.agreement import FromElsewhere, agree
from windtunnel.cli.on import On, executor
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json, NoPlugins, State, with_state
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.measure.study.conduct import Watcher
    from windtunnel.measure.study.study import Prepared, Study


def study(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Study file, or the directory of a study to continue.",
            show_default=False,
            autocompletion=completion.studies,
        ),
    ],
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a key of the scenario at every point. Repeatable.",
            autocompletion=completion.sets,
        ),
    ] = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Directory of the study.", show_default="runs/<UTC time>-<study>"),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run the full size: with the changes of [full] in the study file.")
    ] = False,
    on: On = None,
    from_elsewhere: FromElsewhere = False,
    plan: Annotated[bool, typer.Option("--plan", help="Show points, runs and time. Run nothing.")] = False,
    include_invalid: IncludeInvalid = False,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the directory; progress by lines.")] = False,
) -> None:
    """Run a scenario over factors.

    Runs every point several times in a random order, keeps a table of results and writes a report. To continue a study,
    repeat the command with the same --out, or name its directory. What another user began is shown first, and runs only if
    you agree. Points that cannot run on this host are listed and skipped. The first Ctrl-C stops the current run; the second kills it.

    Exit codes: 0 done, 1 a run stayed invalid, 2 bad input, 130 interrupted.

    "windtunnel study query SQL" queries the results.

    windtunnel study studies/inflight.toml --plan
    windtunnel study studies/inflight.toml --out runs/inflight
    windtunnel study runs/inflight
    windtunnel study studies/tables-exact.toml --full --plan
    windtunnel study studies/cores.toml --set duration=500ms
    windtunnel study studies/inflight.toml --on lab.toml
    windtunnel study query "select inflight, median(p99) from results where valid group by 1 order by 1"
    """
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INTERRUPTED, INVALID
    from windtunnel.errors import UserError
    from windtunnel.measure.study.seal import BegunElsewhere
    from windtunnel.measure.study.study import prepare, run
    from windtunnel.results.show import show
    from windtunnel.results.study import plan_document, study_document
    from windtunnel.results.study_json import plan_json, study_json
    from windtunnel.results.study_sentences import how_to_go_on
    from windtunnel.results.terminal.console import progress

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    with executor(on) as where:
        changes = with_state(sets, state)
        try:
            prepared = prepare(source, changes, out, where, full, from_elsewhere)
        except BegunElsewhere as begun:
            agree(begun)
            prepared = prepare(source, changes, out, where, full, from_elsewhere=True)
        if plan:
            if json:
                _print_json(plan_json(prepared))
            else:
                show(plan_document(prepared))
            return
        with Interrupts() as interrupts, _watcher(prepared, interrupts, json, quiet) as watcher, _settled():
            finished = run(prepared, interrupts, watcher, include_invalid)
    report = _write_report(finished)
    if json:
        _print_json(study_json(finished, report))
    elif quiet:
        print_values(finished.path)
    else:
        files = (("study", finished.path), ("table", finished.results if finished.rows else None), ("report", report))
        show(study_document(finished, [(label, str(path)) for label, path in files if path], charts=False))
    if finished.interrupted:
        progress().print(how_to_go_on(finished), soft_wrap=True)  # on stderr, so that stdout stays machine-readable
        raise typer.Exit(INTERRUPTED)
    if finished.invalid:
        raise typer.Exit(INVALID)


def _write_report(finished: "Study") -> Path | None:
    """The path of the report; None if nothing has run, or if it could not be written, which is reported on stderr."""
    from windtunnel.errors import UserError
    from windtunnel.results.study import write_report
    from windtunnel.results.terminal.messages import show_error

    if not finished.rows:
        return None
    try:
        return write_report(finished)
    except UserError as error:
        show_error(error)
        return None


def _print_json(document: dict[str, Any]) -> None:
    from json import dumps

    print(dumps(document, indent=1, ensure_ascii=False))


@contextmanager
def _settled() -> Iterator[None]:
    """Excludes existing objects from garbage collection: a collection among a hundred points takes 60 ms, and there is one after every
    second run."""
    import gc

    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _watcher(
    prepared: "Prepared", interrupts: "Interrupts", silent: bool, plain: bool
) -> "AbstractContextManager[Watcher]":
    """A bar if stderr is a terminal, else lines; nothing with --json."""
    from windtunnel.measure.study.conduct import Silent
    from windtunnel.results.progress.study_progress import Bar, Lines
    from windtunnel.results.terminal.console import progress

    if silent:
        return nullcontext(Silent())
    console = progress()
    if console.is_terminal and not plain:
        return Bar(prepared.design, console, interrupts, prepared.at_once)
    return nullcontext(Lines(prepared.design, console, prepared.at_once))
