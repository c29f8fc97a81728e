"""windtunnel monitor: what does this host count while something else runs?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format, Json

if TYPE_CHECKING:
    from windtunnel.measure.monitor.monitor import Request


def monitor(
    metrics: Annotated[
        str,
        typer.Argument(metavar="[METRICS]", help="all, or some of llc,memory,pcie,iio,cores,pause,cpus."),
    ] = "all",
    duration: Annotated[
        str, typer.Option("--duration", metavar="DURATION", help="For how long each tool counts, in whole seconds.")
    ] = "3s",
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus",
            metavar="LIST",
            help="CPUs whose cache misses are counted, as in 2-5,8. No tool runs on them if there are others.",
            show_default="all",
        ),
    ] = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "--interface",
            metavar="NAME",
            help="Interface whose counters are read. Repeatable.",
            show_default="those of all NICs",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New directory.", show_default="runs/<UTC time>-monitor"),
    ] = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Let the tools of this host count while something else runs.

    Starts perf stat, perf iostat and the tools of PCM one after the other, each for the duration. Reads ethtool -S, resctrl and
    /proc/stat at the begin and at the end. Keeps their texts in a directory, and says what this host does not have and what would
    bring it. `windtunnel run --monitor` does so during a run. `windtunnel diagnose RUN --recorded DIR` takes the texts as evidence.

    Exit codes: 0 there is a text, 1 this host has nothing of that, 2 bad input, 130 interrupted.

    windtunnel monitor
    windtunnel monitor llc,cpus --duration 5s --cpus 2-5
    windtunnel monitor pause,pcie --interface enp1s0f0 --out runs/beside-axio
    """
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.verdict import INTERRUPTED, INVALID
    from windtunnel.measure.execute import new_directory
    from windtunnel.measure.monitor.monitor import Monitor
    from windtunnel.runs.directories import make_held
    from windtunnel.runs.monitor import Kept, read_monitor

    request = _request(metrics, duration, cpus, interface)
    directory = out or new_directory("monitor")
    held = make_held(directory)
    with Interrupts() as interrupts, held.named():
        Monitor(request, held.place, interrupts.fd).conduct()
    lines = list(read_monitor(directory))
    if json:
        import json as encoder

        print(encoder.dumps([line.model_dump(mode="json") for line in lines], indent=1))
    else:
        from windtunnel.results.monitor import monitor_document
        from windtunnel.results.show import show

        show(monitor_document(directory))
    if interrupts.count:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if any(isinstance(line, Kept) for line in lines) else INVALID)


def _request(metrics: str, duration: str, cpus: str | None, interfaces: list[str] | None) -> "Request":
    """Raises UserError for what this host does not have."""
    from windtunnel.errors import UserError
    from windtunnel.host.cpus import allowed_cpus, cpus_of, read_cpus
    from windtunnel.measure.monitor.monitor import Request
    from windtunnel.measure.monitor.snapshots import interfaces_of_nics, unknown
    from windtunnel.measure.monitor.tools import metrics_of
    from windtunnel.scenario.quantities import option

    seconds = option("--duration", "duration", duration, "1s", "3600s") / 1e9
    online = read_cpus().online
    counted = cpus_of(cpus) if cpus is not None else allowed_cpus()
    if missing := [cpu for cpu in counted if cpu not in online]:
        raise UserError(f"--cpus: CPU {missing[0]} is not online", remedy=f"some of {', '.join(map(str, online))}")
    if not_here := list(unknown(interfaces or ())):
        there = ", ".join(interfaces_of_nics()) or "this host has no NIC with an interface of the kernel"
        raise UserError(f"--interface: no interface {not_here[0]}", remedy=there)
    kept_free = counted if cpus is not None else ()
    return Request(metrics_of(metrics), counted, kept_free, interfaces, round(seconds))
