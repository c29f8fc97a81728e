"""A fitted model and an advice in the terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.model.record import Parameter
from windtunnel.sharing.model.advise import Advice, Choice
from windtunnel.sharing.model.estimators import SIMULATED
from windtunnel.sharing.model.fit import GOAL
from windtunnel.sharing.model.record import Errors, SharingModel
from windtunnel.views.terminal.columns import Column, Fitting

WORDS = {
    "slice_ns": "a slice loses",
    "request_ns": "a request costs in addition to its service",
    "refill": "times the refill by the L2's equation",
    "turns": "times the time that a tenant is away",
    "unordered": "in addition, where old deadlines decide the order",
    "queue": "times N s r/(1 - r)",
    "service": "times the cost of a request",
    "fixed_ns": "always",
}


def model_view(model: SharingModel) -> RenderableType:
    """Parameters with intervals, and held-out errors."""
    parameters = [*model.capacity, *model.p99]
    table = Fitting(
        [
            Column("of", ["capacity"] * len(model.capacity) + ["p99"] * len(model.p99), words=True),
            Column("parameter", [one.name for one in parameters], words=True),
            Column("value", [_value(one, one.value) for one in parameters]),
            Column("95% from", [_value(one, one.low) for one in parameters]),
            Column("to", [_value(one, one.high) for one in parameters]),
            Column("", [WORDS[one.name] for one in parameters], words=True, spare=1),
        ]
    )
    return Group(
        Text(f"{model.slicer}, {len(model.held)} settings from {model.source}", style="bold"),
        table,
        Text(_errors("p99", model.p99_errors)),
        Text(_errors("peak", model.peak_errors)),
        *(Text(words, style="dim") for words in model.left_out),
    )


def _value(one: Parameter, value: float | None) -> str:
    return fmt.duration(value) if one.name.endswith("_ns") else fmt.number(value, 3)


def _errors(name: str, of: Errors) -> str:
    if of.mape is None:
        return f"{name}: no held-out points"
    within = f"{fmt.percent(of.within, 0)} of {of.points} held-out settings within {GOAL:.0%}"
    return f"{name}: held-out error {fmt.percent(of.mape)} on average, {fmt.percent(of.most)} at most; {within}"


def advice_view(advice: Advice) -> RenderableType:
    """The advice, its p99 and cost; then the alternatives."""
    slo = f"p99 <= {fmt.duration(advice.slo.p99_ns)}"
    colour = "yellow" if advice.source.startswith(SIMULATED) else "dim"
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
            Column("from", [fmt.duration(one.estimate.low_ns) for one in rows]),
            Column("to", [fmt.duration(one.estimate.high_ns) for one in rows]),
            Column("lost", [fmt.percent(one.estimate.lost) for one in rows]),
            Column("SLO", ["met" if one.met else "missed" for one in rows]),
        ]
    )
