"""`windtunnel share list`, `set` and `watch`: requests to a daemon over its Unix socket."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.daemon.client import Client
    from windtunnel.sharing.diagnose import Finding

Socket = Annotated[
    Path | None,
    typer.Option("--socket", metavar="PATH", help="Socket of the daemon. Default: in the runtime directory."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def list_(socket: Socket = None, json: Json = False) -> None:
    """Show the pools and their tenants: weights, CPUs, entitlements, and a diagnosis of the last interval.

    windtunnel share list
    windtunnel share list --json
    """
    with _client(socket) as client:
        tenants, pools, seen = (client.get(path) for path in ("/v1/tenants", "/v1/pools", "/v1/readings"))
    found = _findings(pools, seen, tenants)
    if json:
        from dataclasses import asdict
        from json import dumps

        findings = [{"cpu": cpu} | asdict(finding) for cpu, finding in found]
        print(dumps({"pools": pools, "tenants": tenants, "findings": findings}, indent=1))
        return
    from rich.console import Console

    from windtunnel.sharing.views.daemon import findings_text, pools_line, tenants_table

    console = Console()
    console.print(pools_line(pools), highlight=False, soft_wrap=True)
    console.print(tenants_table(tenants))
    console.print(findings_text([(f"CPU {cpu}", finding) for cpu, finding in found]), highlight=False)


def set_(
    pairs: Annotated[list[str], typer.Argument(metavar="TENANT=WEIGHT...", help="New weights. 256 is one CPU.")],
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo", metavar="TIME", help="SLO for p99, as in 500us. For a TENANT without weight it chooses the weight."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result, change nothing.")] = False,
    socket: Socket = None,
) -> None:
    """Change weights: all of them, or none if one is refused.

    windtunnel share set kv1=128 kv2=128
    windtunnel share set kv1 --slo 500us
    windtunnel share set kv1=256 --dry-run
    """
    changes = [_change(pair, slo) for pair in pairs]
    with _client(socket) as client:
        planned = client.ask("POST", "/v1/batch", {"changes": changes, "dry_run": dry_run})
        tenants = [] if dry_run else client.get("/v1/tenants")
    asked = {change["tenant"] for change in changes}
    for one in tenants:
        if {one["name"], str(one["number"])} & asked:
            print(f"{one['name']}: weight {one['weight']}, entitled to {one['entitled']:.3f} CPUs")
    would = "would be" if dry_run else "is"
    ls, be = (",".join(map(str, planned[pool])) or "none" for pool in ("ls", "be"))
    print(f"ls {would} on CPUs {ls}, be on {be}")
    for cpu, load in planned["overfull"].items():
        print(f"CPU {cpu} is overcommitted: its weights add up to {load}, so each gets less than weight / 256")


def watch(socket: Socket = None, json: Json = False) -> None:
    """Print the daemon's events as they happen, until Ctrl-C.

    windtunnel share watch
    """
    with _client(socket) as client:
        for event in client.watch():
            if json:
                from json import dumps

                print(dumps(event), flush=True)
            else:
                from windtunnel.sharing.views.daemon import event_line

                print(event_line(event), flush=True)


def _findings(
    pools: dict[str, Any], seen: dict[str, Any], tenants: list[dict[str, Any]]
) -> "list[tuple[int, Finding]]":
    """By CPU, from the slicers' last readings. The tenants' demand is not known here."""
    from windtunnel.sharing.host_diagnosis import findings, of_members
    from windtunnel.sharing.slicers import SLICERS, SliceReading

    slicer = pools["slicer"]
    if slicer not in SLICERS:  # of another version's daemon
        return []
    names = {tid: one["name"] for one in tenants for tid in one["threads"]}
    readings = [SliceReading.model_validate(seen[str(cpu)]) for cpu in pools["ls"] if str(cpu) in seen]
    return [
        (one.cpu, finding)
        for one in readings
        for finding in findings(slicer, one, of_members(one, SLICERS[slicer].raises, names))
    ]


def _client(socket: Path | None) -> "Client":
    from windtunnel.sharing.daemon.client import Client

    if socket is None:
        from windtunnel.sharing.daemon.lock import SOCKET, default_directory

        socket = default_directory() / SOCKET
    return Client(socket)


def _change(pair: str, slo: str | None) -> dict[str, Any]:
    """Raises UserError."""
    from windtunnel.errors import UserError

    tenant, equals, weight = pair.partition("=")
    if not tenant or (equals and not weight.isdecimal()) or not (equals or slo):
        raise UserError(f"{pair}: not TENANT=WEIGHT", remedy="windtunnel share set kv1=128, or kv1 --slo 500us")
    change: dict[str, Any] = {"tenant": tenant}
    if equals:
        change["weight"] = int(weight[:18])
    if slo is not None:
        from windtunnel.scenario.quantities import parse

        try:
            change["slo_p99_ns"] = parse("duration", slo)
        except ValueError as error:
            raise UserError(f"--slo: {error}") from None
    return change
