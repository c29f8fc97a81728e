"""windtunnel tune: settings of a scenario that are better than the file's."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from windtunnel.cli import as_option, completion
from windtunnel.cli.agreement import FromElsewhere, agree
from windtunnel.cli.on import On, executor
from windtunnel.cli.shared_options import Format, Json, NoPlugins, Scenario, Sets, State, with_state
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from windtunnel.parts.tune.tuner import Prepared, Tuned, Watcher

FILES = " or ".join(tool.FILES for tool in as_option.FORMATS.values())
"""What --as writes."""


def tune(
    file: Scenario,
    sets: Sets = None,
    state: State = None,
    no_plugins: NoPlugins = False,
    space: Annotated[
        Path | None,
        typer.Option(
            "--space",
            metavar="FILE",
            help="Factors and constraints, as a study file has them.",
            show_default="what this scenario can change on this host",
            autocompletion=completion.studies,
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", metavar="N", min=1, max=9999, help="Number of trials. Failed ones do not count.")
    ] = 40,
    objective: Annotated[
        Literal["throughput", "cores", "pareto"],
        typer.Option(
            help="throughput: the highest in a closed loop; cores: the fewest CPUs of the server that meet the SLO; pareto: throughput "
            "against p99 with --rate, else against CPUs."
        ),
    ] = "throughput",
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo",
            metavar="LATENCY=LIMIT",
            help="Latency limit in an open loop, as in p99=50us. Needed by --objective cores.",
            show_default="none",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="With --slo or --objective pareto: rate of that open loop, messages per second.",
            show_default="the scenario's",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of candidates and of the order of runs.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Directory of the tuning.", show_default="runs/<UTC time>-<scenario>-tuning"
        ),
    ] = None,
    as_: Annotated[
        as_option.Name | None, as_option.option(f"Write best.toml in another format too: {FILES}.", default="none")
    ] = None,
    on: On = None,
    from_elsewhere: FromElsewhere = False,
    plan: Annotated[bool, typer.Option("--plan", help="Show the space and the first moves. Run nothing.")] = False,
    json: Json = False,
    format_: Format = "text",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the directory.")] = False,
) -> None:
    """Find better settings for a scenario.

    Each trial runs a candidate and the best settings so far in turns, until the pairs show which is faster. The winner is measured
    again against the file. If it is not slower it is written as best.toml; the file itself stays as it is. To continue, repeat
    the command with the same --out. A tuning that another user began goes on only if you agree. The first Ctrl-C stops the current
    trial; the second kills it.

    Exit codes: 0 best.toml or a front was written, or the file is the best, 1 no point meets the SLO or the winner was not confirmed,
    2 bad input, 3 five trials in a row failed, 130 interrupted.

    windtunnel tune scenarios/echo.toml --plan
    windtunnel tune scenarios/echo.toml --budget 20 --out runs/tuned
    windtunnel tune scenarios/echo.toml --objective cores --slo p99=50us --rate 2M
    windtunnel tune scenarios/echo.toml --objective pareto --rate 2M --set duration=1s
    windtunnel tune scenarios/echo.toml --space studies/inflight.toml
    """
    from json import dumps

    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED
    from windtunnel.errors import UserError
    from windtunnel.measure.study.seal import BegunElsewhere
    from windtunnel.parts.tune import outcome
    from windtunnel.parts.tune.goal import goal
    from windtunnel.parts.tune.tuner import prepare, run
    from windtunnel.scenario import Cable

    if json and quiet:
        raise UserError("--json and --quiet exclude each other", remedy="give one of them")
    tuning_goal = goal(objective, slo, rate)
    with executor(on, most=1) as where:
        view = where.view if where else None
        if isinstance(view, Cable):
            raise UserError(
                "--on: a tuner has one testbed, and these are cabled pairs", remedy="testbeds without cables"
            )
        changes = with_state(sets, state)
        prepare_this = partial(prepare, file, changes, tuning_goal, space_file=space, out=out, seed=seed, host=view)
        try:
            prepared = prepare_this(from_elsewhere=from_elsewhere)
        except BegunElsewhere as begun:
            agree(begun)
            prepared = prepare_this(from_elsewhere=True)
        if plan:
            _show_plan(prepared, json)
            return
        with Interrupts() as interrupts, _watcher(prepared, silent=json or quiet) as watcher:
            tuned = run(prepared, interrupts, watcher, budget, executor=where)
    other_files = as_option.FORMATS[as_].write_scenario(tuned.best_file) if as_ and tuned.best_file else []
    page = outcome.write_report(tuned)
    if json:
        print(dumps(outcome.tuning_json(tuned, page), indent=1, ensure_ascii=False))
    elif quiet:
        print_values(tuned.path)
    else:
        _show(tuned, page, other_files)
    if tuned.stopped == "interrupted":
        outcome.say_how_to_go_on(tuned)
        raise typer.Exit(INTERRUPTED)
    if tuned.stopped == "busy":
        outcome.say_failing(tuned, file)
        raise typer.Exit(CANNOT_TELL)
    raise typer.Exit(int(not tuned.met))


def _show_plan(prepared: "Prepared", json: bool) -> None:
    if json:
        from json import dumps

        from windtunnel.parts.tune.outcome import plan_json

        print(dumps(plan_json(prepared), indent=1, ensure_ascii=False))
        return
    from windtunnel.parts.tune.document import plan_document
    from windtunnel.results.show import show

    show(plan_document(prepared))


def _show(tuned: "Tuned", page: Path | None, other_files: list[Path]) -> None:
    """Every trial, the result, and the paths of the files; `others`: the winner in other formats."""
    from windtunnel.parts.tune.document import tuning_document
    from windtunnel.results.show import show

    files = [("tuning", tuned.path), ("best", tuned.best_file), *(("", path) for path in other_files), ("report", page)]
    show(tuning_document(tuned, [(name, str(path)) for name, path in files if path is not None]))


def _watcher(prepared: "Prepared", silent: bool) -> "AbstractContextManager[Watcher]":
    """Prints a line for each trial on stderr."""
    from windtunnel.parts.tune.progress import Lines
    from windtunnel.parts.tune.tuner import Silent
    from windtunnel.results.terminal.console import progress

    return nullcontext(Silent() if silent else Lines(prepared, progress()))
