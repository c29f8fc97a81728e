"""Fig. 11: a changing load on two tenants that poll, beside a batch job, on two CPUs: naive, pinned, scaled.

naive   tenants and batch job on both CPUs, scheduled by the kernel
pinned  each tenant has a CPU of its own all the time; no CPU is left for the batch job
scaled  weights follow the load, as PvCC's tenants request: ls has one CPU, sliced, and takes the second while the load is high;
        the batch job has the rest, and is idle-class while there is none

Tenants (windtunnel-tenant) make their own arrivals. The batch job is windtunnel-batch, or sysbench; its events are counted.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from pvcc import charts
from pvcc.batch import BATCH, LIMIT, SYSBENCH, Batch, BestEffort, Sysbench, sysbench_version
from pvcc.claims import Claim, Verdict, above, below, verdict
from pvcc.figure import Figure, Picture, Place
from pvcc.points import ALL, Points
from pvcc.shared_core import first_of_all, of_slicers, sharing, shielded
from pvcc.site import watching
from pvcc.timeline import Timeline, Window, scaled_steps
from pvcc.trials import POLL_MODE, Arm, Row, exclusion_reason, pairs
from windtunnel.api.errors import Finding, UserError
from windtunnel.api.histograms import merge, percentile
from windtunnel_sharing.host_diagnosis import findings, of_members
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.plan import Crew, Machine, Plan, arrange, plan
from windtunnel_sharing.slicers import SLICERS
from windtunnel_sharing.tenant import Phase, Tenant, TenantPlan, TenantWindow

CLAIM = Claim("5", "Changing the tenants' CPUs with their load mitigates the trade-off")
WAYS = ("naive", "pinned", "scaled")
TENANTS = 2
SERVICE_NS = 5_000
SLICE_NS = 100_000
LEAD_NS = 400_000_000
LEAST_OF_PINNED, LEAST_OF_LEFT = 0.9, 0.8


class Fig11Row(Row):
    way: str
    served: int
    lost: int
    served_per_s: float
    p99_ns: int | None
    p99_low_ns: int | None
    """While the load is low, in the middle, and at its peak."""
    p99_middle_ns: int | None
    p99_peak_ns: int | None
    batch_events: float
    batch_cpu: float
    """CPUs that the batch job had on average."""
    left_cpu: float
    """CPUs that the tenants' weights leave on average, by the plan of `scaled`."""
    times_s: list[float]
    """Middle of each window; the series below are by it."""
    served_series: list[float]
    p99_series: list[int | None]
    batch_series: list[float]


class Fig11(Figure):
    name = "fig11"
    title = "A changing load, and the CPU time left for a batch job"
    question = "Do two tenants that request CPU on demand serve as much as on CPUs of their own, and does the batch job get the rest?"
    differs = (
        (
            "The paper has four memcached VMs and a batch VM on six CPUs. Here there are two tenants and two CPUs, and ls grows from one to two. "
            "The six-core form is simulated (windtunnel share simulate), not measured."
        ),
        "Here pinned leaves no CPU for the batch job; in the paper it has two of six. Batch work is compared with the CPUs that the weights leave.",
        "Rates have the paper's proportions (1 : 10 : 100, the peak at 0.65 of a core for each tenant). --quick shortens the 50 s.",
        "Tenants send requests when their load changes, at times that the plan has. An autoscaler has to detect the change.",
    )
    row = Fig11Row
    options = ("batch",)

    def __init__(self, quick: bool, slicer: str, points: Points = ALL):
        super().__init__(quick, slicer, points)
        self.time = Timeline.of(10.0 if quick else 50.0, 0.65e9 / SERVICE_NS)

    def arms(self) -> list[Arm]:
        if len(self.points.batch) > 1:
            raise UserError(f"{self.name} has one batch job", remedy=f"--batch {BATCH} or --batch {SYSBENCH}")
        return [Arm((("way", way),)) for way in WAYS]

    @property
    def takes_sysbench(self) -> bool:
        return self.points.batch == (SYSBENCH,)

    def _batch(self, place: Place) -> BestEffort:
        return (Sysbench if self.takes_sysbench else Batch)(place.directory / "batch.log", cpu=None)

    def setting(self) -> dict[str, str]:
        tenants = f"windtunnel-tenant, always polling, {SERVICE_NS / 1000:g} us a request"
        batch = f"{SYSBENCH} {sysbench_version()}" if self.takes_sysbench else BATCH
        return {"tenants": tenants, "batch": f"{batch}, primes up to {LIMIT:,}"} | self.slicer_words(SLICE_NS)

    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        cpus, way = (place.site.client_cpu, place.site.tenant_cpu), arm["way"]
        start = time.monotonic_ns() + LEAD_NS
        said: list[Finding] = []
        with ExitStack() as stack:
            tenants = [stack.enter_context(Tenant(self._plan(place.seed * 100 + n, start))) for n in range(TENANTS)]
            batch = None if way == "pinned" else stack.enter_context(self._batch(place))
            theirs = [tenant.tid for tenant in tenants]
            if batch:
                theirs += batch.tids
            stack.enter_context(first_of_all())
            if way == "scaled" and batch:
                carrier = stack.enter_context(sharing(place.sharing_journal, self.slicer, cpus, SLICE_NS))
                with watching(cpus, lambda: [*theirs, *of_slicers(carrier)]) as cores:
                    said = self._scale(carrier, tenants, batch, cpus, start, place)
            else:
                where = {t.tid: cpus if way == "naive" else (cpus[n],) for n, t in enumerate(tenants)}
                where |= dict.fromkeys(batch.tids if batch else (), cpus)
                with shielded(place.sharing_journal, where), watching(cpus, lambda: theirs) as cores:
                    _sleep_until(start + self.time.duration_ns + _HELD_NS, place)
            results = [tenant.result() for tenant in tenants]
            if batch:
                time.sleep(2 * batch.window_s)
                batch.stop()
        return {
            "way": way,
            "arrivals": "inside",
            "mode": POLL_MODE,
            "own_share": cores.own_share,
            "excluded": exclusion_reason(cores.own_share),
            "findings": said,
        } | self._measured(results, batch, start)

    def _plan(self, seed: int, start: int) -> TenantPlan:
        phases = [Phase(rate=per_s, for_ns=length) for length, per_s in self.time.phases]
        return TenantPlan(
            phases=phases,
            seed=seed,
            service_ns=SERVICE_NS,
            queue=65536,
            start_ns=start,
            duration_ns=self.time.duration_ns + 2 * _HELD_NS,
            window_ns=self.time.window_ns,
        )

    def _scale(
        self,
        carrier: Carrier,
        tenants: Sequence[Tenant],
        batch: BestEffort,
        cpus: tuple[int, ...],
        start: int,
        place: Place,
    ) -> list[Finding]:
        """Moves cores with the load. Returns findings about the cores of the tenants at the end."""
        crews = {f"t{n}": Crew(f"t{n}", (tenant.tid,)) for n, tenant in enumerate(tenants)}
        others = [Crew("batch", tuple(batch.tids))]
        machine, before = Machine(cpus, be_least=0), Plan((), cpus)
        for at_ns, shares in scaled_steps(self.time, list(crews)):
            if not _sleep_until(start + at_ns, place):
                return []
            before = plan(shares, machine, before)
            carrier.carry(arrange(before, crews, others), {})
        _sleep_until(start + self.time.duration_ns + _HELD_NS, place)
        seen = [carrier.slicers[cpu].read() for cpu in before.ls]
        raises = SLICERS[self.slicer].raises
        return [said for one in seen for said in findings(self.slicer, one, of_members(one, raises))]

    def _measured(
        self, results: Sequence[tuple[list[TenantWindow], TenantWindow]], batch: BestEffort | None, start: int
    ) -> dict[str, Any]:
        end = start + self.time.duration_ns
        # how everything is restored is not measured
        of_tenants = [[w for w in windows if (w.begin_ns + w.end_ns) // 2 < end] for windows, _ in results]
        windows = self.time.gathered(of_tenants, start)
        events, cpu_ns = batch.between(start, end) if batch else (0.0, 0.0)
        everything = [one for windows in of_tenants for one in windows]
        by_load = {
            f"p99_{name}_ns": percentile(merge(w.latency for w in self.time.while_load(name, of_tenants, start)), 99)
            for name in ("low", "middle", "peak")
        }
        return by_load | {
            "served": sum(one.served for one in everything),
            "lost": sum(one.lost for one in everything),
            "served_per_s": sum(one.served for one in everything) / self.time.duration_ns * 1e9,
            "p99_ns": percentile(merge(one.latency for one in everything), 99),
            "batch_events": events,
            "batch_cpu": cpu_ns / self.time.duration_ns,
            "left_cpu": self.time.left_cpu(),
            "times_s": [w.at_ns / 1e9 for w in windows],
            "served_series": [w.served_per_s for w in windows],
            "p99_series": [percentile(w.latency, 99) for w in windows],
            "batch_series": [_events(batch, w) if batch else 0.0 for w in windows],
        }

    def verdicts(self, rows: Sequence[Fig11Row]) -> list[Verdict]:
        def of(way: str) -> Callable[[Fig11Row], bool]:
            return lambda r: r.way == way

        served = pairs(rows, of("pinned"), of("scaled"), lambda r: r.served_per_s)
        left = pairs(rows, of("scaled"), of("scaled"), lambda r: r.left_cpu)[0]
        had = pairs(rows, of("scaled"), of("scaled"), lambda r: r.batch_cpu)[0]
        tails = pairs(rows, of("naive"), of("scaled"), lambda r: r.p99_ns)
        findings = [
            above("throughput of scaled over pinned", *served, LEAST_OF_PINNED),
            above("the batch job's CPU over what the weights leave, scaled", left, had, LEAST_OF_LEFT),
            below("p99 of scaled over naive", *tails),
        ]
        return [verdict(CLAIM, findings)]

    def pictures(self, rows: Sequence[Fig11Row]) -> list[Picture]:
        shown = {way: next((r for r in rows if r.way == way and not r.excluded), None) for way in WAYS}
        lacking = [way for way, row in shown.items() if row is None]
        caption = "The first included trial of each, window by window." + (
            f" There is none of {' and '.join(lacking)}." if lacking else ""
        )
        series = (
            ("served_series", "Requests served", "a second", False),
            ("p99_series", "p99", "p99 of a window", True),
            ("batch_series", "Batch job's work", "events a second", False),
        )
        found = []
        for field, title, unit, durations in series:
            lines = [
                charts.trace(way, row.times_s, getattr(row, field), n)
                for n, (way, row) in enumerate(shown.items())
                if row is not None
            ]
            plot = charts.chart(lines, "seconds", unit, log_y=durations, durations=durations, height=300)
            found.append(Picture(field, title, caption, plot))
        return found

    def columns(self) -> list[tuple[str, str, str]]:
        return [
            ("way", "CPUs", ""),
            ("served_per_s", "Served", "rate"),
            ("lost", "Lost", "count"),
            ("p99_ns", "p99", "duration"),
            ("p99_low_ns", "low load", "duration"),
            ("p99_middle_ns", "middle", "duration"),
            ("p99_peak_ns", "peak", "duration"),
            ("batch_events", "Batch events", "number"),
            ("batch_cpu", "Batch CPUs", "number"),
            ("left_cpu", "left", "number"),
            ("own_share", "Own CPU", "percent"),
        ]


def _sleep_until(at_ns: int, place: Place) -> bool:
    """False after an interrupt."""
    while (left := at_ns - time.monotonic_ns()) > 0:
        if place.interrupts.count:
            return False
        time.sleep(min(left / 1e9, 0.1))
    return True


def _events(batch: BestEffort, window: Window) -> float:
    """Of the batch job a second; 0 at the edges, where it was not measured."""
    try:
        return batch.between(window.begin_ns, window.end_ns)[0] / (window.end_ns - window.begin_ns) * 1e9
    except ValueError:
        return 0.0


_HELD_NS = 200_000_000
"""Tenants share the cores for so long after what is measured, and end as much later."""
FIGURE = Fig11
