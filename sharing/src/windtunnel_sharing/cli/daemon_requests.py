"""`windtunnel share list`, `set` and `watch`: requests to a daemon over its Unix socket."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from windtunnel.api.errors import Finding
    from windtunnel_sharing.daemon.client import Client

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
    diagnosed = _findings(pools, seen, tenants)
    if json:
        from dataclasses import asdict
        from json import dumps

        findings = [{"cpu": cpu} | asdict(finding) for cpu, finding in diagnosed]
        print(dumps({"pools": pools, "tenants": tenants, "findings": findings}, indent=1))
        return
    from windtunnel.api.documents import show
    from windtunnel_sharing.documents import tenants_document

    show(tenants_document(pools, tenants, [(f"CPU {cpu}", finding) for cpu, finding in diagnosed]))


def set_(
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TENANT=WEIGHT]...", help="New weights. 256 is one CPU.", show_default=False),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo", metavar="TIME", help="SLO for p99, as in 500us. For a TENANT without weight it chooses the weight."
        ),
    ] = None,
    autoscale: Annotated[
        str | None,
        typer.Option(
            "--autoscale",
            metavar="RULE",
            help="How reports change the weight of each TENANT: p99, queue, polls or off.",
        ),
    ] = None,
    slicer: Annotated[
        str | None, typer.Option("--slicer", metavar="NAME", help="Slicer of all CPUs of ls; `share probe` shows them.")
    ] = None,
    slice_: Annotated[str | None, typer.Option("--slice", metavar="TIME", help="Slice of all CPUs of ls.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the result, change nothing.")] = False,
    socket: Socket = None,
) -> None:
    """Change weights, all of them or none if one is refused; slicer and slice; or the autoscaler.

    Slicer, slice and autoscaler hold until the daemon ends: its file says what holds at its start.

    windtunnel share set kv1=128 kv2=128
    windtunnel share set kv1 --slo 500us
    windtunnel share set kv1 --autoscale p99
    windtunnel share set --slicer kicker-far --slice 200us
    windtunnel share set kv1=256 --dry-run
    """
    slicing = _slicing(slicer, slice_)
    _check_set(pairs or [], slo, autoscale, slicing, dry_run)
    with _client(socket) as client:
        if slicing:
            pools = client.ask("PATCH", "/v1/pools", slicing)
            print(f"slicer {pools['slicer']}, {pools['slice_ns'] / 1000:g} us")
        if autoscale is not None:
            _autoscale(client, [pair.partition("=")[0] for pair in pairs or []], autoscale)
        changes = [_change(pair, slo) for pair in pairs or [] if "=" in pair or slo]
        if changes:
            _weigh(client, changes, dry_run)


def _weigh(client: "Client", changes: list[dict[str, Any]], dry_run: bool) -> None:
    """Asks for the weights, and shows what came of it."""
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
                print(_event_line(event), flush=True)


def _event_line(event: dict[str, Any]) -> str:
    """Time, kind, and all other facts."""
    at = time.strftime("%H:%M:%S", time.localtime(event["at"]))
    facts = "  ".join(f"{key} {value}" for key, value in event.items() if key not in ("id", "at", "event"))
    return f"{at}  {event['event']:<10}  {facts}"


def _findings(
    pools: dict[str, Any], seen: dict[str, Any], tenants: list[dict[str, Any]]
) -> "list[tuple[int, Finding]]":
    """By CPU, from the slicers' last readings. The tenants' demand is not known here."""
    from windtunnel_sharing.host_diagnosis import findings, of_members
    from windtunnel_sharing.slicers import SLICERS, SliceReading

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
    from windtunnel_sharing.daemon.client import Client

    if socket is None:
        from windtunnel_sharing.daemon.lock import SOCKET, default_directory

        socket = default_directory() / SOCKET
    return Client(socket)


def _slicing(slicer: str | None, slice_: str | None) -> dict[str, Any]:
    """Raises UserError for a slice that cannot be read."""
    from windtunnel.api.settings import option

    given = {"slicer": slicer, "slice_ns": option("--slice", "duration", slice_, "10us", "1s") if slice_ else None}
    return {name: value for name, value in given.items() if value is not None}


def _check_set(
    pairs: list[str], slo: str | None, autoscale: str | None, slicing: dict[str, Any], dry_run: bool
) -> None:
    """Raises UserError before anything is asked for."""
    from windtunnel.api.errors import UserError
    from windtunnel_sharing.daemon.keys import SIGNALS

    if not pairs and (autoscale or slo):
        raise UserError("--autoscale and --slo need a TENANT", remedy="windtunnel share set kv1 --autoscale p99")
    if not pairs and not slicing:
        raise UserError("nothing to set", remedy="TENANT=WEIGHT, --slicer or --slice")
    if autoscale is not None and autoscale not in (*SIGNALS, "off"):
        raise UserError(f"--autoscale {autoscale}", remedy=f"one of {', '.join(SIGNALS)}, off")
    if dry_run and (slicing or autoscale):
        raise UserError("--dry-run shows weights only", remedy="leave --slicer, --slice and --autoscale out")
    if autoscale is None:
        for pair in pairs:
            _change(pair, slo)


def _autoscale(client: "Client", tenants: list[str], rule: str) -> None:
    for name in tenants:
        if rule == "off":
            client.ask("DELETE", f"/v1/tenants/{name}/autoscale")
        else:
            client.ask("PUT", f"/v1/tenants/{name}/autoscale", {"by": rule})
        print(f"{name}: {'its reports no longer change its weight' if rule == 'off' else f'autoscaled by {rule}'}")


def _change(pair: str, slo: str | None) -> dict[str, Any]:
    """Raises UserError."""
    from windtunnel.api.errors import UserError

    tenant, equals, weight = pair.partition("=")
    if not tenant or (equals and not (weight.isascii() and weight.isdecimal())) or not (equals or slo):
        raise UserError(f"{pair}: not TENANT=WEIGHT", remedy="windtunnel share set kv1=128, or kv1 --slo 500us")
    change: dict[str, Any] = {"tenant": tenant}
    if equals:
        change["weight"] = int(weight[:18])
    if slo is not None:
        from windtunnel.api.settings import parse

        try:
            change["slo_p99_ns"] = parse("duration", slo)
        except ValueError as error:
            raise UserError(f"--slo: {error}") from None
    return change
