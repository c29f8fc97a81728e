"""Profiles of copy engines from measurements, for the copier `model`: of this host's CPU, or of one of its copiers."""

import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.host.cpus import read_cpus
from windtunnel.parts.copies.costs import CPU, Measured
from windtunnel.parts.copies.query import CopyCosts
from windtunnel.version import __version__

Points = Sequence[tuple[int, float]]
"""Sizes in bytes, and a value at each."""


def profile_text(name: str, title: str, copy_ns: Points, source: str, device: str = "") -> str:
    """The TOML of an engine that takes so many ns of the worker for a copy, the call and its poll included."""
    included = f'{{ value = 0, source = "{_plain(source)}; it is in the figure of a copy" }}'
    return f"""# {_plain(title)}: {_plain(source)}.
[engine]
name = "{name}"
title = "{_plain(title)}"

[caller]  # ns
burst = {included}
copy = {{ value = {_points(copy_ns)}, source = "{_plain(source)}" }}
poll = {included}
end = {included}
{device}"""


def as_profile(measurements: Sequence[Measured], copier_name: str, hot: bool) -> str:
    """The TOML of the CPU, or of a measured copier. Raises UserError if it was not measured."""
    measured = next(
        (measurement for measurement in measurements if copier_name in (CPU, measurement.copier.engine)), None
    )
    if measured is None:
        names = ", ".join([CPU, *(measurement.copier.engine for measurement in measurements)])
        raise UserError(f'no copier "{copier_name}" was measured', remedy=f"one of {names}")
    costs, tick_ns = [cost for cost in measured.costs if cost.hot == hot], 1e9 / measured.copier.tsc_hz
    place = "in the caches" if hot else "out of the caches"
    subject = "rte_memcpy by the CPU" if copier_name == CPU else f"{copier_name} ({measured.copier.device})"
    source = (
        f"measured by `windtunnel host copies` of Windtunnel {__version__} on {platform.node()} ({read_cpus().model or 'CPU not known'}), "
        f"{datetime.now(UTC):%Y-%m-%d}, bytes {place}, batches of {measured.batch}"
    )
    points = [(cost.bytes, (cost.cpu_cycles if copier_name == CPU else cost.caller_cycles) * tick_ns) for cost in costs]
    device = "" if copier_name == CPU or measured.is_loop else _device(measured, costs, tick_ns, source)
    return profile_text(_name(copier_name), f"{subject}, bytes {place}", points, source, device)


def _name(copier_name: str) -> str:
    """A name of a profile for a copier, which may be a file."""
    return re.sub(r"[^a-z0-9.-]+", "-", Path(copier_name).name.removesuffix(".so").lower())[:32]


def check_new(file: Path) -> None:
    """Checks the file before a measurement of some seconds. Raises UserError if it exists already."""
    if file.exists():
        raise _exists(file)


def _exists(file: Path) -> UserError:
    return UserError(f"{file}: exists already", remedy="another name for --as-profile")


def write_profile(file: Path, text: str) -> None:
    """Writes a profile. Raises UserError if the file exists already, or cannot be written."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(file) from None
    except OSError as error:
        raise UserError(f"{file}: {(error.strerror or str(error)).lower()}", remedy="a file that can be made") from None


def _device(measured: Measured, costs: Sequence[CopyCosts], tick_ns: float, source: str) -> str:
    """The TOML table of the device, as far as it was measured."""
    rates = [(cost.bytes, cost.bytes / (cost.copier_cycles * tick_ns)) for cost in costs]
    trip = measured.trip_ns_after
    latency = (
        f'{{ value = {max(0.0, trip - costs[0].copier_cycles * tick_ns):.1f}, source = "{_plain(source)}: the way there and back" }}'
        if trip is not None
        else '{ assumed = 0, why = "`windtunnel host copies` measures only the way to a thread" }'
    )
    return f"""
[device]
latency = {latency}  # ns
rate = {{ value = {_points(rates)}, source = "{_plain(source)}, {measured.depth} copies at a time" }}  # GB/s
at_once = {{ assumed = 1, why = "the rate is that of {measured.depth} copies at a time" }}
queue = {{ value = {measured.depth}, source = "the depth of the measurement" }}
reports_bursts = {{ assumed = false, why = "not measured" }}
"""


def _points(points: Points) -> str:
    return "[" + ", ".join(f"[{bytes_}, {value:.4g}]" for bytes_, value in points) + "]"


def _plain(text: str) -> str:
    """A text that is valid in a TOML string and in a comment."""
    return "".join(c for c in text.replace("\\", "/").replace('"', "'") if c.isprintable())
