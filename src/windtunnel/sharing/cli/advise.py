"""`windtunnel share advise`: slice, cores and cost for an SLO."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.model.estimators import Estimator


def advise(
    slo: Annotated[str, typer.Option("--slo", metavar="BOUND", help="Bound, as in p99=500us.", show_default=False)],
    tenants: Annotated[
        int, typer.Option("--tenants", metavar="N", help="Number of identical tenants.", show_default=False)
    ],
    load: Annotated[str, typer.Option("--load", metavar="RATE", help="Requests a second of each tenant.")] = "5krps",
    service: Annotated[str, typer.Option("--service", metavar="TIME", help="CPU time of a request.")] = "2us",
    working_set: Annotated[
        str, typer.Option("--working-set", metavar="BYTES", help="Working set of each tenant.")
    ] = "0B",
    cores: Annotated[
        str, typer.Option("--cores", metavar="N", help="Number of cores. auto: as few as meet the SLO.")
    ] = "auto",
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Model of `share fit`. Default: the simulator estimates."),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="Policy to simulate when no --model is given.")
    ] = "kicker",
    allow_other_host: Annotated[
        bool, typer.Option("--allow-other-host", help="Use a model that was measured on another host.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Recommend a slice and a number of cores for an SLO, with the expected p99 and the throughput lost.

    If no setting meets the SLO, the output names one that would. Estimates come from a model that was fitted on
    this host, else from the simulator: then they are marked "simulated, not measured".

    windtunnel share advise --slo p99=500us --tenants 8
    windtunnel share advise --slo p99=500us --tenants 8 --load 5krps --service 2us --model sharing.json
    windtunnel share advise --slo p99=200us --tenants 30 --cores 6
    """
    from windtunnel.errors import UserError
    from windtunnel.scenario.quantities import option
    from windtunnel.sharing.model.advise import advise as advise_on
    from windtunnel.sharing.model.advise import slo_of
    from windtunnel.sharing.model.estimators import Demand

    if cores != "auto" and not (cores.isascii() and cores.isdigit()):
        raise UserError(f'--cores "{cores}"', remedy="a number, or auto")
    demand = Demand(
        option("--load", "rate", load, "0.001/s", "100M/s"),
        int(option("--service", "duration", service, "1ns", "10s")),
        int(option("--working-set", "size", working_set, "0B", "1024GiB")),
    )
    estimator = _fitted(model, allow_other_host) if model else _simulated(policy)
    found = advise_on(estimator, slo_of(slo), tenants, demand, None if cores == "auto" else int(cores[:9]))
    if json:
        from json import dumps

        print(dumps(found.document(), indent=1))
        return
    from rich.console import Console

    from windtunnel.sharing.views.model import advice_view

    Console(highlight=False).print(advice_view(found))


def _fitted(file: Path, allow_other_host: bool) -> "Estimator":
    from pydantic_core import to_jsonable_python

    from windtunnel.host import facts
    from windtunnel.sharing.model.estimators import Fitted
    from windtunnel.sharing.model.record import read, refuse_other_host

    model = read(file)
    if not allow_other_host:
        refuse_other_host(model, to_jsonable_python(facts.collect()), str(file))
    return Fitted(model, file.name)


def _simulated(policy: str) -> "Estimator":
    from windtunnel.errors import UserError
    from windtunnel.sharing.model.estimators import Simulated
    from windtunnel.sharing.simulate import POLICIES, Machine

    if policy not in POLICIES:
        raise UserError(f"no policy {policy!r}", remedy=f"one of {', '.join(POLICIES)}")
    return Simulated(policy, Machine())
