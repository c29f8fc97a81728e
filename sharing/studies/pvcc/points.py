"""Which points of a figure are run, by the options that the paper's scripts have: `--threads`, `--workloads`, `--rates`, `--vms`, `--tslices`;
and by what is beside the tenants: the clients that ask them (`--clients`), and the batch job (`--batch`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from pvcc.batch import BATCH, SYSBENCH
from pvcc.other_clients.catalogue import OTHER_CLIENTS
from pvcc.servers import PROFILES
from windtunnel.api.errors import UserError

LIMITS = {
    "threads": (1, 64),
    "rates": (1, 10_000_000),
    "vms": (1, 64),
    "tslices": (10, 1_000_000),
}
"""Least and greatest number of an option; slices are in us."""
NAMES = {"workloads": tuple(PROFILES), "clients": tuple(OTHER_CLIENTS), "batch": (BATCH, SYSBENCH)}


@dataclass(frozen=True)
class Points:
    """The chosen values of each option, ascending or in the order of `NAMES`. An empty one: those of the figure."""

    threads: tuple[int, ...] = ()
    workloads: tuple[str, ...] = ()
    rates: tuple[int, ...] = ()
    vms: tuple[int, ...] = ()
    tslices: tuple[int, ...] = ()
    clients: tuple[str, ...] = ()
    """Of others; an empty one: the client of this product."""
    batch: tuple[str, ...] = ()

    def setting(self) -> dict[str, str]:
        """What was chosen, for the page."""
        return {name: ", ".join(map(str, values)) for name in OPTIONS if (values := getattr(self, name))}


ALL = Points()
OPTIONS = tuple(field.name for field in fields(Points))


def read_points(figure: str, has: tuple[str, ...], texts: Mapping[str, str | None]) -> Points:
    """The points of texts such as "5000,40000", by their options; None: not given. `has`: the options of the figure.

    Raises UserError for an option that the figure does not have, and for a value that cannot be.
    """
    given = {name: text for name, text in texts.items() if text is not None}
    for name in given:
        if name not in has:
            options = " and ".join(f"--{option}" for option in has)
            raise UserError(
                f"{figure} has no --{name}", remedy=f"it has {options}" if has else "all of its trials are run"
            )
    values: dict[str, Any] = {
        name: _names(name, text) if name in NAMES else _numbers(name, text) for name, text in given.items()
    }
    return Points(**values)


def _names(option: str, text: str) -> tuple[str, ...]:
    names = list(_parts(option, text))
    for name in names:
        if name not in NAMES[option]:
            raise UserError(f'--{option} "{text}": no "{name}"', remedy=f"of {', '.join(NAMES[option])}")
    return tuple(name for name in NAMES[option] if name in names)


def _numbers(option: str, text: str) -> tuple[int, ...]:
    least, most = LIMITS[option]
    numbers = set()
    for part in _parts(option, text):
        number = int(part) if part.isascii() and part.isdigit() else -1
        if not least <= number <= most:
            raise UserError(
                f'--{option} "{text}": "{part}" is no number from {least} to {most}',
                remedy=f"whole numbers with commas, as in --{option} {least},{least + 1}",
            )
        numbers.add(number)
    return tuple(sorted(numbers))


def _parts(option: str, text: str) -> Iterator[str]:
    parts = [part.strip() for part in text.split(",")]
    if len(set(parts)) < len(parts):
        raise UserError(f'--{option} "{text}" has a value twice', remedy="give each value once")
    yield from parts
