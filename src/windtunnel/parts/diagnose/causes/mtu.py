"""The MTU: a message is cut into many packets, and each of them costs the same again."""

from windtunnel.parts.diagnose.cause import Case, Check, gain
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.stats.mean import Estimate

USUAL = (1500, 9000)
"""Of Ethernet, and of networks with jumbo frames."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next(iter(observation.of_limit(limit)), None)
    if slack is None:
        return None
    account = observation.account(slack)
    packets = {name: observation.packets_a_message(slack, name) for name in account.stages}
    most = max(packets, key=lambda name: packets[name])
    mtu = min(endpoint.mtu for plan in observation.plans for endpoint in plan.endpoints)
    larger = next((usual for usual in USUAL if usual > mtu), None)
    if larger is None or packets[most] < 2:
        return None
    left = max(mtu / larger, 1 / packets[most])
    cut = [name for name in account.stages if packets[name] >= 2]
    saved = sum(account.work(name).mean for name in cut) * (1 - left)
    return Case(
        evidence=f"{most} moves {packets[most]:.1f} packets per message, as the MTU is {mtu}; with {larger} it would be {packets[most] * left:.1f}",
        remedy=f"an MTU of {larger}" + (", if the network carries it" if larger > USUAL[0] else ""),
        sets=[f"{side}.mtu={larger}" for side in ("client", "server")],
        gain=gain(observation, slack, Estimate(saved / 2, 0.0, saved)),
        not_measured=["what of the work is per packet, and what per byte"],
    )


CAUSE = Check("mtu", "the MTU cuts messages into many packets", _find)
