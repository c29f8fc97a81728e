"""What a user writes for a share of percents or for a time."""

import re

from windtunnel.errors import UserError
from windtunnel.scenario.quantities import Quantity

_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
MOST_PERCENT = 100


def percent(option: str, text: str) -> float:
    """ "5%" is 0.05. Raises UserError."""
    match = _PERCENT.fullmatch(text)
    if match is None or not 0 < float(match[1]) <= MOST_PERCENT:
        raise UserError(f"{option} {text}: not above 0% and at most {MOST_PERCENT}%", remedy=f"as in {option} 5%")
    return float(match[1]) / 100


def seconds(option: str, text: str) -> float:
    """ "10min" is 600. Raises UserError."""
    try:
        return Quantity("duration", "1s", "24h").read(text) / 1e9
    except ValueError as error:
        raise UserError(f"{option}: {error}", remedy=f"as in {option} 10min") from None
