"""memtier_benchmark, of Redis and memcached: a rate is that of a connection."""

import re

from pvcc.other_clients.other_client import CONNECTIONS, Load, OtherClient, Reading, nanoseconds, whole_rates
from pvcc.servers import ADDRESS

_PROTOCOLS = {"redis": "redis", "memcached": "memcache_text"}
_GETS = re.compile(r"^Gets +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+) ", re.MULTILINE)
"""Gets, hits and misses a second, average, p50 and p99 in ms."""


def fill(load: Load) -> list[str]:
    return [*_common(load), "--requests=allkeys", "--ratio=1:0", "--key-pattern=P:P", "--clients=1"]


def ask(load: Load) -> list[str]:
    clients = CONNECTIONS if load.rate is None else whole_rates(load.rate)
    rate = [] if load.rate is None else [f"--rate-limiting={load.rate // clients}"]
    return [*_common(load), f"--test-time={load.seconds}", "--ratio=0:1", f"--clients={clients}", *rate]


def _common(load: Load) -> list[str]:
    where = [f"--server={ADDRESS}", f"--port={load.port}", f"--protocol={_PROTOCOLS[load.kind]}", "--threads=1"]
    keys = [f"--key-maximum={load.content.keys}", f"--data-size={load.content.value}"]
    return [*where, *keys, "--hide-histogram"]


def read(text: str) -> Reading | None:
    gets = _GETS.search(text)
    if not gets:
        return None
    return Reading(float(gets[1]), nanoseconds(gets[2], "ms"), nanoseconds(gets[3], "ms"))


MEMTIER = OtherClient(
    name="memtier_benchmark",
    source="apt-get install memtier-benchmark from packages.redis.io, or build github.com/RedisLabs/memtier_benchmark",
    version="--version",
    kinds=("memcached", "redis"),
    paced=True,
    intended=False,
    fill=fill,
    ask=ask,
    read=read,
)
