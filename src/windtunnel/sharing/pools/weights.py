"""What a weight means. 256 is one CPU, as in PvCC and Xen's Credit scheduler."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

CPU_WEIGHT = 256
MOST_WEIGHT = CPU_WEIGHT * 4096
"""Of one tenant, wherever it runs: no machine has more CPUs."""


def dedicated(total_weight: int) -> int:
    """CPUs that `ls` needs for tenants of this weight together: ceil(sum / 256), never 0."""
    return max(1, -(-total_weight // CPU_WEIGHT))


def lanes(weight: int) -> tuple[int, ...]:
    """The weights of a tenant's lanes: a tenant above one CPU runs on several, in parts as equal as whole numbers allow."""
    count = dedicated(weight)
    return tuple(weight // count + (lane < weight % count) for lane in range(count))


@dataclass(frozen=True, slots=True)
class Share:
    """What planning knows of a tenant of `ls`."""

    name: str
    weight: int
    threads: int = 1


def entitled_ns(window_ns: int, weights: Mapping[str, int], caps: Mapping[str, int] | None = None) -> dict[str, int]:
    """Time on one CPU over `window_ns` for each of those that share it, if all of them always have work.

    `caps` are in weight: 128 is half a CPU, whoever else is idle. The times add up to the window exactly, or to what the caps
    leave of it.
    """
    exact = _filled(Fraction(window_ns), weights, caps or {})
    whole = {name: int(time) for name, time in exact.items()}
    missing = int(sum(exact.values())) - sum(whole.values())
    for name in sorted(exact, key=lambda name: (whole[name] - exact[name], name))[:missing]:
        whole[name] += 1
    return whole


def _filled(window: Fraction, weights: Mapping[str, int], caps: Mapping[str, int]) -> dict[str, Fraction]:
    """Water-filling: who reaches its cap is given that, and the others share what is left."""
    limits = {name: window * cap / CPU_WEIGHT for name, cap in caps.items() if name in weights}
    given: dict[str, Fraction] = {}
    while open_ := {name: weight for name, weight in weights.items() if name not in given}:
        left, total = window - sum(given.values()), sum(open_.values())
        shares = {name: left * weight / total for name, weight in open_.items()}
        full = {name: limits[name] for name in shares if name in limits and limits[name] <= shares[name]}
        given |= full or shares
    return given
