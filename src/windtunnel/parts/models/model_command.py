"""windtunnel model: fit models to studies, predict with them, and validate them on data that they were not fitted to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json, Report

if TYPE_CHECKING:
    from windtunnel.host.ladder import Ladder
    from windtunnel.parts.models.curve import Options

Study = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY",
        help="Directory of a study.",
        show_default=False,
        autocompletion=completion.study_directories,
    ),
]
LadderFile = Annotated[
    Path | None,
    typer.Option(
        "--ladder",
        metavar="FILE",
        help="Ladder that `windtunnel host ladder --out` wrote.",
        show_default="measured now",
    ),
]
Bound = Annotated[
    str | None,
    typer.Option(
        "--bound",
        metavar="ENTRIES",
        help="For the extrapolation error: fit up to this size, predict the larger ones.",
        show_default="a tenth of the largest size",
    ),
]


def fit(
    study: Study,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the model to FILE, which must be new.")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="COST",
            help="Cost to model: table, pipeline, or a column of the study.",
            show_default="table, if the study times it",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            metavar="NAME",
            help="Form of the model.",
            show_default="the form with the smallest held-out error",
        ),
    ] = None,
    ladder: LadderFile = None,
    bound: Bound = None,
    report: Report = None,
    include_invalid: IncludeInvalid = False,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Fit a model to a study.

    The study is one over a table's entries, or over a client's rate. Forms are judged by their held-out error: the error at
    sizes that they were not fitted to. Intervals are by bootstrap. Rejected metrics are in the table of a study that was run, or
    continued, with --include-invalid.

    windtunnel model fit runs/2026-11-22T10-00-00Z-tables-exact --out exact.json --report exact.html
    windtunnel model fit STUDY --of server_derived_mpps --form "two pieces"
    """
    from windtunnel.errors import UserError, as_argument
    from windtunnel.parts.models.fit import fit as fit_cost
    from windtunnel.parts.models.latency import fit_latency
    from windtunnel.parts.models.validate import is_latency
    from windtunnel.runs.files import check_new, replace

    check_new(out, report)
    if is_latency(study):
        if unused := [name for name, value in (("--of", of), ("--form", form), ("--bound", bound)) if value]:
            raise UserError(
                f"{unused[0]} has no effect on a study over loads", remedy=f"windtunnel model fit {as_argument(study)}"
            )
        model = fit_latency(study, include_invalid=include_invalid)
    else:
        model = fit_cost(study, of, _ladder(ladder, [study]), _options(form, bound), include_invalid)
    if out:
        replace(out, model.model_dump_json(indent=1) + "\n")
    from windtunnel.parts.models.fit_document import model_document

    document = model_document(model, [("wrote", str(file)) for file in (out, report) if file])
    if report:
        from windtunnel.results.page.files import write_page

        write_page(document, report)
    if json:
        print(model.model_dump_json(indent=1))
        return
    from windtunnel.results.show import show

    show(document)


def predict(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...", help="Fitted models, from `windtunnel model fit --out`.", show_default=False
        ),
    ],
    entries: Annotated[str | None, typer.Option("--entries", metavar="N", help="Size of the table, as in 2M.")] = None,
    load: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Load for a latency model, as in 1M.")
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", metavar="FILE", help="Scenario with a pipeline: sum its tables and steps."),
    ] = None,
    cores: Annotated[
        int, typer.Option("--cores", metavar="N", min=1, max=1024, help="Workers that share the traffic.")
    ] = 1,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Select the curve; with --scenario, change a key of it. Repeatable."
        ),
    ] = None,
    zipf: Annotated[
        float,
        typer.Option(
            "--zipf", metavar="EXPONENT", min=0, max=4, help="Zipf exponent of the keys, for a model of uniform keys."
        ),
    ] = 0.0,
    extrapolate: Annotated[
        bool,
        typer.Option(
            "--extrapolate", help="Predict further than 3 times beyond the measured range, and mark the result."
        ),
    ] = False,
    allow_other_host: Annotated[
        bool, typer.Option("--allow-other-host", help="Accept models that were fitted on another host.")
    ] = False,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Predict a cost or a latency.

    Takes one of --entries (a table of this size), --scenario (a pipeline of tables) and --rate (latency at this load).

    windtunnel model predict exact.json --entries 2M --cores 2
    windtunnel model predict exact.json lpm.json --scenario router.toml
    windtunnel model predict latency.json --rate 1Mpps
    """
    from windtunnel.errors import UserError

    sources = [name for name, value in (("--entries", entries), ("--rate", load), ("--scenario", scenario)) if value]
    if len(sources) != 1:
        raise UserError(
            f"{' and '.join(sources)} exclude each other" if sources else "nothing to predict",
            remedy="one of --entries N, --rate RATE and --scenario FILE",
        )
    if len(models) > 1 and not scenario:
        raise UserError(f"{sources[0]} takes one model, not {len(models)}", remedy="name one")
    from windtunnel.parts.models.requests import (
        CostPrediction,
        Latency,
        ask_latency,
        ask_pipeline,
        ask_table,
        read_models,
    )

    read = read_models(models, allow_other_host)
    prediction: CostPrediction | Latency
    if load:
        prediction = ask_latency(read[0], load, sets or [], extrapolate)
    elif scenario:
        prediction = ask_pipeline(read, scenario, sets or [], cores, extrapolate)
    else:
        assert entries is not None  # one of the three was given
        prediction = ask_table(read[0], entries, cores, sets or [], extrapolate, zipf)
    if json:
        from json import dumps

        print(dumps(prediction.document(), indent=1))
        return
    from windtunnel.parts.models.prediction_document import prediction_document
    from windtunnel.results.show import show

    show(prediction_document(prediction))


def what_if(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="Run directory.", show_default=False, autocompletion=completion.runs),
    ],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="What to change. Repeatable.", show_default=False),
    ] = None,
    include_invalid: IncludeInvalid = False,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Predict the rate of a run with other settings, cores or NICs.

    Uses the costs of a call and of a packet in the run, stage by stage: the worker that needs longest for a message sets the rate. Nothing is
    run. Says what would limit, and what it assumes.

    windtunnel model what-if runs/before --set server.batch.app_rx=64
    windtunnel model what-if runs/before --set workload.0.apps=4 --set workload.0.dispatchers=4 --set 'server.cores=[4,5,6,7]'
    windtunnel model what-if runs/before --set server.nic_profile=mlx5
    """
    from windtunnel.parts.models.capacity import what_if as predicted
    from windtunnel.runs import load

    read = load(run)
    read.require_usable(include_invalid)
    capacity = predicted(read, sets or [])
    if json:
        from json import dumps

        print(dumps(capacity.document(), indent=1))
        return
    from windtunnel.parts.models.prediction_document import capacity_document
    from windtunnel.results.show import show

    show(capacity_document(capacity))


def validate(
    studies: Annotated[
        list[Path], typer.Argument(metavar="STUDY...", help="Directories of studies.", show_default=False)
    ],
    ladder: LadderFile = None,
    bound: Bound = None,
    format_: Format = "text",
) -> None:
    """Show the held-out error of models.

    Fits models to studies of one table and of loads. Predicts studies of several tables with these models, which were not
    fitted to them.

    windtunnel model validate runs/*-tables-exact runs/*-tables-lpm runs/*-tables-pipeline
    """
    from windtunnel.parts.models.validate import check as validate_studies
    from windtunnel.parts.models.validation_document import validation_document
    from windtunnel.results.show import show

    show(validation_document(validate_studies(studies, _ladder(ladder, studies), _options(None, bound))))


def _ladder(file: Path | None, studies: list[Path]) -> "Ladder | None":
    """The ladder from a file, or measured now; None if the studies were run on another host or none needs one."""
    from pydantic_core import to_jsonable_python

    from windtunnel.host import facts
    from windtunnel.host.ladder import measure, read
    from windtunnel.measure.study import record
    from windtunnel.parts.models.observe import table_axis
    from windtunnel.parts.models.same_host import differences, refuse_ladder
    from windtunnel.parts.models.validate import is_latency

    tables = [study for study in studies if not is_latency(study)]
    for study in tables:
        table_axis(study, record.read(study / record.NAME))
    hosts = [record.read(study / record.NAME).host for study in tables]
    if file:
        ladder = read(file)
        for host in hosts:
            refuse_ladder(ladder, host, file)
        return ladder
    own_host = to_jsonable_python(facts.collect())
    if not hosts or any(differences(host, own_host) for host in hosts):
        return None
    typer.echo("measuring the ladder of this host (--ladder FILE reads a measured one)", err=True)
    return measure("huge", 256 << 20, 3)


def _options(form: str | None, bound: str | None) -> "Options":
    from windtunnel.parts.models.curve import Options
    from windtunnel.parts.models.requests import count

    return Options(form=form, bound=None if bound is None else count("--bound", bound))
