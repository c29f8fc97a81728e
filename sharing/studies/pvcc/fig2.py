"""Fig. 2: a poll-mode stack against the kernel's, with the same key-value work: responses a second of a core's time.

Three ways to one GET or SET of 32 bytes among 100,000 keys:
  ring       our engine's `kv`, mbufs handed over between the client's and the server's core: no kernel, no copy, no NIC
  af_packet  the same `kv`, the same engine, its frames through the kernel's device layer over a veth pair (needs root)
  memcached  memcached with one worker, through the kernel's TCP over loopback, asked by our client
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from pvcc import charts
from pvcc.claims import Claim, Verdict, above, verdict
from pvcc.client import Client, ClientPlan, Phase, Target
from pvcc.figure import Figure, Picture, Place
from pvcc.servers import Content, Server, find_server, version_of
from pvcc.site import watching
from pvcc.trials import POLL_MODE, Arm, Row, exclusion_reason, pairs
from windtunnel.api.errors import UserError
from windtunnel.api.histograms import percentile
from windtunnel.api.runs import execute, here, load, resolve, summarise
from windtunnel.api.settings import as_sets

CLAIM = Claim("1", "A poll-mode stack answers more requests with a core than the kernel's stack does")
CONTENT = Content(keys=100_000, value=32)
GET_PERCENT = 95
VETH = ("wt-fig2-a", "wt-fig2-b")
OFFERED_PER_S = 400_000.0
"""More than one memcached worker serves, so a request waits on every connection: in effect a closed loop."""
CONNECTIONS = 7
"""Of each thread of the client, as in the paper: 1 to 24 threads have 7 to 168 requests in flight."""
THREADS = ((1, 12), (1, 3, 6, 12, 24))  # quick, full
MOST_BATCH = 32
WARMUP_NS, MEASURED_NS = 200_000_000, 1_000_000_000


class Fig2Row(Row):
    way: str
    waiting: int
    """Requests in flight: the engine's, or connections with one request each."""
    responses_per_s: float
    server_cpu: float
    """CPUs that the server used; a poll-mode worker always one."""
    per_core: float
    """Responses a second of the server's CPU time."""
    p50_ns: int | None
    p99_ns: int | None


class Fig2(Figure):
    name = "fig2"
    title = "Poll-mode stack against the kernel's"
    question = "How many requests does a core serve a second, by the path of its packets?"
    differs = (
        "The paper drives one vCPU over a NIC of 10 Gbit/s from a second machine. Here client and server are two cores of one.",
        "ring hands mbufs over between cores: no NIC's driver, no DMA, no copy. The kernel's ways have no NIC either.",
        (
            "ring and af_packet are the same handler, tables and frames; they differ in the wire alone. memcached does more per request "
            "(text protocol, TCP, LRU, locks) than kv, so not all of the difference is the stack's."
        ),
        (
            "On loopback and veth the kernel does a part of the server's work on the client's core. It is not counted, "
            "so the kernel appears better than it is."
        ),
    )
    row = Fig2Row
    shares = False
    options = ("threads",)

    def arms(self) -> list[Arm]:
        find_server("memcached")
        ways = ["ring", "af_packet", "memcached"] if _has_veth() else ["ring", "memcached"]
        threads = self.points.threads or THREADS[0 if self.quick else 1]
        return [Arm((("way", way), ("waiting", CONNECTIONS * n))) for way in ways for n in threads]

    def setting(self) -> dict[str, str]:
        absent = {} if _has_veth() else {"af_packet": "left out: a veth pair needs root and iproute2"}
        return {"memcached": version_of("memcached")} | absent

    def run(self, arm: Arm, place: Place) -> dict[str, Any]:
        finished = _memcached if arm["way"] == "memcached" else _engine
        return {"way": arm["way"], "waiting": arm["waiting"], "arrivals": "closed loop"} | finished(arm, place)

    def verdicts(self, rows: Sequence[Fig2Row]) -> list[Verdict]:
        findings = []
        for other in ("af_packet", "memcached"):
            for n in sorted({row.waiting for row in rows if row.way == other}):
                a, b = pairs(rows, _arm(other, n), _arm("ring", n), lambda r: r.per_core)
                findings.append(above(f"kv on a ring over {_WORDS[other]}, {n} waiting", a, b))
        return [verdict(CLAIM, findings)]

    def pictures(self, rows: Sequence[Fig2Row]) -> list[Picture]:
        ways = list(dict.fromkeys(row.way for row in rows))
        ways.sort(key=list(_WORDS).index)
        lines = [
            charts.series(_WORDS[way], [r for r in rows if r.way == way], lambda r: True, "waiting", "per_core", n)
            for n, way in enumerate(ways)
        ]
        plot = charts.chart(lines, "requests in flight", "responses a second of a core", log_x=True, log_y=True)
        caption = "Medians over the blocks, bars from the least to the greatest. Both axes are logarithmic."
        return [Picture("per_core", "Responses a second of the server's CPU time", caption, plot)]

    def columns(self) -> list[tuple[str, str, str]]:
        return [
            ("way", "Way", ""),
            ("waiting", "In flight", "count"),
            ("responses_per_s", "Responses", "rate"),
            ("server_cpu", "CPUs", "number"),
            ("per_core", "of a core", "rate"),
            ("p50_ns", "p50", "duration"),
            ("p99_ns", "p99", "duration"),
            ("own_share", "Own CPU", "percent"),
        ]


_WORDS = {
    "ring": "kv, poll mode (ring)",
    "af_packet": "kv, kernel's device layer",
    "memcached": "memcached, kernel TCP",
}
FIGURE = Fig2


def _arm(way: str, waiting: int) -> Callable[[Fig2Row], bool]:
    return lambda row: (row.way, row.waiting) == (way, waiting)


def _engine(arm: Arm, place: Place) -> dict[str, Any]:
    file = place.directory / "kv.toml"
    file.write_text((files(__package__) / "kv.toml").read_text(encoding="utf-8"), encoding="utf-8")
    sets: dict[str, Any] = {
        "client.cores": [place.site.client_cpu],
        "server.cores": [place.site.tenant_cpu],
        "client.inflight": arm["waiting"],
        "client.batch.app_tx": min(arm["waiting"], MOST_BATCH),
    }
    with contextlib.ExitStack() as stack:
        if arm["way"] == "af_packet":
            stack.enter_context(_veth())
            sets |= {"wire.kind": "af_packet", "client.interface": VETH[0], "server.interface": VETH[1]}
        spec = resolve(load(file, as_sets(sets)), here())
        run = execute(spec, place.directory / "run", place.interrupts).kept_run()
    if not run.record.verdict.valid:
        raise UserError("; ".join(run.record.verdict.reasons))
    summary = summarise(run)
    if not summary.measured_s:
        raise UserError("the run has no measured windows")
    [workload] = summary.workloads
    per_s = workload.responses / summary.measured_s
    [preempted] = [w.preempted_share for w in summary.workers if w.cpu == place.site.tenant_cpu]
    own = None if preempted is None else max(0.0, 1 - preempted)  # the kernel books a wait when it is over
    return {
        "responses_per_s": per_s,
        "server_cpu": 1.0 if own is None else own,
        "per_core": per_s / (own or 1.0),
        "p50_ns": workload.latency.p50,
        "p99_ns": workload.latency.p99,
        "mode": POLL_MODE,
        "own_share": own,
        "excluded": exclusion_reason(own),
    }


def _memcached(arm: Arm, place: Place) -> dict[str, Any]:
    site = place.site
    with Server("memcached", place.directory / "s", cpu=site.tenant_cpu, polling=False, content=CONTENT) as server:
        target = Target(
            name="memcached",
            protocol="memcached",
            port=server.port,
            connections=arm["waiting"],
            inflight=1,
            keys=CONTENT.keys,
            value=CONTENT.value,
            get_percent=GET_PERCENT,
            seed=place.seed,
            phases=[
                Phase(name="warmup", duration_ns=WARMUP_NS, per_s=OFFERED_PER_S, poisson=False),
                Phase(name="measure", duration_ns=MEASURED_NS, per_s=OFFERED_PER_S, poisson=False),
            ],
        )
        plan = ClientPlan(cpu=site.client_cpu, tenant_cpus=[site.tenant_cpu], targets=[target])
        with (
            Client(plan, place.directory) as client,
            watching([site.tenant_cpu], lambda: [server.worker]) as core,
        ):
            result = client.result()
    phases = result.targets[0].phases
    responses = sum(phase.right for phase in phases)
    seconds = sum(phase.duration_ns for phase in phases) / 1e9
    used = core.own_ns / 1e9 / seconds
    measured = result.targets[0].phase("measure")
    return {
        "responses_per_s": measured.responses_per_s,
        "server_cpu": used,
        "per_core": responses / (core.own_ns / 1e9),
        "p50_ns": percentile(measured.latency_sent, 50),
        "p99_ns": percentile(measured.latency_sent, 99),
        "mode": server.mode,
        "own_share": core.own_share,
        "excluded": exclusion_reason(core.own_share, result.longest_gap_ns),
    }


def _has_veth() -> bool:
    return os.geteuid() == 0 and shutil.which("ip", path=_PATH) is not None


_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _ip(*words: str, check: bool = True) -> None:
    program = shutil.which("ip", path=_PATH)
    if program is None:
        raise UserError("the program ip is missing", remedy="install iproute2")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise UserError(f"ip {' '.join(words)}: {done.stderr.strip()}")


@contextlib.contextmanager
def _veth() -> Iterator[None]:
    """A pair of interfaces without addresses. One that a killed figure left is removed first."""
    _ip("link", "delete", VETH[0], check=False)
    _ip("link", "add", VETH[0], "type", "veth", "peer", "name", VETH[1])
    try:
        for interface in VETH:
            with contextlib.suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6", "w") as off:
                off.write("1")
            _ip("link", "set", interface, "up")
        yield
    finally:
        _ip("link", "delete", VETH[0], check=False)
