"""Measures what each slicer achieves on this host, and picks one."""

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from windtunnel.host import cpus
from windtunnel.runs.histogram import percentile
from windtunnel.sharing import changed_threads, polling_trial
from windtunnel.sharing import journal as journals
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.diagnose import Finding
from windtunnel.sharing.host_diagnosis import findings, of_polling
from windtunnel.sharing.polling_trial import Load, Trial
from windtunnel.sharing.slicers import SLICERS

DEFAULT = "kicker"
CLEARLY = 0.8
"""Another slicer is picked instead of the default if its p99, or its cost, is below this part of the default's,"""
P99_AS_GOOD, COST_AS_GOOD = 1.1, 0.02
"""and the other value is not worse: a p99 of at most this factor, a cost of at most this much more."""
LONELY = "an isolated core (isolcpus): with any other thread the kernel's fair server takes 50 ms a second"
"""What slicers with SCHED_FIFO members need. A probe on a quiet core does not show it."""


@dataclass(frozen=True)
class Measured:
    """One slicer on this host; if it is not available, only why."""

    name: str
    summary: str
    missing: str | None = None
    wants: str | None = None
    """What it needs and this host may lack: then it is not picked automatically."""
    slice_p50_us: float | None = None
    slice_p99_us: float | None = None
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    throughput: float | None = None
    """Useful time of the core, as a share of that of one tenant alone."""
    own_share: float | None = None
    off_points: float | None = None
    late_p99_us: float | None = None
    source: str | None = None
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings of the diagnosis of its trial."""

    @property
    def cost(self) -> float:
        """The part of one tenant's throughput that is lost."""
        return 1 - (self.throughput or 0)

    @property
    def excluded(self) -> bool:
        """Other threads had too much of the core."""
        return any(finding.code == "neighbour" for finding in self.findings)


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
    alone = polling_trial.run(journal, "tick", cpu, slice_ns, Load(1, load.rate, load.service_ns), seconds)
    measured: list[Measured] = []
    for name, kind in SLICERS.items():
        why = kind.missing(cpu)
        if why is not None:
            measured.append(Measured(name, kind.summary, why))
        else:
            measured.append(_measured(polling_trial.run(journal, name, cpu, slice_ns, load, seconds), load, cpu, alone))
    return Probe(cpu, slice_ns, load.tenants, seconds, measured, pick(measured))


def _measured(finished: Trial, load: Load, cpu: int, alone: Trial) -> Measured:
    tenants = of_polling(finished.name, finished.tenants, load.service_ns, load.working_set_bytes)
    late = percentile(finished.slicer.late, 99)
    return Measured(
        name=finished.name,
        summary=SLICERS[finished.name].summary,
        wants=wants(finished.name, cpu),
        slice_p50_us=finished.slice_us(50),
        slice_p99_us=finished.slice_us(99),
        latency_p50_us=finished.latency_us(50),
        latency_p99_us=finished.latency_us(99),
        throughput=finished.useful(alone.poll_ns) / alone.useful(alone.poll_ns),
        own_share=finished.slicer.own_share,
        off_points=finished.off_points,
        late_p99_us=None if late is None else late / 1e3,
        source=finished.slicer.source,
        warnings=tuple(finished.slicer.warnings),
        findings=tuple(findings(finished.name, finished.slicer, tenants)),
    )


def wants(name: str, cpu: int) -> str | None:
    """What a slicer needs that this host lacks: then it is used only by name."""
    if SLICERS[name].raises and cpu not in cpus.read_cpus().isolated:
        return LONELY
    return None


def pick(measured: list[Measured]) -> str:
    """The default where it works, unless another one without needs is clearly better in p99 or in cost, and as good in the other.
    A trial with a neighbour on the core does not count for this."""
    able = [
        (one.latency_p99_us, one)
        for one in measured
        if one.missing is None and one.wants is None and one.latency_p99_us is not None
    ]
    default = next((one for one in able if one[1].name == DEFAULT), None)
    if default is not None:
        able = [one for one in able if _clearly_better(one[1], default[1], one[0] / default[0])]
    return min(able, key=lambda one: one[0])[1].name if able else DEFAULT


def _clearly_better(one: Measured, default: Measured, p99: float) -> bool:
    """`p99`: in parts of the default's."""
    if one.excluded or default.excluded:
        return False
    faster = p99 < CLEARLY and one.cost <= default.cost + COST_AS_GOOD
    cheaper = one.cost < CLEARLY * default.cost and p99 <= P99_AS_GOOD
    return faster or cheaper


def file_of(cpu: int) -> Path:
    return changed_threads.directory() / f"probe-cpu{cpu}.json"


def keep(found: Probe) -> None:
    """For `best`, until the next boot."""
    path = file_of(found.cpu)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"boot": journals.boot(), "probe": asdict(found)}))
    new.rename(path)


def best(cpu: int) -> str:
    """The pick of the last probe of this CPU since the boot; the default without one."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file_of(cpu).read_text())
        if kept["boot"] == journals.boot() and kept["probe"]["picked"] in SLICERS:
            return str(kept["probe"]["picked"])
    return DEFAULT
