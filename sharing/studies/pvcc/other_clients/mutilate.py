"""mutilate, of memcached: a rate is that of all connections, and its report has no median."""

import re

from pvcc.other_clients.other_client import CONNECTIONS, Load, OtherClient, Reading, nanoseconds

_READ = re.compile(r"^read +(?:[\d.]+ +){7}([\d.]+)$", re.MULTILINE)
"""avg, std, min, 5th, 10th, 90th, 95th, 99th percentile in us."""
_RATE = re.compile(r"^Total QPS = ([\d.]+) ", re.MULTILINE)
_MISSES = re.compile(r"^Misses = \d+ \(([\d.]+)%\)$", re.MULTILINE)


def fill(load: Load) -> list[str]:
    return [*_common(load), "--loadonly"]


def ask(load: Load) -> list[str]:
    """Without a rate mutilate takes 0, which has no gaps between requests."""
    paced = ["-q", str(load.rate or 0), "-i", "exponential:1"]
    return [*_common(load), "--noload", "-u", "0", "-c", str(CONNECTIONS), *paced, "-t", str(load.seconds)]


def _common(load: Load) -> list[str]:
    return ["-s", load.place, "-T", "1", "-r", str(load.content.keys), "-V", str(load.content.value)]


def read(text: str) -> Reading | None:
    latency, rate, misses = _READ.search(text), _RATE.search(text), _MISSES.search(text)
    if not (latency and rate and misses):
        return None
    return Reading(float(rate[1]) * (1 - float(misses[1]) / 100), None, nanoseconds(latency[1], "us"))


MUTILATE = OtherClient(
    name="mutilate",
    source="build github.com/leverich/mutilate, and put its program on PATH",
    version="--version",
    kinds=("memcached",),
    paced=True,
    intended=False,
    fill=fill,
    ask=ask,
    read=read,
)
