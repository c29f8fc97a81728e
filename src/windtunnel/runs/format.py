"""Numbers as people read them. What was not measured is a dash, never a zero."""

DASH = "–"


def number(value: float | None, digits: int = 1) -> str:
    """With thousands set apart: 12,345.6"""
    return DASH if value is None else f"{value:,.{digits}f}"


def count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def percent(share: float | None, digits: int = 1) -> str:
    """Of a share between 0 and 1: 12.3%"""
    return DASH if share is None else f"{share * 100:.{digits}f}%"


def duration(ns: float | None) -> str:
    """Three digits and the unit that suits: 845 ns, 12.3 µs, 1.24 ms, 2.10 s."""
    if ns is None:
        return DASH
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= scale * 0.9995:
            return f"{_three(ns / scale)} {unit}"
    return f"{ns:.0f} ns"


def rate(per_second: float | None) -> str:
    """Three digits and a prefix: 1.23 M/s."""
    if per_second is None:
        return DASH
    for scale, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if per_second >= scale * 0.9995:
            return f"{_three(per_second / scale)} {prefix}/s"
    return f"{_three(per_second)} /s"


def size(bytes_: int | None) -> str:
    """In powers of 1024: 212 MiB."""
    if bytes_ is None:
        return DASH
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if bytes_ >= scale:
            return f"{_three(bytes_ / scale)} {unit}"
    return f"{bytes_} B"


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"
