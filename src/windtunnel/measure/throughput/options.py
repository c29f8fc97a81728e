"""A search's options from texts, as the command line has them."""

import re
from collections.abc import Sequence

from windtunnel.errors import UserError
from windtunnel.measure.search import NDR, PDR, THROUGHPUT, Goal
from windtunnel.measure.throughput.find import Options
from windtunnel.scenario.quantities import Quantity

_SHARE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)", re.ASCII)
_GOAL = re.compile(r"([A-Za-z0-9_-]{1,32})=(.*)", re.ASCII)


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
    names = dict(_goal(text) for text in goals) if goals else {g.name: g.loss_ratio for g in (NDR, PDR)}
    if goals and len(names) < len(goals):
        raise UserError("--goal: two goals have the same name", remedy="a unique name for each")
    if method == "rfc2544" and not goals:
        names = {THROUGHPUT.name: THROUGHPUT.loss_ratio}
    about = (share("--exceed", exceed), share("--width", width), trial_s, trial_s, sum_s)
    return Options(
        method=method,
        goals=tuple(Goal(name, loss, *about) for name, loss in names.items()),
        min_load=rate("--min", least) if least else None,
        max_load=rate("--max", most) if most else None,
        time_s=duration_s("--within", within) if within else None,
        latency=latency,
        bursts=bursts,
        include_invalid=include_invalid,
    )


def share(option: str, text: str) -> float:
    """Of "0.5%" or "0.005"."""
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


def _goal(text: str) -> tuple[str, float]:
    match = _GOAL.fullmatch(text)
    if match is None:
        raise UserError(f"--goal {text}: not a name and its loss", remedy="as in --goal PDR=0.5%")
    return match[1], share(f"--goal {match[1]}", match[2])
