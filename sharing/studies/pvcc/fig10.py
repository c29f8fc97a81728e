"""Fig. 10: tenants on one core by slices of 50 to 1000 us: throughput against p99.

Tenants are `windtunnel-tenant`: always polling, with Poisson arrivals of their own at a share of the capacity of an unshared core. So any
number of them fits on one core, and no client needs another.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from pvcc import charts
from pvcc.claims import Claim, Verdict, below, verdict
from pvcc.figure import Figure, Picture, Place
from pvcc.shared_core import of_slicers, sharing, slices
from pvcc.site import watching
from pvcc.trials import POLL_MODE, Arm, Row, exclusion_reason, pairs, spread
from windtunnel.api.errors import UserError
from windtunnel.api.histograms import merge, percentile
from windtunnel_sharing.host_diagnosis import findings, of_polling
from windtunnel_sharing.tenant import Phase, Tenant, TenantPlan, TenantWindow

CLAIM = Claim("4", "Short time slices trade maximum throughput for low latency")
SLICES_US = (50, 100, 500, 1000)
TENANTS = ((4, 8), (1, 2, 4, 8, 16, 32))  # quick, full
LOADS = ((0.2, 1.2), (0.1, 0.2, 0.4, 0.6, 0.8, 1.2))
"""Offered, as shares of the capacity."""
SERVICE_NS = 5_000
CAPACITY_PER_S = 1e9 / SERVICE_NS
"""Of an unshared core without any cost but the service."""
SLOS_NS = ((500_000, "SLO 500 us"), (1_000_000, "SLO 1 ms"), (10_000_000, "SLO 10 ms"))
LEAD_NS, WARMUP_NS = 150_000_000, 200_000_000
MEASURED_NS = (1_000_000_000, 2_000_000_000)


class Fig10Row(Row):
    tenants: int
    slice_us: int
    load: float
    """Offered, as a share of the capacity of an unshared core."""
    offered_per_s: float
    served_per_s: float
    lost: float
    """Share of the offered requests: no room in a tenant's queue."""
    p50_ns: int | None
    p99_ns: int | None
    """From the intended arrival to the end of the service; all tenants together."""
    slice_p50_ns: int | None
    slice_p99_ns: int | None


class Fig10(Figure):
    name = "fig10"
    title = "Slices, tenants, throughput and p99"
    question = "How much throughput do short slices cost, and how much do they lower p99, by the number of tenants?"
    differs = (
        (
            "The paper's tenants are memcached in VMs behind a NIC. Here tenants make their own arrivals, and each request costs 5 us of CPU time: "
            "no network stack, no wake-up, no cache misses. A slice costs only its switch."
        ),
        "The peak is the rate served at the greatest offered load, if that is above an unshared core's capacity.",
        "Many tenants on one core need no second core. Two cores cannot show a client with 32 servers.",
    )
    row = Fig10Row
    options = ("vms", "tslices", "rates")

    def arms(self) -> list[Arm]:
        size = 0 if self.quick else 1
        return [
            Arm((("tenants", n), ("slice_us", us), ("load", load)))
            for n in self.points.vms or TENANTS[size]
            for us in self.points.tslices or SLICES_US
            for load in [rate * n / CAPACITY_PER_S for rate in self.points.rates] or LOADS[size]
        ]

    def setting(self) -> dict[str, str]:
        return {
            "tenants": f"windtunnel-tenant, always polling, {SERVICE_NS / 1000:g} us a request"
        } | self.slicer_words()

    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        cpu, count = place.site.tenant_cpu, arm["tenants"]
        measured = MEASURED_NS[0 if self.quick else 1]
        start = time.monotonic_ns() + LEAD_NS + count * 10_000_000
        rate = arm["load"] * CAPACITY_PER_S / count
        with ExitStack() as stack:
            tenants = [
                stack.enter_context(
                    Tenant(
                        TenantPlan(
                            phases=[Phase(rate=rate)],
                            seed=place.seed * 100 + n,
                            service_ns=SERVICE_NS,
                            queue=65536,
                            start_ns=start,
                            warmup_ns=WARMUP_NS,
                            duration_ns=measured,
                            window_ns=measured,
                            cpu=cpu,
                        )
                    )
                )
                for n in range(count)
            ]
            carrier = stack.enter_context(
                sharing(place.sharing_journal, self.slicer, (cpu,), arm["slice_us"] * 1000, [t.tid for t in tenants])
            )
            slicer = carrier.slicers[cpu]
            time.sleep(max(0, start + WARMUP_NS - time.monotonic_ns()) / 1e9)
            slicer.read()
            with watching([cpu], lambda: [*(t.tid for t in tenants), *of_slicers(carrier)]) as core:
                time.sleep(max(0, start + WARMUP_NS + measured - time.monotonic_ns() - _EARLY_NS) / 1e9)
            seen = slicer.read()
            results = [tenant.result()[1] for tenant in tenants]
        middle, tail = slices(seen)
        return {
            "tenants": count,
            "slice_us": arm["slice_us"],
            "load": arm["load"],
            "arrivals": "inside",
            "mode": POLL_MODE,
            "slice_p50_ns": middle,
            "slice_p99_ns": tail,
            "own_share": core.own_share,
            "excluded": exclusion_reason(core.own_share),
            "findings": findings(self.slicer, seen, of_polling(self.slicer, results, SERVICE_NS)),
        } | _measured(results)

    def verdicts(self, rows: Sequence[Fig10Row]) -> list[Verdict]:
        """The claim has two halves: without a load above the capacity, or one below it, one of them is not shown."""
        lengths = sorted({row.slice_us for row in rows})
        if len(lengths) < 2:
            return [verdict(CLAIM, [])]
        findings, short, long = [], lengths[0], lengths[-1]
        for n in sorted({row.tenants for row in rows if row.tenants > 1}):
            loads = [row.load for row in rows if row.tenants == n]
            low, high = min(loads), max(loads)
            peaks = pairs(
                rows, _arm(n, long, high), _arm(n, short, high), lambda r: r.served_per_s if r.load > 1 else None
            )
            tails = pairs(rows, _arm(n, long, low), _arm(n, short, low), lambda r: r.p99_ns if r.load < 1 else None)
            findings.append(below(f"{n} tenants: peak at {short} us over that at {long} us", *peaks))
            findings.append(below(f"{n} tenants: p99 at {short} us over that at {long} us, {low:.0%} load", *tails))
        return [verdict(CLAIM, findings)]

    def pictures(self, rows: Sequence[Fig10Row]) -> list[Picture]:
        found = []
        counts = sorted({row.tenants for row in rows})
        lengths = sorted({row.slice_us for row in rows})
        for n in counts:
            lines = [
                self._curve([row for row in rows if (row.tenants, row.slice_us) == (n, us)], us, i)
                for i, us in enumerate(lengths)
            ]
            plot = charts.chart(lines, "requests served a second", "p99", log_y=True, durations=True, limits=SLOS_NS)
            caption = (
                "Each point is a load. Above the capacity it is the peak, with the p99 of full queues. "
                "Medians over the blocks."
            )
            found.append(Picture(f"tenants_{n}", f"{n} tenant{'s' if n > 1 else ''}", caption, plot))
        peak = [
            row for row in rows if row.load > 1 and row.load == max(r.load for r in rows if r.tenants == row.tenants)
        ]
        lines = [
            charts.series(
                f"{n} tenants",
                [row for row in peak if row.tenants == n],
                lambda row: True,
                "slice_us",
                "served_per_s",
                i,
                charts.DASHES[i // 4],
            )
            for i, n in enumerate(counts)
        ]
        plot = charts.chart(lines, "slice, us", "requests served a second at the peak", log_x=True)
        found.append(Picture("peaks", "Peak over slice", "The throughput that a slice costs.", plot))
        return found

    def _curve(self, of: Sequence[Fig10Row], us: int, position: int) -> dict[str, Any]:
        points = []
        for load in sorted({row.load for row in of}):
            chosen = [
                (row.p99_ns, row.served_per_s)
                for row in of
                if row.load == load and row.excluded is None and row.p99_ns is not None
            ]
            tail = spread([p99 for p99, _ in chosen])
            served = spread([rate for _, rate in chosen])
            if tail and served:
                points.append((served[0], *tail))
        return charts.line(f"{us} us", points, position)

    def columns(self) -> list[tuple[str, str, str]]:
        return [
            ("tenants", "Tenants", "count"),
            ("slice_us", "Slice, us", "count"),
            ("load", "Load", "percent"),
            ("served_per_s", "Served", "rate"),
            ("lost", "Lost", "percent"),
            ("p50_ns", "p50", "duration"),
            ("p99_ns", "p99", "duration"),
            ("slice_p50_ns", "Slice p50", "duration"),
            ("slice_p99_ns", "p99", "duration"),
            ("own_share", "Own CPU", "percent"),
        ]


def _arm(tenants: int, us: int, load: float) -> Callable[[Fig10Row], bool]:
    return lambda row: (row.tenants, row.slice_us, row.load) == (tenants, us, load)


_EARLY_NS = 20_000_000
"""The last reading of the core is this long before the first tenant ends."""


def _measured(results: Sequence[TenantWindow]) -> dict[str, Any]:
    late = sum(r.end_ns == 0 for r in results)
    if late:
        raise UserError(
            f"{late} of {len(results)} tenants did not get the core before the measured time was over",
            remedy="end what else runs on the core, and start again",
        )
    seconds = max(r.end_ns for r in results) - min(r.begin_ns for r in results)
    offered = sum(r.offered for r in results)
    latency = merge(r.latency for r in results)
    return {
        "offered_per_s": offered / seconds * 1e9,
        "served_per_s": sum(r.served for r in results) / seconds * 1e9,
        "lost": sum(r.lost for r in results) / offered if offered else 0.0,
        "p50_ns": percentile(latency, 50),
        "p99_ns": percentile(latency, 99),
    }


FIGURE = Fig10
