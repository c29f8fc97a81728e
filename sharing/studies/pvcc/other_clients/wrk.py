"""wrk, and wrk2, which was made from it: the same report, in which wrk2 has a rate, and latencies from the intended send time."""

import re

from pvcc.other_clients.other_client import CONNECTIONS, Load, OtherClient, Reading, nanoseconds

_PERCENTILE = r"^ *{}(?:\.0+)?% +([\d.]+)(us|ms|s|m)$"
_ENDED = re.compile(r"^ *(\d+) requests in ", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec: +([\d.]+)$", re.MULTILINE)
_ERRORS = re.compile(r"^ *Non-2xx or 3xx responses: (\d+)$", re.MULTILINE)


def ask(load: Load) -> list[str]:
    url = f"http://{load.place}/k0"
    rate = [] if load.rate is None else ["--rate", str(load.rate)]
    return ["-t", "1", "-c", str(CONNECTIONS), "-d", f"{load.seconds}s", *rate, "--latency", url]


def read(text: str) -> Reading | None:
    """The first percentiles are those of wrk2 from the intended send time."""
    ended, rate, errors = _ENDED.search(text), _RATE.search(text), _ERRORS.search(text)
    p50, p99 = (re.search(_PERCENTILE.format(percent), text, re.MULTILINE) for percent in (50, 99))
    if not (ended and rate and p50 and p99):
        return None
    wrong = int(errors[1]) / int(ended[1]) if errors else 0.0
    return Reading(float(rate[1]) * (1 - wrong), nanoseconds(*p50.groups()), nanoseconds(*p99.groups()))


WRK = OtherClient(
    name="wrk",
    source="apt-get install wrk",
    version="-v",
    kinds=("nginx",),
    paced=False,
    intended=False,
    fill=None,
    ask=ask,
    read=read,
)
WRK2 = OtherClient(
    name="wrk2",
    source="build github.com/giltene/wrk2, and put its program wrk on PATH as wrk2",
    version="-v",
    kinds=("nginx",),
    paced=True,
    intended=True,
    fill=None,
    ask=ask,
    read=read,
)
