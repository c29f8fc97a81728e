"""An advice in the terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.sharing.advise import SIMULATED, Advice, Choice
from windtunnel.views.terminal.columns import Column, Fitting


def advice_view(advice: Advice) -> RenderableType:
    """The advice, its p99 and cost; then the alternatives."""
    slo = f"p99 <= {fmt.duration(advice.slo.p99_ns)}"
    colour = "yellow" if advice.source == SIMULATED else "dim"
    parts: list[RenderableType] = []
    if advice.chosen:
        parts.append(Text(f"{slo} for {advice.tenants} tenants: {_words(advice.chosen)}", style="bold green"))
    else:
        parts.append(Text(f"{slo} for {advice.tenants} tenants: no requested setting meets it", style="bold red"))
    if advice.nearest:
        p99 = fmt.duration(advice.nearest.estimate.p99_ns)
        parts.append(Text(f"nearest: {_words(advice.nearest)}, which gives {p99}"))
    elif not advice.chosen:
        parts.append(Text("overload: these cores cannot carry the load with any slice"))
    if advice.instead:
        parts.append(Text(f"meets it: {_words(advice.instead)}"))
    elif not advice.chosen:
        parts.append(
            Text("even one core for each tenant does not meet it: use a looser SLO, a lower load, or cheaper requests")
        )
    rows = [one for one in (advice.chosen, advice.nearest, advice.instead, *advice.others) if one]
    return Group(*parts, *([choices(rows)] if rows else []), Text(advice.source, style=colour))


def _words(one: Choice) -> str:
    cores = f"{one.cores} core{'' if one.cores == 1 else 's'}"
    if one.per_core == 1:
        return f"{cores}, one for each tenant"
    return f"slice {fmt.duration(one.slice_ns)} on {cores}, weight {one.weight} each"


def choices(rows: list[Choice]) -> RenderableType:
    return Fitting(
        [
            Column("cores", [str(one.cores) for one in rows]),
            Column("tenants a core", [str(one.per_core) for one in rows]),
            Column("weight", [str(one.weight) for one in rows]),
            Column("slice", [fmt.duration(one.slice_ns) if one.per_core > 1 else fmt.DASH for one in rows]),
            Column("p99", [fmt.duration(one.estimate.p99_ns) for one in rows]),
            Column("up to", [fmt.duration(one.estimate.high_ns) for one in rows]),
            Column("lost", [fmt.percent(one.estimate.lost) for one in rows]),
            Column("SLO", ["met" if one.met else "missed" for one in rows]),
        ]
    )
