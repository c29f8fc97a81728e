"""redis-benchmark, of Redis itself: no rate, and a number of requests instead of a time."""

import csv

from pvcc.other_clients.other_client import CONNECTIONS, Load, OtherClient, Reading, nanoseconds
from pvcc.servers import ADDRESS

REQUESTS_A_SECOND = 20_000
"""So many are asked for each second of the trial, however long they take."""


def fill(load: Load) -> list[str]:
    """Each key is drawn: ten times as many values leave hardly one without a value."""
    return _arguments(load, "set", 10 * load.content.keys)


def ask(load: Load) -> list[str]:
    return _arguments(load, "get", load.seconds * REQUESTS_A_SECOND)


def _arguments(load: Load, test: str, requests: int) -> list[str]:
    sizes = ["-c", str(CONNECTIONS), "-n", str(requests), "-d", str(load.content.value), "-r", str(load.content.keys)]
    return ["-h", ADDRESS, "-p", str(load.port), *sizes, "-t", test, "--csv"]


def read(text: str) -> Reading | None:
    rows = [row for row in csv.DictReader(text.splitlines()) if row.get("test") == "GET"]
    if not rows or not all(rows[0].get(name) for name in ("rps", "p50_latency_ms", "p99_latency_ms")):
        return None
    p50, p99 = (nanoseconds(rows[0][f"{name}_latency_ms"], "ms") for name in ("p50", "p99"))
    return Reading(float(rows[0]["rps"]), p50, p99)


REDIS_BENCHMARK = OtherClient(
    name="redis-benchmark",
    source="apt-get install redis-tools",
    version="--version",
    kinds=("redis",),
    paced=False,
    intended=False,
    fill=fill,
    ask=ask,
    read=read,
)
