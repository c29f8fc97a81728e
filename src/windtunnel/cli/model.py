"""windtunnel model: fit models to studies, ask them, and see how wrong they are where they have not looked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.host.ladder import Ladder

Study = Annotated[Path, typer.Argument(metavar="STUDY", help="A study's directory.", show_default=False)]
LadderFile = Annotated[
    Path | None,
    typer.Option("--ladder", metavar="FILE", help="Of `windtunnel host ladder --out`; without it one is measured now."),
]
Bound = Annotated[
    str | None,
    typer.Option("--bound", metavar="ENTRIES", help="Fit up to it, ask beyond; a tenth of the largest size."),
]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")]


def fit(
    study: Study,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the model to FILE, new.")] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of", metavar="COST", help="table, pipeline, or a column of the study; the table where it is timed."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="NAME", help="This form; without it the least held-out error decides."),
    ] = None,
    ladder: LadderFile = None,
    bound: Bound = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page with its plots to FILE, new.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model to a study over a table's entries, or over a client's rate.

    Every form is judged by sizes that it was not fitted to; intervals are by bootstrap. docs/models.md has the forms.

    windtunnel model fit runs/2026-11-22T10-00-00Z-tables-exact --out exact.json --report exact.html
    windtunnel model fit STUDY --of server_rx_mpps --form "two pieces"
    """
    from windtunnel.errors import UserError
    from windtunnel.model.check import is_latency
    from windtunnel.model.fit import fit as fit_cost
    from windtunnel.model.latency import fit_latency
    from windtunnel.runs.files import check_new, replace

    check_new(out, report)
    if is_latency(study):
        if given := [name for name, value in (("--of", of), ("--form", form), ("--bound", bound)) if value]:
            raise UserError(f"{given[0]} has no meaning for a study over loads", remedy=f"windtunnel model fit {study}")
        model = fit_latency(study)
    else:
        model = fit_cost(study, of, _ladder(ladder, [study]), _options(form, bound))
    if out:
        replace(out, model.model_dump_json(indent=1) + "\n")
    if report:
        from windtunnel.report.model_page import write

        write(model, report)
    if json:
        print(model.model_dump_json(indent=1))
        return
    from rich.console import Console

    from windtunnel.model.view import model_view

    console = Console(highlight=False)
    console.print(model_view(model))
    for file in filter(None, (out, report)):
        console.print(f"wrote {file}", style="dim", soft_wrap=True)


def predict(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Fitted models.", show_default=False)],
    entries: Annotated[str | None, typer.Option("--entries", metavar="N", help="Size of the table, as in 2M.")] = None,
    load: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Latency models: load, as in 1Mpps.")
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", metavar="FILE", help="A pipeline: the sum of its tables and steps.")
    ] = None,
    cores: Annotated[
        int, typer.Option("--cores", metavar="N", min=1, max=1024, help="Workers that share the work.")
    ] = 1,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Which curve; with --scenario, change one key of it."),
    ] = None,
    zipf: Annotated[
        float, typer.Option("--zipf", metavar="EXPONENT", min=0, max=4, help="Of keys, where uniform ones were flown.")
    ] = 0.0,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Also further than 3 times beyond what was flown; marked.")
    ] = False,
    foreign: Annotated[bool, typer.Option("--foreign", help="Also of another host.")] = False,
    json: Json = False,
) -> None:
    """Ask fitted models: a table at a size, a pipeline of several tables, or latency at a load.

    windtunnel model predict exact.json --entries 2M --cores 2
    windtunnel model predict exact.json lpm.json --scenario router.toml
    windtunnel model predict latency.json --rate 1Mpps
    """
    from windtunnel.errors import UserError

    asked = [name for name, value in (("--entries", entries), ("--rate", load), ("--scenario", scenario)) if value]
    if len(asked) != 1:
        raise UserError(
            f"{' and '.join(asked) or 'nothing'} asked", remedy="one of --entries N, --rate RATE and --scenario FILE"
        )
    if len(models) > 1 and not scenario:
        raise UserError(f"{asked[0]} asks one model, {len(models)} are named", remedy="name one")
    from windtunnel.model.asking import ask_latency, ask_pipeline, ask_table, read_models, shown

    read = read_models(models, foreign)
    if load:
        said = ask_latency(read[0], load, sets or [], extrapolate)
    elif scenario:
        said = ask_pipeline(read, scenario, sets or [], cores, extrapolate)
    else:
        said = ask_table(read[0], entries, cores, sets or [], extrapolate, zipf)
    if json:
        from json import dumps

        print(dumps(said.document(), indent=1))
        return
    from rich.console import Console

    Console(highlight=False).print(shown(said))


def check(
    studies: Annotated[
        list[Path], typer.Argument(metavar="STUDY...", help="Studies' directories.", show_default=False)
    ],
    ladder: LadderFile = None,
    bound: Bound = None,
) -> None:
    """Fit models to studies and show how wrong they are where they have not looked.

    Studies of one table and of loads are fitted. Studies of several tables are asked of the others' models, which were never
    fitted to them.

    windtunnel model check runs/*-tables-exact runs/*-tables-lpm runs/*-tables-pipeline
    """
    from rich.console import Console

    from windtunnel.model.check import check as check_studies
    from windtunnel.model.view import check_view

    checked = check_studies(studies, _ladder(ladder, studies), _options(None, bound))
    Console(highlight=False).print(check_view(checked))


def _ladder(file: Path | None, studies: list[Path]) -> "Ladder | None":
    """The ladder from a file, or measured now; None where the studies were flown elsewhere or none asks for it."""
    from pydantic_core import to_jsonable_python

    from windtunnel.host import facts
    from windtunnel.host.ladder import measure, read
    from windtunnel.measure.study import record
    from windtunnel.model.check import is_latency
    from windtunnel.model.observe import table_axis
    from windtunnel.model.places import differences, refuse_ladder

    tables = [study for study in studies if not is_latency(study)]
    for study in tables:
        table_axis(study, record.read(study / record.NAME))
    hosts = [record.read(study / record.NAME).host for study in tables]
    if file:
        found = read(file)
        for host in hosts:
            refuse_ladder(found, host, file)
        return found
    here = to_jsonable_python(facts.collect())
    if not hosts or any(differences(host, here) for host in hosts):
        return None
    typer.echo("measuring this host's ladder; --ladder FILE takes one that was kept", err=True)
    return measure("huge", 256 << 20, 3)


def _options(form: str | None, bound: str | None):
    from windtunnel.model.asking import count
    from windtunnel.model.curve import Options

    return Options(form=form, bound=None if bound is None else count("--bound", bound))
