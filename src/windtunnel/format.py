"""Numbers as text for people. A value that was not measured is a dash, never a zero."""

from collections.abc import Sequence
from decimal import Decimal

DASH = "–"
_MOST = 10**21
"""Larger than every counted or measured number. A larger one, which a damaged record may have, is shown with three digits and a power of ten."""

_SECONDS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_RATES = ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"))
_BYTES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def words(text: str | None) -> str:
    return DASH if text is None else text


def number(value: float | None, digits: int = 1) -> str:
    """A number with thousands separators: 12,345.6"""
    return DASH if value is None else _fixed(value, digits)


def count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}" if abs(value) < _MOST else f"{Decimal(value):.3g}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share between 0 and 1 as a percentage: 12.3%"""
    return DASH if share is None else f"{_fixed(share * 100, digits, '')}%"


def duration(ns: float | None) -> str:
    """A duration with three digits and a suitable unit: 845 ns, 12.3 µs, 1.24 ms, 2.10 s."""
    return DASH if ns is None else _scaled(ns, _SECONDS) or f"{_fixed(ns, 0, '')} ns"


def rate(per_second: float | None) -> str:
    """A rate with three digits and a prefix: 1.23 M/s."""
    return DASH if per_second is None else _scaled(per_second, _RATES) or f"{_three(per_second)} /s"


def size(bytes_: int | None) -> str:
    """A size with a unit of 1024: 212 MiB."""
    return DASH if bytes_ is None else _scaled(bytes_, _BYTES) or f"{bytes_} B"


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str | None:
    """The value in the largest unit that it reaches after rounding; None if it reaches none."""
    return next((f"{_three(value / scale)} {unit}" for scale, unit in units if value >= scale * 0.9995), None)


def _three(value: float) -> str:
    return _fixed(value, 2, "") if value < 9.995 else f"{value:.1f}" if value < 99.95 else _fixed(value, 0)


def _fixed(value: float, digits: int, thousands: str = ",") -> str:
    return f"{value:{thousands}.{digits}f}" if abs(value) < _MOST else f"{value:.3g}"
