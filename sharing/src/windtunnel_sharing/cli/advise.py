"""`windtunnel share advise`: slice, cores and cost for an SLO."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel_sharing.advise import Check, Choice, Demand, Estimator


def advise(
    slo: Annotated[str, typer.Option("--slo", metavar="BOUND", help="Bound, as in p99=500us.", show_default=False)],
    tenants: Annotated[
        int, typer.Option("--tenants", metavar="N", help="Number of identical tenants.", show_default=False)
    ],
    load: Annotated[str, typer.Option("--load", metavar="RATE", help="Requests per second of each tenant.")] = "5krps",
    service: Annotated[str, typer.Option("--service", metavar="TIME", help="CPU time of a request.")] = "2us",
    working_set: Annotated[
        str, typer.Option("--working-set", metavar="BYTES", help="Working set of each tenant.")
    ] = "0B",
    cores: Annotated[
        str, typer.Option("--cores", metavar="N", help="Number of cores. auto: as few as meet the SLO.")
    ] = "auto",
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="Policy to simulate, with the simulator's own costs. Default: the slicer that `share probe` picked, with its costs.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run one of the advised cores for some seconds, and show its p99 and loss.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Recommend a slice and a number of cores for an SLO, with the expected p99 and the throughput lost.

    If no setting meets the SLO, the output names one that would. Estimates come from the simulator, which has the costs of this host
    once `share probe` has measured them. --check tests the advice.

    windtunnel share advise --slo p99=500us --tenants 8 --load 5krps --service 2us
    windtunnel share advise --slo p99=200us --tenants 30 --cores 6
    windtunnel share advise --slo p99=500us --tenants 8 --check
    """
    from windtunnel.api.errors import UserError
    from windtunnel.api.settings import option
    from windtunnel_sharing.advise import Demand, slo_of
    from windtunnel_sharing.advise import advise as advise_on
    from windtunnel_sharing.advise import estimator as estimator_of
    from windtunnel_sharing.cli.probe import shared_cpu

    if check and policy is not None:
        raise UserError("--check runs what this host's probe picked", remedy="leave --policy or --check out")
    if cores != "auto" and not (cores.isascii() and cores.isdigit()):
        raise UserError(f'--cores "{cores}"', remedy="a number, or auto")
    demand = Demand(
        option("--load", "rate", load, "0.001/s", "100M/s"),
        int(option("--service", "duration", service, "1ns", "10s")),
        int(option("--working-set", "size", working_set, "0B", "1024GiB")),
    )
    cpu = shared_cpu(None)
    estimator, slicer = estimator_of(cpu) if policy is None else (_own_costs(policy), policy)
    advice = advise_on(estimator, slo_of(slo), tenants, demand, None if cores == "auto" else int(cores[:9]))
    measured = _measured(advice.chosen, slicer, demand, cpu) if check and advice.chosen else None
    if json:
        from dataclasses import asdict
        from json import dumps

        print(dumps(advice.document() | {"slicer": slicer, "measured": measured and asdict(measured)}, indent=1))
        return
    from windtunnel.api.documents import show
    from windtunnel_sharing.documents import advice_document

    show(advice_document(advice, slicer, measured))


def _measured(choice: "Choice", slicer: str, demand: "Demand", cpu: int) -> "Check":
    from windtunnel_sharing import changed_threads
    from windtunnel_sharing.advise import check
    from windtunnel_sharing.journal import SUFFIX, directory

    path = directory() / f"probe-cpu{cpu}{SUFFIX}"
    with changed_threads.held_alone(path, [cpu]) as journal:
        return check(journal, choice, slicer, demand, cpu)


def _own_costs(policy: str) -> "Estimator":
    from windtunnel.api.errors import UserError
    from windtunnel_sharing.advise import Estimator
    from windtunnel_sharing.simulate import POLICIES, Machine

    if policy not in POLICIES:
        raise UserError(f"no policy {policy!r}", remedy=f"one of {', '.join(POLICIES)}")
    return Estimator(policy, Machine())
