"""One side of a scenario runs here, the other one in another process, as a rule on another host: `--side`, and cabled testbeds."""

from dataclasses import dataclass

from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES, Side
from windtunnel.scenario.frames import ip_udp_header_bytes
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import endpoint, two_processes
from windtunnel.scenario.wires import named, needed_option, value

HELLO_BYTES = MESSAGE_HEADER_BYTES + 80
"""UDP payload of a word between two hosts (engine/control/hello.h)."""
DEFAULT_WAIT_NS = 60 * 10**9
CABLED = "two cabled testbeds"


@dataclass(frozen=True)
class OneSide:
    """The side that runs here, and how long it waits for the other one's hello."""

    side: Side
    wait_ns: int = DEFAULT_WAIT_NS
    given_by: str = ""
    """Option that gave it, in words for the user; empty: --side."""

    @property
    def words(self) -> str:
        return self.given_by or f"--side {self.side}"


def check_one_side(scenario: Scenario, one_side: OneSide) -> None:
    """Raises Refusal if the scenario cannot be run by two processes, or does not say what the other one is."""
    if not two_processes(scenario):
        raise Refusal(
            ("wire", "kind"),
            f'{one_side.words}: no peer can be at the other end of the wire "{scenario.wire.kind}"',
            f"wire.kind = {named('foreign_peer', without=('process_each',))} for two hosts or {named('process_each')} for two "
            "processes, or a run of both sides in one process",
        )
    for side in ("client", "server"):
        keys = endpoint(scenario, side)
        if keys is None:
            raise Refusal(
                (one_side.side,),
                f"{one_side.words}: the file has no [{side}], and both sides read the same file",
                f"a table [{side}], or, if the peer is another program, a run without --side",
            )
        if keys.mtu < HELLO_BYTES + ip_udp_header_bytes(keys):
            raise Refusal(
                (side, "mtu"),
                f"{one_side.words}: the hello of two hosts does not fit an MTU of {keys.mtu}",
                f"at least {HELLO_BYTES + ip_udp_header_bytes(keys)}",
            )
    if (shared := needed_option(scenario, "shared_socket")) and value(scenario, shared.name) is None:
        raise Refusal(
            ("wire",),
            f"{one_side.words}: wire.{shared.name} is missing, by which the two processes find each other",
            f'as in {shared.name} = "{shared.example}"',
        )
