"""`--side`: one side of a scenario flies here, the other one in another process, as a rule on another host."""

from dataclasses import dataclass

from windtunnel.engine.plan import Side
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import IP_UDP_HEADER_BYTES, endpoint, two_processes
from windtunnel.scenario.values import MESSAGE_HEADER_BYTES

HELLO_BYTES = MESSAGE_HEADER_BYTES + 80
"""UDP payload of a word between two hosts (engine/core/hello.h)."""
DEFAULT_WAIT_NS = 60 * 10**9


@dataclass(frozen=True)
class Alone:
    """The side that flies here, and how long it waits for the other one's hello."""

    side: Side
    wait_ns: int = DEFAULT_WAIT_NS


def check_alone(scenario: Scenario, alone: Alone) -> None:
    """Raises Refusal where the scenario cannot be flown by two processes, or does not say what the other one is."""
    if not two_processes(scenario):
        raise Refusal(
            ("wire", "kind"),
            f'--side {alone.side}: nobody else can be at the other end of the wire "{scenario.wire.kind}"',
            'wire.kind = "af_packet" for two hosts or "memif" for two processes, or a run without --side',
        )
    for side in ("client", "server"):
        keys = endpoint(scenario, side)
        if keys is None:
            raise Refusal(
                (alone.side,),
                f"--side {alone.side}: the file has no [{side}], and both sides read the same file",
                f"a table [{side}], or a run without --side where the peer is a stranger",
            )
        if keys.mtu < HELLO_BYTES + IP_UDP_HEADER_BYTES:
            raise Refusal(
                (side, "mtu"),
                f"--side {alone.side}: the hello of two hosts does not fit an MTU of {keys.mtu}",
                f"at least {HELLO_BYTES + IP_UDP_HEADER_BYTES}",
            )
    if scenario.wire.kind == "memif" and scenario.wire.socket is None:
        raise Refusal(
            ("wire",),
            f"--side {alone.side}: wire.socket is missing, by which the two processes find each other",
            'as in socket = "/tmp/wt.sock"',
        )
