"""`windtunnel share advise`: slice, cores and cost for an SLO."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.model.advise import Choice
    from windtunnel.sharing.model.estimators import Demand, Estimator

CHECKS, CHECK_S = 3, 1.0
MAX_LOSS = 0.08
"""As the daemon's."""


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
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="Policy to simulate when no --model is given, with the simulator's own costs. Default: the slicer that `share probe` picked, with its costs.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run one of the advised cores for some seconds, and show its p99 and loss.")
    ] = False,
    allow_other_host: Annotated[
        bool, typer.Option("--allow-other-host", help="Use a model that was measured on another host.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Recommend a slice and a number of cores for an SLO, with the expected p99 and the throughput lost.

    If no setting meets the SLO, the output names one that would. Estimates come from a model that was fitted on
    this host, else from the simulator: then they are marked "simulated, not measured". The simulator has the costs of this host
    once `share probe` has measured them. --check says what the advice is worth.

    windtunnel share advise --slo p99=500us --tenants 8
    windtunnel share advise --slo p99=500us --tenants 8 --load 5krps --service 2us --model sharing.json
    windtunnel share advise --slo p99=200us --tenants 30 --cores 6
    windtunnel share advise --slo p99=500us --tenants 8 --check
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
    estimator, slicer = _fitted(model, allow_other_host) if model else _simulated(policy)
    found = advise_on(estimator, slo_of(slo), tenants, demand, None if cores == "auto" else int(cores[:9]))
    measured = _measured(found.chosen, slicer, demand) if check and found.chosen else None
    if json:
        from json import dumps

        print(dumps(found.document() | {"slicer": slicer, "measured": measured}, indent=1))
        return
    from rich.console import Console

    from windtunnel import format as fmt
    from windtunnel.sharing.views.model import advice_view

    console = Console(highlight=False)
    console.print(advice_view(found))
    if measured:
        met = "meets" if measured["p99_ns"] <= found.slo.p99_ns else "misses"
        console.print(
            f"measured on CPU {measured['cpu']}, {slicer}: p99 {fmt.duration(measured['p99_ns'])} [{fmt.duration(measured['low_ns'])} .. "
            f"{fmt.duration(measured['high_ns'])}], {fmt.percent(measured['lost'])} lost: it {met} the SLO"
        )


def _measured(choice: "Choice", slicer: str, demand: "Demand") -> dict[str, Any]:
    """One of the advised cores, measured: the median, least and greatest p99 of the trials, and the loss. Raises UserError."""
    from statistics import median

    from windtunnel.errors import UserError
    from windtunnel.sharing import changed_threads, polling_trial
    from windtunnel.sharing.cli.probe import shared_cpu
    from windtunnel.sharing.polling_trial import Load

    cpu = shared_cpu(None)
    load = Load(choice.per_core, demand.rate, demand.service_ns, demand.working_set, demand.working_set and 64)
    with changed_threads.held(changed_threads.directory() / f"probe-cpu{cpu}{changed_threads.SUFFIX}") as journal:
        trials = [
            polling_trial.run(journal, slicer, cpu, choice.slice_ns, load, CHECK_S, seed=seed) for seed in range(CHECKS)
        ]
    p99s = [one.latency_us(99) for one in trials]
    if None in p99s:
        raise UserError("too few requests for a p99", remedy="a higher --load")
    ns = [1e3 * us for us in p99s if us is not None]
    return {
        "cpu": cpu,
        "p99_ns": median(ns),
        "low_ns": min(ns),
        "high_ns": max(ns),
        "lost": median(one.loss for one in trials),
    }


def _fitted(file: Path, allow_other_host: bool) -> "tuple[Estimator, str]":
    from pydantic_core import to_jsonable_python

    from windtunnel.host import facts
    from windtunnel.sharing.model.estimators import Fitted
    from windtunnel.sharing.model.record import read, refuse_other_host

    model = read(file)
    if not allow_other_host:
        refuse_other_host(model, to_jsonable_python(facts.collect()), str(file))
    return Fitted(model, file.name), model.slicer


def _simulated(policy: str | None) -> "tuple[Estimator, str]":
    """The simulator, and the slicer that it stands for."""
    from windtunnel.errors import UserError
    from windtunnel.sharing import probe
    from windtunnel.sharing.cli.probe import shared_cpu
    from windtunnel.sharing.model.estimators import Simulated
    from windtunnel.sharing.simulate import POLICIES, Machine
    from windtunnel.sharing.slicers import SLICERS

    if policy is not None and policy not in POLICIES:
        raise UserError(f"no policy {policy!r}", remedy=f"one of {', '.join(POLICIES)}")
    probes = probe.kept(shared_cpu(None)) if policy is None else []
    able = [name for name in SLICERS if name.removesuffix("-far") in POLICIES]
    picked = probe.choose(probes, MAX_LOSS, among=able)
    if picked is None:
        return Simulated(policy or "kicker", Machine()), policy or "kicker"
    words = f"this host's costs: {picked.name} by {len(probes)} probe{'s' if len(probes) > 1 else ''}"
    return Simulated(picked.name.removesuffix("-far"), probe.machine(probes, picked.name), words), picked.name
