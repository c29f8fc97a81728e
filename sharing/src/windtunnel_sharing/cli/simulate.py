"""`windtunnel share simulate`: simulates policies, also for more cores than this host has."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.api.errors import print_file

if TYPE_CHECKING:
    from windtunnel_sharing.simulate import Plan

File = Annotated[
    str | None,
    typer.Argument(metavar="[FILE]", help="TOML file, or the name of a shipped one.", show_default=False),
]


def simulate(
    file: File = None,
    tenants: Annotated[
        int | None, typer.Option("--tenants", metavar="N", help="Number of identical tenants, instead of FILE.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="NAME", help="Policy, see --policies. Default: kicker.")
    ] = None,
    slice_: Annotated[str | None, typer.Option("--slice", metavar="TIME", help="Slice. Default: 120us.")] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", metavar="N", help="Number of cores to share. Default: 1.")
    ] = None,
    load: Annotated[
        str | None, typer.Option("--load", metavar="RATE", help="Requests per second of each tenant. Default: 5krps.")
    ] = None,
    service: Annotated[
        str | None, typer.Option("--service", metavar="TIME", help="CPU time of a request. Default: 2us.")
    ] = None,
    working_set: Annotated[
        str | None, typer.Option("--working-set", metavar="BYTES", help="Working set of each tenant. Default: 0B.")
    ] = None,
    blocking: Annotated[bool, typer.Option("--blocking", help="Tenants sleep when they have no work.")] = False,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="Simulated time. Default: 2s.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of arrivals and lateness. Default: 1.")
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print FILE, as a start for your own.")] = False,
    policies: Annotated[bool, typer.Option("--policies", help="List the policies.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Simulate tenants that share cores: latency, throughput and shares under Credit, Credit2, PvCC, EEVDF or the kicker.

    Nothing is measured and nothing is changed. The page "Sharing" lists what is modelled, "How cores are shared" the errors of the simulator.

    windtunnel share simulate --tenants 8 --slice 120us --load 5krps --service 2us
    windtunnel share simulate --tenants 1000 --cores 64 --policy pvcc --slice 100us
    windtunnel share simulate fig11-six-cores
    windtunnel share simulate mine.toml --json
    """
    if policies:
        _list_policies()
        return
    from windtunnel.api.errors import UserError
    from windtunnel_sharing.simulate.file import read, shipped, text_of
    from windtunnel_sharing.simulate.outcome import simulate as run

    if (file is None) == (tenants is None):
        raise UserError(
            "nothing to simulate" if file is None else "FILE and --tenants exclude each other",
            remedy=f"--tenants N, a file, or a shipped one: {', '.join(shipped())}",
        )
    typed = {"--policy": policy, "--slice": slice_, "--cores": cores, "--load": load, "--service": service}
    typed |= {"--working-set": working_set, "--blocking": blocking or None, "--duration": duration, "--seed": seed}
    given = {name: value for name, value in typed.items() if value is not None}
    if file is not None:
        if given:
            raise UserError(f"{next(iter(given))} and FILE exclude each other", remedy="change the value in the file")
        if toml:
            print_file(text_of(file))
            return
        plans = read(file)[1]
    else:
        plans = {"": _identical(tenants or 0, given)}
    variants = {name: run(plan).document() for name, plan in plans.items()}
    if json:
        from json import dumps

        print(dumps({"simulated": True, "variants": variants}, indent=1))
        return
    from windtunnel.api.documents import show
    from windtunnel_sharing.documents import simulation_document

    show(simulation_document(variants))


def _identical(tenants: int, given: dict[str, Any]) -> "Plan":
    from windtunnel.api.errors import UserError
    from windtunnel.api.settings import option
    from windtunnel_sharing.simulate import Machine, Phase, Plan, Tenant
    from windtunnel_sharing.simulate.plan import MOST_TENANTS

    if not 1 <= tenants <= MOST_TENANTS:
        raise UserError(f"--tenants {tenants}", remedy=f"from 1 to {MOST_TENANTS}")
    one: dict[str, Any] = {
        "phases": (Phase(0, option("--load", "rate", given.get("--load", "5krps"), "0/s", "100M/s")),),
        "service_ns": int(option("--service", "duration", given.get("--service", "2us"), "1ns", "10s")),
        "working_set": int(option("--working-set", "size", given.get("--working-set", "0B"), "0B", "1024GiB")),
        "polls": "--blocking" not in given,
    }
    cores = given.get("--cores", 1)
    machine = Machine(cores=cores)
    return Plan(
        tuple(Tenant(f"t{number}", weight=max(256 * cores // tenants, 1), **one) for number in range(1, tenants + 1)),
        given.get("--policy", "kicker"),
        int(option("--slice", "duration", given.get("--slice", "120us"), "1us", "10s")),
        int(option("--duration", "duration", given.get("--duration", "2s"), "1ns", "1h")),
        seed=given.get("--seed", 1),
        machine=machine,
    )


def _list_policies() -> None:
    from windtunnel_sharing.simulate import POLICIES

    width = max(map(len, POLICIES))
    for name, (words, _) in POLICIES.items():
        print(f"{name:<{width}}  {words}")
