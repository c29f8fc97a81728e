"""The MTU: a message is cut into many packets, and each of them costs the same again."""

from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import BOUNDLESS, Gain, Limit
from windtunnel.parts.diagnose.observation import Observation

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
    return Case(
        evidence=f"{most} moves {packets[most]:.1f} packets per message, as the MTU is {mtu}; with {larger} it would be {packets[most] * left:.1f}",
        remedy=f"an MTU of {larger}" + (", if the network carries it" if larger > USUAL[0] else ""),
        sets=[f"{side}.mtu={larger}" for side in ("client", "server")],
        # both sides have fewer packets, and with them fewer calls, mbufs and entries of rings
        bound=Gain(0.0, BOUNDLESS),
        not_measured=["what it brings: one run does not show what fewer packets save on both sides"],
    )


CAUSE = Check("mtu", "the MTU cuts messages into many packets", _find)
