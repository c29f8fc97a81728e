"""Pools, tenants and slicers as tables, events as lines, findings as text."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.views.terminal.columns import Column, Fitting

if TYPE_CHECKING:
    from windtunnel.finding import Finding
    from windtunnel.sharing.probe import Probe

MOST_NAMED = 3
"""Tenants that are named with a finding; further ones are counted."""


def pools_line(pools: dict[str, Any]) -> Text:
    """The CPUs of each pool, the slicer, and the free weight."""
    cpus = {pool: ",".join(map(str, pools[pool])) or "none" for pool in ("ls", "be")}
    full = f", CPUs above 256: {', '.join(pools['overfull'])}" if pools["overfull"] else ""
    return Text(
        f"ls {cpus['ls']}  be {cpus['be']}  slicer {pools['slicer']} {fmt.duration(pools['slice_ns'])}  "
        f"weight {pools['weight']}, room for {pools['room']}{full}  shield {pools['shield']}"
    )


def tenants_table(tenants: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("#", "tenant", "pool", "weight", "CPUs", "promised", "entitled", "p99", "SLO", "pid", "threads"):
        table.add_column(name, justify="left" if name in ("tenant", "pool", "CPUs") else "right")
    for one in tenants:
        told = one["told"] or {}
        table.add_row(
            str(one["number"]),
            Text(one["name"]),
            "be (parked)" if one["parked"] else one["pool"],
            str(one["weight"]),
            ",".join(map(str, one["cpus"])) or "-",
            *(
                f"{one[key]:.3f}" if one["pool"] == "ls" and not one["parked"] else "-"
                for key in ("promised", "entitled")
            ),
            fmt.duration(told.get("p99_ns")),
            fmt.duration(one["slo_p99_ns"]),
            str(one["pid"] or "-"),
            str(len(one["threads"])),
        )
    return table


def event_line(event: dict[str, Any]) -> str:
    """Time, kind, and all other facts."""
    at = time.strftime("%H:%M:%S", time.localtime(event["at"]))
    facts = "  ".join(f"{key} {value}" for key, value in event.items() if key not in ("id", "at", "event"))
    return f"{at}  {event['event']:<10}  {facts}"


def findings_text(found: "Sequence[tuple[str, Finding]]") -> RenderableType:
    """Each finding once, with the evidence of the first tenants or cores that have it, and each remedy once."""
    lines = []
    for code in dict.fromkeys(finding.code for _, finding in found):
        of: dict[str, Finding] = {}
        for who, finding in found:
            if finding.code == code:
                of.setdefault(who, finding)
        lines.append(Text(f"{code}: {next(iter(of.values())).title}", style="bold"))
        lines += [Text(f"  {who}: {finding.evidence}") for who, finding in list(of.items())[:MOST_NAMED]]
        if len(of) > MOST_NAMED:
            lines.append(Text(f"  and {len(of) - MOST_NAMED} more like these"))
        remedies = dict.fromkeys(finding.remedy for finding in of.values())
        for remedy in remedies:
            whose = [who for who, finding in of.items() if finding.remedy == remedy]
            more = f" and {len(whose) - MOST_NAMED} more" if len(whose) > MOST_NAMED else ""
            named = f" for {', '.join(whose[:MOST_NAMED])}{more}" if len(remedies) > 1 else ""
            lines.append(Text(f"  remedy{named}: {remedy}"))
    return Group(*lines)


def probe_table(found: "Probe") -> RenderableType:
    """The measurements of each slicer."""
    title = f"{found.tenants} polling tenants on CPU {found.cpu}, slices of {found.slice_ns / 1e3:g} us, {found.rounds} times {found.seconds:g} s each"
    seen = [one for one in found.measured if not one.missing]
    table = Fitting(
        [
            Column("slicer", [one.name for one in seen]),
            Column("slice p50", [_time(one.slice_p50_us) for one in seen], spare=2),
            Column("p99", [_time(one.slice_p99_us) for one in seen], spare=3),
            Column("latency p50", [_time(one.latency_p50_us) for one in seen], spare=4),
            Column("p99", [_time(one.latency_p99_us) for one in seen]),
            Column("throughput", [fmt.percent(one.throughput) for one in seen], spare=1),
            Column("loss", [fmt.percent(one.loss) for one in seen]),
            Column("a turn", [_time(one.turn_us, fmt.DASH) for one in seen]),
            Column("share off", [fmt.percent(one.off_points) for one in seen], spare=5),
            Column("late p99", [_time(one.late_p99_us, fmt.DASH) for one in seen], spare=6),
        ]
    )
    return Group(Text(title), table)


def _time(us: float | None, none: str = "too few") -> str:
    return none if us is None else fmt.duration(us * 1000)
