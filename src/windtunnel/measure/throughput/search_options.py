"""A search's options from texts, as the command line has them."""

import re
from collections.abc import Mapping, Sequence

from windtunnel.errors import UserError
from windtunnel.measure.search import NDR, PDR, THROUGHPUT, Goal, Objective
from windtunnel.measure.throughput.find import Options
from windtunnel.runs.registry.percentiles import DECIDING
from windtunnel.scenario.quantities import Quantity

_SHARE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)", re.ASCII)
_GOAL = re.compile(r"([A-Za-z0-9_.-]{1,32})=(.*)", re.ASCII)
PERCENTILES = {percentile.name: percentile.percent for percentile in DECIDING}
"""Goals whose limit is a latency."""
LOSS = "loss"
"""The goal beside one of these that limits their loss."""
_DEFAULT = {"mlrsearch": (NDR, PDR), "rfc2544": (THROUGHPUT,)}


def options(
    method: str,
    goals: Sequence[str] | None,
    width: str,
    exceed: str,
    trial: str,
    trial_sum: str,
    least: str | None,
    most: str | None,
    within: str | None,
    latency: bool,
    bursts: int,
    include_invalid: bool = False,
) -> Options:
    """Raises UserError that names the option, the error and the remedy."""
    trial_s = duration_s("--trial", trial)
    sum_s = max(duration_s("--trial-sum", trial_sum), trial_s)
    names = dict(_goal(text) for text in goals or ())
    if len(names) < len(goals or ()):
        raise UserError("--goal: two goals have the same name", remedy="a unique name for each")
    limits = _limits(names) if names else {g.name: (g.loss_ratio, None) for g in _DEFAULT[method]}
    about = (share("--exceed", exceed), share("--width", width), trial_s, trial_s, sum_s)
    return Options(
        method=method,
        goals=tuple(Goal(name, loss, *about, latency=latency) for name, (loss, latency) in limits.items()),
        min_load=rate("--min", least) if least else None,
        max_load=rate("--max", most) if most else None,
        time_s=duration_s("--within", within) if within else None,
        latency=latency,
        bursts=bursts,
        include_invalid=include_invalid,
    )


def share(option: str, text: str) -> float:
    """The share that "0.5%" or "0.005" stands for."""
    match = _SHARE.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{option} {text}: not a share", remedy="as in 0.5% or 0.005")
    return float(match[1]) / (100 if match[2] else 1)


def duration_s(option: str, text: str) -> float:
    return _quantity(option, text, Quantity("duration", "10ms", "24h"), "as in 1s or 500ms") / 1e9


def rate(option: str, text: str) -> float:
    return _quantity(option, text, Quantity("rate", "0.001pps", "1000Mpps"), "as in 200kpps")


def _quantity(option: str, text: str, quantity: Quantity, remedy: str) -> float:
    try:
        return quantity.read(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}", remedy=remedy) from None


def _goal(text: str) -> tuple[str, str]:
    match = _GOAL.fullmatch(text)
    if match is None:
        raise UserError(f"--goal {text}: not a name and its limit", remedy="as in --goal PDR=0.5% or --goal p99=50us")
    return match[1], match[2]


def _limits(names: Mapping[str, str]) -> dict[str, tuple[float, Objective | None]]:
    """Name -> loss and latency that it allows. Without a limit of their own, latency goals may lose what their percentile leaves: a
    message without a response is later than any limit."""
    common = share(f"--goal {LOSS}", names[LOSS]) if LOSS in names and names.keys() & PERCENTILES.keys() else None
    goals: dict[str, tuple[float, Objective | None]] = {}
    for name, text in names.items():
        if name in PERCENTILES:
            part = round(PERCENTILES[name] / 100, 6)
            limit_ns = _quantity(f"--goal {name}", text, Quantity("duration", "100ns", "60s"), f"as in {name}=50us")
            goals[name] = round(1 - part, 6) if common is None else common, Objective(part, limit_ns)
        elif name != LOSS or common is None:
            goals[name] = share(f"--goal {name}", text), None
    return goals
