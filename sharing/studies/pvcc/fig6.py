"""Fig. 6: four tenants on one core, requests for one of them: the tick against slices of 100 us, three servers' profiles.

The four are memcached, redis-server or nginx, all always polling (a preloaded shim), like PvCC's tenants. An open-loop client
on another core sends requests to one of them over loopback. `alone` is the same server without the three others.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from pvcc import charts
from pvcc.carried import OfferedRow, carried, rates_not_carried
from pvcc.claims import Claim, Verdict, above, below, under, verdict
from pvcc.client import Client, ClientPlan, Phase, Target
from pvcc.figure import Figure, Picture, Place
from pvcc.other_clients.catalogue import OTHER_CLIENTS
from pvcc.other_clients.other_client import Asking, Load
from pvcc.responses import OWN, WARMUP_NS, Responses, of_other, of_own
from pvcc.servers import PROFILES, Content, Kind, Server, find_server, version_of
from pvcc.shared_core import of_slicers, sharing, slices
from pvcc.site import watching
from pvcc.trials import Arm, exclusion_reason, pairs, values
from windtunnel.api.errors import UserError
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
SINCE = {
    client: "from the intended send time" if client == OWN or OTHER_CLIENTS[client].intended else "from the send time"
    for client in (OWN, *OTHER_CLIENTS)
}
LEAST_S = 2
"""Of a trial with a client of others: they have whole seconds, and memtier_benchmark says false rates of one alone."""
SHARINGS = ("alone", "tick", "sliced")
MEASURED_NS = (1_000_000_000, 3_000_000_000)


class Fig6Row(OfferedRow):
    server: str
    sharing: str
    client: str = OWN
    not_responses: float | None
    """Of the offered requests: unsent, lost, or with a wrong response; null: the client does not count them."""
    p50_ns: int | None
    p99_ns: int | None
    """From the intended send time, or from the real one for a client that has no other; p99_sent_ns from the real one."""
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
    options = ("workloads", "rates", "clients")

    def kinds(self) -> list[Kind]:
        """The chosen workloads; without a choice those that the clients can ask."""
        return [
            kind
            for kind in LOADS
            if (kind in self.points.workloads or not self.points.workloads and self.clients(kind))
        ]

    def clients(self, kind: Kind) -> list[str]:
        return (
            [name for name in self.points.clients if kind in OTHER_CLIENTS[name].kinds]
            if self.points.clients
            else [OWN]
        )

    def rates(self, kind: Kind, client: str) -> Sequence[int | None]:
        """None: the client has no rate."""
        paced = client == OWN or OTHER_CLIENTS[client].paced
        return (self.points.rates or LOADS[kind][0 if self.quick else 1]) if paced else (None,)

    def arms(self) -> list[Arm]:
        for kind in self.kinds():
            find_server(kind)
            if not self.clients(kind):
                raise UserError(
                    f"none of {', '.join(self.points.clients)} can ask {kind}",
                    remedy=f"one of {', '.join(c.name for c in OTHER_CLIENTS.values() if kind in c.kinds)}",
                )
        for name in self.points.clients:
            OTHER_CLIENTS[name].find()
        arms = [
            Arm((("server", kind), ("client", client), ("sharing", how), ("rps", rate)))
            for kind in self.kinds()
            for client in self.clients(kind)
            for rate in self.rates(kind, client)
            for how in SHARINGS
        ]
        if self.points.rates and not any(arm["rps"] for arm in arms):
            raise UserError(f"{' and '.join(self.points.clients)}: no rate can be given", remedy="leave --rates away")
        return arms

    def setting(self) -> dict[str, str]:
        """Versions of servers and clients."""
        servers = {kind: version_of(kind) for kind in self.kinds()}
        clients = {name: OTHER_CLIENTS[name].version_of() for name in self.points.clients}
        return servers | clients | self.slicer_words(SLICE_NS)

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
            client = self._client(arm, place, tenants[0])
            stack.enter_context(client)
            core = stack.enter_context(watching([cpu], lambda: [*(t.worker for t in tenants), *of_slicers(carrier)]))
            carrier.slicers[cpu].read()
            responses = of_own(client) if isinstance(client, Client) else of_other(client)
            seen = carrier.slicers[cpu].read()
            stack.pop_all().close()
        middle, tail = slices(seen)
        return {
            "server": arm["server"],
            "sharing": arm["sharing"],
            "client": arm["client"],
            "offered_per_s": arm["rps"],
            "arrivals": "client" if arm["rps"] else "closed loop",
            "mode": tenants[0].mode,
            "slice_p50_ns": middle,
            "slice_p99_ns": tail,
            "own_share": core.own_share,
            "excluded": exclusion_reason(core.own_share, responses.longest_gap_ns),
            "findings": findings(name, seen, _diagnosed(name, seen, tenants, responses)) if count > 1 else [],
        } | responses.fields()

    def _client(self, arm: Arm, place: Place, server: Server) -> Client | Asking:
        """Once it is there, the server has its keys."""
        measured_ns = MEASURED_NS[0 if self.quick else 1]
        if arm["client"] == OWN:
            return Client(self._plan(arm, place, server, measured_ns), place.directory)
        load = Load(arm["server"], server.port, server.content, max(LEAST_S, measured_ns // 1_000_000_000), arm["rps"])
        return Asking(OTHER_CLIENTS[arm["client"]], load, place.directory, place.site.client_cpu)

    def _plan(self, arm: Arm, place: Place, server: Server, measured_ns: int) -> ClientPlan:
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
                Phase(name="measure", duration_ns=measured_ns, per_s=arm["rps"]),
            ],
        )
        return ClientPlan(cpu=place.site.client_cpu, tenant_cpus=[place.site.tenant_cpu], targets=[target])

    def verdicts(self, rows: Sequence[Fig6Row]) -> list[Verdict]:
        """Rates that were not carried are not compared."""
        rows = carried(rows)
        there = {(_asked(row), row.sharing) for row in rows}
        longer, shorter, limits = [], [], []
        for asked in sorted({_asked(row) for row in rows}):
            has_alone, has_tick, has_sliced = ((asked, how) in there for how in SHARINGS)
            alone, tick, sliced = (_arm(asked, how) for how in SHARINGS)
            what = asked[-1]
            if has_alone and has_tick:
                longer.append(above(f"{what}: p99 of four by the tick over alone", *pairs(rows, alone, tick, _p99)))
            if has_tick and has_sliced:
                shorter.append(below(f"{what}: p99 sliced over the tick", *pairs(rows, tick, sliced, _p99)))
            if has_sliced:
                limits.append(under(f"{what}: p99 sliced over 1 ms", values(rows, sliced, _p99), LIMIT_NS))
        return [verdict(LONGER, longer), verdict(SHORTER, shorter), verdict(BELOW, limits)]

    def notes(self, rows: Sequence[Fig6Row]) -> list[str]:
        return rates_not_carried(rows, lambda row: f"{_server(row)}, {_WORDS[row.sharing]},")

    def pictures(self, rows: Sequence[Fig6Row]) -> list[Picture]:
        rows, found = carried(rows), []
        for server in dict.fromkeys(map(_server, rows)):
            of = [row for row in rows if _server(row) == server and row.offered_per_s]
            if not of:
                continue
            lines = [
                charts.series(_WORDS[how], [r for r in of if r.sharing == how], _any, "offered_per_s", "p99_ns", n)
                for n, how in enumerate(SHARINGS)
            ]
            plot = charts.chart(
                lines, "requests a second, offered", "p99", log_y=True, durations=True, limits=[(LIMIT_NS, "1 ms")]
            )
            caption = f"p99 {SINCE[of[0].client]}. Medians over the blocks, bars from the least to the greatest."
            found.append(Picture(f"p99_{server.replace(' ', '_')}", f"{server}: p99 over load", caption, plot))
        return found

    def columns(self) -> list[tuple[str, str, str]]:
        return [
            ("server", "Server", ""),
            ("client", "Client", ""),
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


def _diagnosed(name: str, seen: SliceReading, tenants: Sequence[Server], responses: Responses) -> list[Diagnosed]:
    """The tenants for the diagnosis; the first one gets the requests."""
    names = {tenant.worker: f"{tenant.name} {number}" for number, tenant in enumerate(tenants, 1)}
    first, *others = of_members(seen, SLICERS[name].raises, names)
    lost = None if responses.offered is None or responses.right is None else responses.offered - responses.right
    return [replace(first, offered=responses.offered, served=responses.right, lost=lost), *others]


def _server(row: Fig6Row) -> str:
    return row.server if row.client == OWN else f"{row.server} by {row.client}"


def _asked(row: Fig6Row) -> tuple[int, str, int, str]:
    """The load of a row, in the order of the page; its last field says it."""
    rate = "in a closed loop" if row.offered_per_s is None else f"at {row.offered_per_s:,} requests a second"
    return list(PROFILES).index(row.server), row.client, row.offered_per_s or 0, f"{_server(row)} {rate}"


def _arm(asked: tuple[int, str, int, str], how: str) -> Callable[[Fig6Row], bool]:
    return lambda row: (_asked(row), row.sharing) == (asked, how)


def _any(row: Fig6Row) -> bool:
    return True


def _p99(row: Fig6Row) -> int | None:
    return row.p99_ns


FIGURE = Fig6
