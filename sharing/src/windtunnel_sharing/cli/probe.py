"""`windtunnel share probe`: what each slicer achieves on this host."""

import os
from typing import Annotated

import typer

from windtunnel_sharing import MAX_LOSS


def probe(
    cpu: Annotated[
        int | None, typer.Option("--cpu", help="CPU to share. Default: the last one that may be used.")
    ] = None,
    slice_: Annotated[str, typer.Option("--slice", metavar="TIME", help="How long a tenant keeps the core.")] = "150us",
    tenants: Annotated[int, typer.Option("--tenants", min=1, max=64, help="Number of polling tenants.")] = 4,
    rate: Annotated[
        str, typer.Option("--rate", metavar="RATE", help="Requests per second of each tenant, Poisson.")
    ] = "5krps",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=60, help="Length of a trial.")] = 0.5,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=100, help="Trials of each slicer, in turns.")] = 3,
    max_loss: Annotated[
        float, typer.Option("--max-loss", min=0.001, max=0.999, help="Time of the core that slices may cost.")
    ] = MAX_LOSS,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Measure what each slicer achieves on this host, and choose slicer and slice.

    Polling tenants, which make their own requests, share one core under each slicer in turn, in the shield of `share serve`. Every slicer
    is tried; those that this host lacks are listed with the reason. What a turn costs is kept for `share serve`, which chooses by the
    worst that was ever measured here. Threads and kernel settings are restored afterwards. A CPU that a daemon shares is not probed.

    windtunnel share probe
    windtunnel share probe --cpu 3 --slice 50us --tenants 8
    """
    from windtunnel.api.settings import option
    from windtunnel_sharing import changed_threads, costs
    from windtunnel_sharing import probe as probing
    from windtunnel_sharing.journal import SUFFIX, directory
    from windtunnel_sharing.polling_trial import Load
    from windtunnel_sharing.slicers.slicer import check_slice

    slice_ns = int(option("--slice", "duration", slice_, "1ns", "10s"))
    check_slice(slice_ns)
    chosen = shared_cpu(cpu)
    path = directory() / f"probe-cpu{chosen}{SUFFIX}"
    with changed_threads.held_alone(path, [chosen]) as journal:
        load = Load(tenants, option("--rate", "rate", rate, "0/s", "100M/s"))
        measured = probing.probe(journal, chosen, slice_ns, load, seconds, rounds)
    kept = probing.to_keep(measured)
    costs.keep(kept, chosen)
    picked = costs.choose(costs.kept(chosen) or [kept], max_loss)
    if json:
        from json import dumps

        from pydantic_core import to_jsonable_python

        print(dumps(to_jsonable_python(measured) | {"picked": to_jsonable_python(picked)}, indent=1))
        return
    from windtunnel.api.documents import show
    from windtunnel_sharing.documents import probe_document

    show(probe_document(measured, picked, max_loss))


def shared_cpu(asked: int | None) -> int:
    """The CPU asked for, else the last one that may be used. Raises UserError for one that may not be used."""
    from windtunnel.api.errors import UserError

    allowed = sorted(os.sched_getaffinity(0))
    if asked is not None and asked not in allowed:
        raise UserError(f"--cpu {asked}: this process may not use it", remedy=f"one of {', '.join(map(str, allowed))}")
    return allowed[-1] if asked is None else asked
