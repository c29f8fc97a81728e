"""What each tenant is entitled to, in nanoseconds.

Work-conserving by weight, as PvCC's pool: who may not use more (a cap) leaves the rest to the others. PvCC's credits are whole units and
give 32 tenants at 50 us 28% too much; here shares are exact fractions, and only the last nanosecond is rounded, so that nothing is lost.
"""

from collections.abc import Mapping
from fractions import Fraction

from windtunnel.sharing.pools.weights import CPU_WEIGHT


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
