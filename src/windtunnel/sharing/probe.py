"""What each slicer achieves on this host, measured, and which one is picked."""

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from windtunnel.runs.histogram import percentile
from windtunnel.sharing import journal as journals
from windtunnel.sharing import places, trial
from windtunnel.sharing.places import Journal
from windtunnel.sharing.slicers import SLICERS
from windtunnel.sharing.trial import Load, Trial

DEFAULT = "kicker"
LEAST_THROUGHPUT = 0.9
"""Of the tick's: a slicer that costs more than 10% of the core is not picked."""
CLEARLY = 0.8
"""Another one is picked instead of the default when its p99 is below this part of the default's."""
COOPERATIVE = {"yield": "the tenants must do it", "doorbell": "a dispatcher must ring"}


@dataclass(frozen=True)
class Measured:
    """One slicer on this host; where it is missing, only why."""

    name: str
    summary: str
    missing: str | None = None
    wants: str | None = None
    """What it wants from tenants or dispatcher, so that it is never picked unasked."""
    slice_p50_us: float | None = None
    slice_p99_us: float | None = None
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    throughput: float | None = None
    """Useful time of the core, of that of one tenant alone."""
    own_share: float | None = None
    off_points: float | None = None
    late_p99_us: float | None = None
    source: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Probe:
    cpu: int
    slice_ns: int
    tenants: int
    seconds: float
    measured: list[Measured]
    picked: str


def probe(journal: Journal, cpu: int, slice_ns: int, load: Load, seconds: float) -> Probe:
    """Each slicer for `seconds` in turn, after one tenant alone."""
    alone = trial.fly(journal, "tick", cpu, slice_ns, Load(1, load.rate, load.service_ns), seconds)
    measured = []
    for name, kind in SLICERS.items():
        why = kind.missing(cpu)
        if why is not None:
            measured.append(Measured(name, kind.summary, why))
        else:
            measured.append(_figures(trial.fly(journal, name, cpu, slice_ns, load, seconds), kind.summary, alone))
    return Probe(cpu, slice_ns, load.tenants, seconds, measured, pick(measured))


def _figures(flown: Trial, summary: str, alone: Trial) -> Measured:
    late = percentile(flown.slicer.late, 99)
    return Measured(
        name=flown.name,
        summary=summary,
        wants=COOPERATIVE.get(flown.name),
        slice_p50_us=flown.slice_us(50),
        slice_p99_us=flown.slice_us(99),
        latency_p50_us=flown.latency_us(50),
        latency_p99_us=flown.latency_us(99),
        throughput=flown.useful(alone.poll_ns) / alone.useful(alone.poll_ns),
        own_share=flown.slicer.own_share,
        off_points=flown.off_points,
        late_p99_us=None if late is None else late / 1e3,
        source=flown.slicer.source,
        warnings=tuple(flown.slicer.warnings),
    )


def pick(measured: list[Measured]) -> str:
    """The default, unless another that works on unmodified tenants is clearly better and costs no more than it may."""
    able = {
        one.name: one
        for one in measured
        if one.missing is None and one.wants is None and one.latency_p99_us is not None
    }
    tick = able.get("tick")
    if tick is not None:
        able = {
            name: one
            for name, one in able.items()
            if one is tick or one.throughput >= LEAST_THROUGHPUT * tick.throughput
        }
    if not able:
        return DEFAULT
    best = min(able.values(), key=lambda one: one.latency_p99_us)
    default = able.get(DEFAULT)
    if default is not None and best.latency_p99_us > CLEARLY * default.latency_p99_us:
        return DEFAULT
    return best.name


def file_of(cpu: int) -> Path:
    return places.directory() / f"probe-cpu{cpu}.json"


def keep(found: Probe) -> None:
    """For `best`, until the next boot."""
    path = file_of(found.cpu)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"boot": journals.boot(), "probe": asdict(found)}))
    new.rename(path)


def best(cpu: int) -> str:
    """What the last probe of this CPU since the boot has picked; without one the default."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file_of(cpu).read_text())
        if kept["boot"] == journals.boot() and kept["probe"]["picked"] in SLICERS:
            return kept["probe"]["picked"]
    return DEFAULT
