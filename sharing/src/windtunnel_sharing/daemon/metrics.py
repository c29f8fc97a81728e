"""The daemon's metrics as OpenMetrics families. Histograms and counters add up from its start; gauges are of the last interval."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from windtunnel.api.http import NS, Times
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.pools.plan import entitled
from windtunnel_sharing.slicers import SliceReading

TIMES = {
    "slice": "Time that a tenant ran without a switch",
    "gap": "Time between two slices of a tenant",
    "late": "Real minus intended wake-up of the slicer",
}
"""Histograms of SliceReading, and their meaning."""
TOLD = {
    "latency": ("Response minus intended send time, as the tenant reports", {"0.5": "p50_ns", "0.99": "p99_ns"}),
    "wait_to_serve": (
        "From arrival to the start of the service, as the tenant reports",
        {"0.5": "wait_p50_ns", "0.99": "wait_p99_ns"},
    ),
}
"""Quantiles that tenants report."""
COUNTS = {
    "strays": "Times that a thread ran on other CPUs than its own",
    "confined": "Threads that strayed again and were confined to their CPUs",
    "pvcc_foreign": "Connections to PvCC's protocol that sent HTTP or TLS and were closed",
}


class Metrics(Collector):
    """Collected by the daemon's thread."""

    def __init__(self, sharing: Sharing):
        self._sharing = sharing
        self._times: dict[str, dict[str, Times]] = {name: defaultdict(Times) for name in TIMES}
        self._sums: dict[str, Counter[str]] = {"kicks": Counter(), "ran": Counter(), "waited": Counter()}
        self._steps: Counter[str] = Counter()
        self._counts = dict.fromkeys(COUNTS, 0)
        self._readings: Mapping[int, SliceReading] = {}
        self._found: Mapping[int, Sequence[str]] = {}
        self._families: list[Metric] = []
        self._latest: bytes | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """The exposition, as of now."""
        self.refresh()
        return self.latest()

    def latest(self) -> bytes:
        """The exposition as of the last interval. It is made once, however often it is asked for."""
        if self._latest is None:
            self._latest = generate_latest(self._registry)  # type: ignore[no-untyped-call]  # it has no types
        return self._latest

    def collect(self) -> Iterator[Metric]:
        yield from self._families

    def refresh(self) -> None:
        """Builds the families. Former tenants are removed, so the list does not grow without limit."""
        for counts in (self._sums["ran"], self._sums["waited"], self._steps):
            for name in counts.keys() - self._sharing.tenants.keys():
                del counts[name]
        self._families = [*self._pools(), *self._tenants(), *self._slices(), *self._counters()]
        self._latest = None

    def read(self, readings: Mapping[int, SliceReading], found: Mapping[int, Sequence[str]]) -> None:
        """An interval of the slicers, and the codes of its findings, by CPU."""
        owners = {tid: tenant.name for tenant in self._sharing.tenants.values() for tid in tenant.tids}
        for cpu, seen in readings.items():
            self._sums["kicks"][str(cpu)] += seen.kicks
            for name in TIMES:
                if (histogram := getattr(seen, name)) is not None:
                    self._times[name][str(cpu)].add(histogram)
            for member in seen.members:
                if member.tid in owners:
                    self._sums["ran"][owners[member.tid]] += member.ran_ns
                    self._sums["waited"][owners[member.tid]] += member.waited_ns or 0
        self._readings, self._found = readings, found
        self.refresh()

    def scaled(self, tenant: str) -> None:
        self._steps[tenant] += 1

    def count(self, what: str) -> None:
        """One more, of COUNTS."""
        self._counts[what] += 1

    def _pools(self) -> Iterator[Metric]:
        plan = self._sharing.plan
        cpus = GaugeMetricFamily("windtunnel_share_cpus", "CPUs of the pool", labels=("pool",))
        cpus.add_metric(("ls",), len(plan.ls))
        cpus.add_metric(("be",), len(plan.be))
        loads = GaugeMetricFamily(
            "windtunnel_share_load_weight", "Weight on a CPU of ls; 256 is one CPU", labels=("cpu",)
        )
        for cpu, load in plan.loads().items():
            loads.add_metric((str(cpu),), load)
        yield from (cpus, loads)
        yield GaugeMetricFamily(
            "windtunnel_share_carried_seconds",
            "Time that the last change took",
            self._sharing.carried_ns / NS,
            unit="seconds",
        )

    def _tenants(self) -> Iterator[Metric]:
        plan, tenants = self._sharing.plan, self._sharing.tenants.values()
        loads = plan.loads()
        weight = GaugeMetricFamily(
            "windtunnel_share_weight", "Weight of the tenant; 256 is one CPU", labels=("tenant", "pool")
        )
        due = GaugeMetricFamily(
            "windtunnel_share_entitled_cpus", "CPUs while all tenants have work", labels=("tenant",)
        )
        had = GaugeMetricFamily(
            "windtunnel_share_had_cpus", "CPUs that it had in the last interval", labels=("tenant",)
        )
        used = self._used()
        for tenant in tenants:
            weight.add_metric((tenant.name, "be" if tenant.wish.parked else tenant.wish.pool), tenant.wish.weight)
            due.add_metric((tenant.name,), entitled(plan, loads, tenant.name))
            if tenant.name in used:
                had.add_metric((tenant.name,), used[tenant.name])
        yield from (weight, due, had)
        for name, (about, quantiles) in TOLD.items():
            family = GaugeMetricFamily(
                f"windtunnel_share_{name}_seconds", about, labels=("tenant", "quantile"), unit="seconds"
            )
            for tenant in tenants:
                for quantile, key in quantiles.items():
                    if tenant.told is not None and (value := getattr(tenant.told, key)) is not None:
                        family.add_metric((tenant.name, quantile), value / NS)
            yield family

    def _used(self) -> dict[str, float]:
        ran = {
            m.tid: m.ran_ns / seen.interval_ns
            for seen in self._readings.values()
            for m in seen.members
            if seen.interval_ns
        }
        return {
            tenant.name: sum(ran.get(tid, 0.0) for tid in tenant.tids)
            for tenant in self._sharing.tenants.values()
            if any(tid in ran for tid in tenant.tids)
        }

    def _slices(self) -> Iterator[Metric]:
        for name, about in TIMES.items():
            family = HistogramMetricFamily(f"windtunnel_share_{name}_seconds", about, labels=("cpu",), unit="seconds")
            for label, times in self._times[name].items():
                family.add_metric((label,), times.buckets(), times.sum_ns / NS)
            yield family
        for name, about in (
            ("own_share", "Part of the core's time in which tenants ran"),
            ("others_share", "Part in which other threads ran, the slicer included"),
        ):
            gauge = GaugeMetricFamily(f"windtunnel_share_{name}_ratio", about, labels=("cpu",), unit="ratio")
            for cpu, seen in self._readings.items():
                if (value := getattr(seen, name)) is not None:
                    gauge.add_metric((str(cpu),), value)
            yield gauge
        findings = GaugeMetricFamily(
            "windtunnel_share_finding", "1 for each finding of `windtunnel share list`", labels=("cpu", "finding")
        )
        for cpu, codes in self._found.items():
            for code in codes:
                findings.add_metric((str(cpu), code), 1)
        yield findings

    def _counters(self) -> Iterator[Metric]:
        for name, key, about, label, scale in (
            ("kicks", "kicks", "Times that the slicer woke", "cpu", 1),
            ("ran_seconds", "ran", "Time that the tenant had in ls", "tenant", NS),
            ("waited_seconds", "waited", "Time in which the tenant was runnable in ls and did not run", "tenant", NS),
        ):
            family = CounterMetricFamily(f"windtunnel_share_{name}", about, labels=(label,))
            for who, value in self._sums[key].items():
                family.add_metric((who,), value / scale)
            yield family
        steps = CounterMetricFamily("windtunnel_share_scaled", "Steps of the autoscaler", labels=("tenant",))
        for tenant, count in self._steps.items():
            steps.add_metric((tenant,), count)
        yield steps
        for what, count in self._counts.items():
            yield CounterMetricFamily(f"windtunnel_share_{what}", COUNTS[what], count)
        yield CounterMetricFamily("windtunnel_share_events", "Events so far", self._sharing.events.last)
