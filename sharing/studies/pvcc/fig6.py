"""Fig. 6: four tenants on one core, requests for one of them: the tick against slices of 100 us, three servers' profiles.

The four are memcached, redis-server or nginx, all always polling (a preloaded shim), like PvCC's tenants. An open-loop client
on another core sends requests to one of them over loopback. `alone` is the same server without the three others.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from pvcc import charts
from pvcc.carried import OfferedRow, carried, rates_not_carried, why_not_carried
from pvcc.claims import Claim, Verdict, above, below, under, verdict
from pvcc.client import WINDOW_NS, Client, ClientPlan, ClientResult, Phase, Target
from pvcc.figure import Figure, Picture, Place
from pvcc.servers import Content, Kind, Server, find_server, version_of
from pvcc.shared_core import of_slicers, sharing, slices
from pvcc.site import watching
from pvcc.trials import Arm, exclusion_reason, pairs, values
from windtunnel.api.histograms import percentile
from windtunnel_sharing.diagnose import SharedTenant as Diagnosed
from windtunnel_sharing.host_diagnosis import findings, of_members
from windtunnel_sharing.slicers import SLICERS, SliceReading

TENANTS = 4
SLICE_NS = 100_000
LIMIT_NS = 1_000_000
LONGER = Claim("2", "In a consolidated setup the serving latency of systems that poll increases")
SHORTER = Claim("3", "The serving latency can be decreased by a time slice of microseconds")
BELOW = Claim("Fig. 6", "With 100 us the p99 lies below 1 ms")
LOADS: dict[Kind, tuple[tuple[int, ...], tuple[int, ...]]] = {  # requests a second: quick, full
    "memcached": ((1_000, 5_000), (5_000, 10_000, 20_000, 40_000, 60_000, 80_000, 100_000)),
    "nginx": ((1_000, 3_000), (2_000, 5_000, 10_000, 20_000, 30_000, 40_000, 50_000)),
    "redis": ((1_000, 3_000), (100, 500, 1_000, 2_000, 3_000)),
}
"""The full ones go from the paper's least rate to its greatest."""
SHARINGS = ("alone", "tick", "sliced")
WARMUP_NS = 200_000_000
MEASURED_NS = (1_000_000_000, 3_000_000_000)


class Fig6Row(OfferedRow):
    server: str
    sharing: str
    not_responses: float
    """Of the offered requests: unsent, lost, or with a wrong response."""
    p50_ns: int | None
    p99_ns: int | None
    """From the intended send time; p99_sent_ns from the real one."""
    p99_sent_ns: int | None
    slice_p50_ns: int | None
    slice_p99_ns: int | None


class Fig6(Figure):
    name = "fig6"
    title = "Four tenants on one core"
    question = "How much do three tenants that only poll add to the tail latency of a fourth, and how much do slices of 100 us remove?"
    differs = (
        (
            "The paper's tenants are VMs under Xen with a network stack in each; here they are unmodified processes made to poll by a shim, and the "
            "kernel's TCP over loopback is in every latency."
        ),
        "The paper's baselines are Credit (1 ms) and Credit2. Here it is this kernel's own scheduler, whose slice ends at the tick.",
        (
            "Client and tenants use two cores of one machine. A quarter of a core carries the smaller rates; of the others "
            "stands here that they were not carried, and what was served, and no percentile."
        ),
    )
    row = Fig6Row
    options = ("workloads", "rates")

    def kinds(self) -> list[Kind]:
        return [kind for kind in LOADS if not self.points.workloads or kind in self.points.workloads]

    def arms(self) -> list[Arm]:
        for kind in self.kinds():
            find_server(kind)
        return [
            Arm((("server", kind), ("sharing", how), ("rps", load)))
            for kind in self.kinds()
            for load in self.points.rates or LOADS[kind][0 if self.quick else 1]
            for how in SHARINGS
        ]

    def setting(self) -> dict[str, str]:
        return {kind: version_of(kind) for kind in self.kinds()} | self.slicer_words(SLICE_NS)

    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        cpu = place.site.tenant_cpu
        count = 1 if arm["sharing"] == "alone" else TENANTS
        name = self.slicer if arm["sharing"] == "sliced" else "tick"
        with ExitStack() as stack:
            tenants = [
                stack.enter_context(
                    Server(arm["server"], place.directory / f"tenant-{n}", cpu=cpu, polling=True, content=Content())
                )
                for n in range(count)
            ]
            carrier = stack.enter_context(
                sharing(
                    place.sharing_journal, name, (cpu, place.site.client_cpu), SLICE_NS, [t.worker for t in tenants]
                )
            )
            client = stack.enter_context(Client(self._plan(arm, place, tenants[0]), place.directory))
            core = stack.enter_context(watching([cpu], lambda: [*(t.worker for t in tenants), *of_slicers(carrier)]))
            carrier.slicers[cpu].read()
            result = client.result()
            seen = carrier.slicers[cpu].read()
            stack.pop_all().close()
        middle, tail = slices(seen)
        return {
            "server": arm["server"],
            "sharing": arm["sharing"],
            "offered_per_s": arm["rps"],
            "arrivals": "client",
            "mode": tenants[0].mode,
            "slice_p50_ns": middle,
            "slice_p99_ns": tail,
            "own_share": core.own_share,
            "excluded": exclusion_reason(core.own_share, result.longest_gap_ns),
            "findings": findings(name, seen, _diagnosed(name, seen, tenants, result)) if count > 1 else [],
        } | _measured(result)

    def _plan(self, arm: Arm, place: Place, server: Server) -> ClientPlan:
        measured = MEASURED_NS[0 if self.quick else 1]
        target = Target(
            name=server.name,
            protocol=server.profile.protocol,
            port=server.port,
            keys=server.content.keys,
            value=server.content.value,
            load_keys=arm["server"] != "nginx",
            seed=place.seed,
            phases=[
                Phase(name="warmup", duration_ns=WARMUP_NS, per_s=arm["rps"]),
                Phase(name="measure", duration_ns=measured, per_s=arm["rps"]),
            ],
        )
        return ClientPlan(cpu=place.site.client_cpu, tenant_cpus=[place.site.tenant_cpu], targets=[target])

    def verdicts(self, rows: Sequence[Fig6Row]) -> list[Verdict]:
        """Rates that were not carried are not compared."""
        rows = carried(rows)
        there = {(row.server, row.sharing, row.offered_per_s) for row in rows}
        longer, shorter, limits = [], [], []
        for kind in LOADS:
            for load in sorted({row.offered_per_s for row in rows if row.server == kind}):
                what = f"{kind} at {load:,} requests a second"
                has_alone, has_tick, has_sliced = ((kind, how, load) in there for how in SHARINGS)
                alone, tick, sliced = (_arm(kind, how, load) for how in SHARINGS)
                if has_alone and has_tick:
                    longer.append(above(f"{what}: p99 of four by the tick over alone", *pairs(rows, alone, tick, _p99)))
                if has_tick and has_sliced:
                    shorter.append(below(f"{what}: p99 sliced over the tick", *pairs(rows, tick, sliced, _p99)))
                if has_sliced:
                    limits.append(under(f"{what}: p99 sliced over 1 ms", values(rows, sliced, _p99), LIMIT_NS))
        return [verdict(LONGER, longer), verdict(SHORTER, shorter), verdict(BELOW, limits)]

    def notes(self, rows: Sequence[Fig6Row]) -> list[str]:
        return rates_not_carried(rows, lambda row: f"{row.server}, {_WORDS[row.sharing]},")

    def pictures(self, rows: Sequence[Fig6Row]) -> list[Picture]:
        rows, found = carried(rows), []
        for kind in LOADS:
            of = [row for row in rows if row.server == kind]
            if not of:
                continue
            lines = [
                charts.series(_WORDS[how], [r for r in of if r.sharing == how], _any, "offered_per_s", "p99_ns", n)
                for n, how in enumerate(SHARINGS)
            ]
            plot = charts.chart(
                lines, "requests a second, offered", "p99", log_y=True, durations=True, limits=[(LIMIT_NS, "1 ms")]
            )
            caption = "p99 from the intended send time. Medians over the blocks, bars from the least to the greatest."
            found.append(Picture(f"p99_{kind}", f"{kind}: p99 over load", caption, plot))
        return found

    def columns(self) -> list[tuple[str, str, str]]:
        return [
            ("server", "Server", ""),
            ("sharing", "Core", ""),
            ("offered_per_s", "Offered", "count"),
            ("responses_per_s", "Responses", "rate"),
            ("not_responses", "No response", "percent"),
            ("p50_ns", "p50", "duration"),
            ("p99_ns", "p99", "duration"),
            ("p99_sent_ns", "p99 from send", "duration"),
            ("slice_p50_ns", "Slice p50", "duration"),
            ("own_share", "Own CPU", "percent"),
        ]


_WORDS = {"alone": "alone on the core", "tick": "four, the kernel's tick", "sliced": "four, slices of 100 us"}


def _diagnosed(name: str, seen: SliceReading, tenants: Sequence[Server], result: ClientResult) -> list[Diagnosed]:
    """The tenants for the diagnosis; the first one gets the requests."""
    phase = result.targets[0].phase("measure")
    names = {tenant.worker: f"{tenant.name} {number}" for number, tenant in enumerate(tenants, 1)}
    first, *others = of_members(seen, SLICERS[name].raises, names)
    return [replace(first, offered=phase.offered, served=phase.right, lost=phase.offered - phase.right), *others]


def _arm(kind: Kind, how: str, load: int) -> Callable[[Fig6Row], bool]:
    return lambda row: (row.server, row.sharing, row.offered_per_s) == (kind, how, load)


def _any(row: Fig6Row) -> bool:
    return True


def _p99(row: Fig6Row) -> int | None:
    return row.p99_ns


def _measured(result: ClientResult) -> dict[str, Any]:
    [target] = result.targets
    phase = target.phase("measure")
    not_carried = why_not_carried(target, WARMUP_NS, WINDOW_NS)
    return {
        "responses_per_s": phase.responses_per_s,
        "not_responses": 1 - phase.right / phase.offered if phase.offered else 0.0,
        "not_carried": not_carried,
        "p50_ns": None if not_carried else percentile(phase.latency, 50),
        "p99_ns": None if not_carried else percentile(phase.latency, 99),
        "p99_sent_ns": None if not_carried else percentile(phase.latency_sent, 99),
    }


FIGURE = Fig6
