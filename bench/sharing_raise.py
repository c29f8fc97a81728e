"""How much does a memcached's p99 fall when its weight is raised, by PvCC's text protocol and over HTTP?

`share serve` with the kicker, slices of 1 ms, and four memcached servers of the system's package on the last CPU, always polling (preloaded shim); the client and
the daemon are on the first. One of them gets 1,000 requests a second, Poisson, open loop; the others poll. Its p99 from intended time at
weight 20 of 80, at 160 of 220 after `SET 1 160`, again at 20, and at 160 after a PATCH; what the metrics then say of its weight and of
the CPU that it had. A round is all four. Requests without a right response are counted over the whole.
"""

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from harness.main import main
from harness.results import Result
from harness.serving import serving, set_weights
from harness.session import Session
from harness.statistics import Goal, extent, judge

from windtunnel.errors import UserError
from windtunnel.runs.histogram import percentile

sys.path.append(str(Path(__file__).resolve().parents[1] / "sharing" / "studies"))  # the figures' servers and client
from pvcc.client import Client as Load
from pvcc.client import ClientPlan, Phase, Target
from pvcc.servers import Server

SERVERS, LOW, HIGH = 4, 20, 160
SLICE = "1ms"
"""Long, so that a tenant's turns are what its p99 is made of: client and daemon share the other CPU, and delay each other by a
millisecond in every hundred."""
ROUNDS, LOAD_S, PER_S = 5, 4.0, 1000.0
SETTLE_S = 1.2
"""Metrics of what a tenant had are of the last whole second."""


def measure(session: Session) -> list[Result]:
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    directory = session.directory / "raise"
    directory.mkdir()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(Server("memcached", directory / name, cpu=last, polling=True, name=name))
            for name in (f"m{n}" for n in range(1, SERVERS + 1))
        ]
        tables = "".join(
            f'[[tenant]]\nname = "{one.name}"\npid = {one.pid}\nthreads = "mc-worker*"\nweight = {LOW}\n'
            for one in servers
        )
        _, text, client = stack.enter_context(serving(directory, tables, be_cpus=1, slice_=SLICE))

        def http(weight: int) -> None:
            client.ask("PATCH", "/v1/tenants/m1", {"weight": weight})

        ways = {
            "low": lambda: http(LOW),
            "text": lambda: set_weights(text, [f"SET 1 {HIGH}"]),
            "low again": lambda: set_weights(text, [f"SET 1 {LOW}"]),
            "http": lambda: http(HIGH),
        }
        p99s: dict[str, list[float]] = {name: [] for name in ways}
        had: dict[str, list[float]] = {name: [] for name in ways}
        failed = offered = 0
        for _ in range(ROUNDS):
            for name, ask in ways.items():
                ask()
                phase = _load(servers[0], first, directory)
                worst = percentile(phase.latency, 99)
                if worst is None:
                    raise UserError("too few requests for p99")
                p99s[name].append(worst / 1000)
                offered, failed = offered + phase.offered, failed + phase.offered - phase.right
                time.sleep(SETTLE_S)
                had[name].append(_had(client, "m1", LOW if name.startswith("low") else HIGH))
    low = p99s["low"] + p99s["low again"]
    goal = Goal(1.0, "at least", least_samples=ROUNDS)
    results = [Result("p99 at weight 20 of 80", session.memory, extent(low), "us")]
    for name in ("text", "http"):
        gains = [
            before / after
            for before, after in zip(p99s["low" if name == "text" else "low again"], p99s[name], strict=True)
        ]
        spread, words = extent(gains), f"{extent(p99s[name]).median:.0f} us"
        title = f"p99 before by that at weight 160 of 220, set by {name}"
        results.append(Result(title, session.memory, spread, "x", words, goal=goal, verdict=judge(spread, goal)))
    for name, due in (
        ("low", LOW / (SERVERS * LOW)),
        ("text", HIGH / (HIGH + 3 * LOW)),
        ("http", HIGH / (HIGH + 3 * LOW)),
    ):
        title = f"CPU that it had by the metrics, {name}; due {due:.3f}"
        results.append(Result(title, session.memory, extent(had[name]), "CPUs"))
    results.append(Result(f"without a right response, of {offered}", session.memory, extent([failed]), "requests"))
    return results


def _load(server: Server, cpu: int, directory):
    phase = Phase(name="measure", duration_ns=round(LOAD_S * 1e9), per_s=PER_S)
    target = Target(
        name=server.name,
        protocol="memcached",
        port=server.port,
        keys=server.content.keys,
        value=server.content.value,
        phases=[phase],
    )
    with Load(ClientPlan(cpu=cpu, tenant_cpus=[], targets=[target]), directory) as load:
        return load.result().targets[0].phases[0]


def _had(client, tenant: str, weight: int) -> float:
    """Of the metrics. Raises UserError where they do not have the weight that was asked for."""
    values = {
        name: float(line.rpartition(" ")[2])
        for line in client.text("/metrics").splitlines()
        for name in ("weight", "had_cpus")
        if line.startswith(f"windtunnel_share_{name}{{") and f'tenant="{tenant}"' in line
    }
    if values["weight"] != weight:
        raise UserError(f"the metrics have weight {values['weight']:g} for {tenant}, and {weight} was requested")
    return values["had_cpus"]


if __name__ == "__main__":
    main(__doc__, measure)
