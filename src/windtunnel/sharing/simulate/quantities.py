"""Quantities of sharing as they are typed: rates of requests (5krps, 5k/s), times (120us), sizes (256KiB)."""

from windtunnel.errors import UserError
from windtunnel.scenario.quantities import parse

UNITS = {
    "rate": "requests a second, as in 500rps, 5krps, 1.5Mrps or 5k/s",
    "duration": "a time with its unit, as in 120us, 1ms or 2s",
    "size": "bytes, as in 256KiB or 1MiB",
}


def quantity(kind: str, text: str | int, name: str) -> float:
    """In ns, bytes, or requests a second. Raises UserError that names what was asked for."""
    try:
        if kind == "rate" and isinstance(text, str):
            text = text.removesuffix("rps") + "/s" if text.endswith("rps") else text
        return parse(kind, text)
    except ValueError:
        raise UserError(f'{name} "{text}" is no {kind}', remedy=UNITS[kind]) from None


def duration_ns(text: str, name: str) -> int:
    return int(quantity("duration", text, name))


def rate(text: str, name: str) -> float:
    """Requests a second."""
    return float(quantity("rate", text, name))


def size(text: str | int, name: str) -> int:
    return int(quantity("size", text, name))
