"""Pools and tenants as tables, events as lines."""

import time
from typing import Any

from rich.table import Table
from rich.text import Text

from windtunnel.runs import format as fmt


def pools_line(pools: dict[str, Any]) -> Text:
    """Who has which CPUs, how, and how much room there is."""
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
            f"{one['promised']:.3f}",
            f"{one['entitled']:.3f}",
            fmt.duration(told.get("p99_ns")),
            fmt.duration(one["slo_p99_ns"]),
            str(one["pid"] or "-"),
            str(len(one["threads"])),
        )
    return table


def event_line(event: dict[str, Any]) -> str:
    """Time, kind, and the rest as it is."""
    at = time.strftime("%H:%M:%S", time.localtime(event["at"]))
    facts = "  ".join(f"{key} {value}" for key, value in event.items() if key not in ("id", "at", "event"))
    return f"{at}  {event['event']:<10}  {facts}"
