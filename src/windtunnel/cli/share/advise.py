"""`windtunnel share advise`: slice, cores and cost for an SLO."""

from pathlib import Path
from typing import Annotated

import typer


def advise(
    slo: Annotated[str, typer.Option("--slo", metavar="BOUND", help="As in p99=500us.", show_default=False)],
    tenants: Annotated[int, typer.Option("--tenants", metavar="N", help="That share, all alike.", show_default=False)],
    load: Annotated[str, typer.Option("--load", metavar="RATE", help="Requests a second of each tenant.")] = "5krps",
    service: Annotated[str, typer.Option("--service", metavar="TIME", help="CPU time of a request.")] = "2us",
    working_set: Annotated[str, typer.Option("--working-set", metavar="BYTES", help="Of each tenant.")] = "0B",
    cores: Annotated[str, typer.Option("--cores", metavar="N", help="auto: as few as do.")] = "auto",
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Of `share fit`; without it the simulator answers.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME", help="That is simulated, without a model.")
    ] = "kicker",
    foreign: Annotated[bool, typer.Option("--foreign", help="Also a model of another host.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON object for machines.")] = False,
) -> None:
    """Say which slice and how many cores an SLO needs, with p99 and throughput lost; where none does, say what would.

    From a model that was fitted on this host, else from the simulator: then it says "simulated, not measured".

    windtunnel share advise --slo p99=500us --tenants 8
    windtunnel share advise --slo p99=500us --tenants 8 --load 5krps --service 2us --model sharing.json
    windtunnel share advise --slo p99=200us --tenants 30 --cores 6
    """
    from windtunnel.errors import UserError
    from windtunnel.sharing.model.advise import advise as say
    from windtunnel.sharing.model.advise import slo_of
    from windtunnel.sharing.model.answers import Ask
    from windtunnel.sharing.simulate.plan import bounded
    from windtunnel.sharing.simulate.quantities import duration_ns, rate, size

    if cores != "auto" and not (cores.isascii() and cores.isdigit()):
        raise UserError(f'--cores "{cores}"', remedy="a number, or auto")
    ask = Ask(rate(load, "--load"), duration_ns(service, "--service"), size(working_set, "--working-set"))
    bounded("--load, requests a second,", ask.rate, 1e-3, 1e8)
    bounded("--service, ns,", ask.service_ns, 1, 10**10)
    bounded("--working-set, bytes,", ask.working_set, 0, 1 << 40)
    oracle = _fitted(model, foreign) if model else _simulated(policy)
    found = say(oracle, slo_of(slo), tenants, ask, None if cores == "auto" else int(cores[:9]))
    if json:
        from json import dumps

        print(dumps(found.document(), indent=1))
        return
    from rich.console import Console

    from windtunnel.sharing.model.view import advice_view

    Console(highlight=False).print(advice_view(found))


def _fitted(file: Path, foreign: bool):
    from pydantic_core import to_jsonable_python

    from windtunnel.host import facts
    from windtunnel.sharing.model.answers import Fitted
    from windtunnel.sharing.model.record import read, refuse_foreign

    model = read(file)
    if not foreign:
        refuse_foreign(model, to_jsonable_python(facts.collect()), str(file))
    return Fitted(model, file.name)


def _simulated(policy: str):
    from windtunnel.errors import UserError
    from windtunnel.sharing.model.answers import Simulated
    from windtunnel.sharing.simulate import POLICIES, Machine

    if policy not in POLICIES:
        raise UserError(f"there is no policy {policy!r}", remedy=f"one of {', '.join(POLICIES)}")
    return Simulated(policy, Machine())
