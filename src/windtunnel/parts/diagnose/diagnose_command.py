"""windtunnel diagnose: what limits a run, and why?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import as_option, completion
from windtunnel.cli.shared_options import Format, Json, NoPlugins, Sets, State, with_state
from windtunnel.part_registry import part_modules

if TYPE_CHECKING:
    from windtunnel.parts.diagnose.model import Diagnosis, Tried
    from windtunnel.runs import Run

RULES = " or ".join(f"{tool.TOOL}'s rule" for tool in as_option.FORMATS.values())
TEXTS = (
    "perf stat",
    "pcm-pcie",
    "pcm-iio",
    "pcm-memory",
    "ethtool -S",
    "perf iostat",
    *(part.TOOL for part in part_modules("host_counters")),
)
"""What --recorded takes."""


def diagnose(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|SCENARIO",
            help="A run directory, or a scenario file, which is then run.",
            show_default=False,
            autocompletion=completion.compared,
        ),
    ],
    sets: Sets = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Scenario: new run directory.", show_default="runs/<UTC time>-<scenario>"
        ),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Scenario: delay each worker and try remedies between the windows of one run of 20 s; the scenario's duration is not used.",
        ),
    ] = False,
    try_: Annotated[
        int | None,
        typer.Option(
            "--try",
            metavar="N",
            min=1,
            max=99,
            help="Scenario: run the remedies of the first N causes against the file, in 8 pairs each.",
        ),
    ] = None,
    as_: Annotated[as_option.Name | None, as_option.option(f"Also print the verdict by {RULES}.")] = None,
    recorded: Annotated[
        list[Path] | None,
        typer.Option(
            "--recorded",
            metavar="FILE",
            help=f"Text of {', '.join(TEXTS[:-1])}, or {TEXTS[-1]}, taken during the run, or a directory of `windtunnel monitor`. Repeatable.",
        ),
    ] = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Say what limits a run.

    The limit is a worker, the generator, the messages in flight, a link, the offered load, the host, or a tie. It follows from how long each
    worker waits, with intervals over the windows. The causes have evidence, remedies as --set and the gain to expect. --probe finds the limit by
    experiment. An invalid run is read too. A ledger shows where each worker's nanoseconds went.

    Exit codes: 0 diagnosed, 2 bad input or refused by the engine, 130 interrupted.

    windtunnel diagnose runs/2026-11-21T10-00-00Z-echo
    windtunnel diagnose scenarios/handler-m_app.toml
    windtunnel diagnose scenarios/handler-m_app.toml --probe
    windtunnel diagnose scenarios/echo.toml --try 2
    windtunnel diagnose runs/FORMAT --as FORMAT
    windtunnel diagnose runs/FORMAT --recorded report.rpt
    windtunnel diagnose scenarios/echo.toml --json | jq .limit
    """
    from windtunnel.parts.diagnose.diagnose import diagnose as diagnosed
    from windtunnel.parts.diagnose.recorded import read_evidence

    changes = with_state(sets, state)
    if what.is_dir() and (changes or out or probe or try_):
        from windtunnel.errors import UserError

        raise UserError(
            "--set, --state, --out, --probe and --try take a scenario, not a run", remedy="give a scenario file"
        )
    evidence = read_evidence(recorded or [])
    run = _run(what, changes, out, probe, silent=json)
    diagnosis = diagnosed(run, as_=as_, recorded=evidence)
    if try_:
        tried = _tried(diagnosis, what, changes, try_, run.path, silent=json)
        diagnosis = diagnosis.model_copy(update={"tried": tried})
    if json:
        from windtunnel.results.as_json import json_of

        print(json_of(diagnosis))
    else:
        from windtunnel.parts.diagnose.document import diagnosis_document
        from windtunnel.results.show import show

        show(diagnosis_document(diagnosis))
    if any(row.interrupted for row in diagnosis.tried or ()):
        from windtunnel.engine.verdict import INTERRUPTED

        raise typer.Exit(INTERRUPTED)


def _run(what: Path, sets: list[str], out: Path | None, probe: bool, silent: bool) -> "Run":
    """The run directory read, or the scenario run. Raises UserError for what is neither."""
    from windtunnel.runs import load

    return load(what) if what.is_dir() else _executed(what, sets, out, probe, silent)


def _tried(diagnosis: "Diagnosis", file: Path, sets: list[str], most: int, run: Path, silent: bool) -> "list[Tried]":
    from contextlib import nullcontext

    from windtunnel.parts.diagnose.tried import try_remedies
    from windtunnel.results.progress.paired_runs import TurnsDisplay

    directory = run.with_name(f"{run.name}-tried")
    with nullcontext() if silent else TurnsDisplay() as display:
        return try_remedies(diagnosis, file, sets, most, directory, display.turn if display else lambda turn: None)


def _executed(file: Path, sets: list[str], out: Path | None, probe: bool, silent: bool) -> "Run":
    from windtunnel.cli.run import display
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INTERRUPTED, REFUSED
    from windtunnel.errors import UserError
    from windtunnel.measure.execute import execute, new_directory
    from windtunnel.parts.diagnose.conduct import execute_experiment, load_in_short_windows
    from windtunnel.scenario import here, resolve
    from windtunnel.scenario.load import check_name_of_text

    check_name_of_text(file)
    spec = resolve(load_in_short_windows(file, sets), here())
    directory = out or new_directory(f"{file.stem}-experiment" if probe else file.stem)
    with Interrupts() as interrupts, display(spec, interrupts, None, silent or probe) as live_display:
        listeners = [live_display.line] if live_display else []
        if probe:
            ended = execute_experiment(file, sets, directory, interrupts, listeners)
        else:
            ended = execute(spec, directory, interrupts, listeners, settle=True)
    if ended.interrupted:
        raise typer.Exit(INTERRUPTED)
    if ended.exit_code == REFUSED:
        raise UserError(ended.verdict.reasons[0])
    return ended.kept_run()
