"""What a scenario needs from the host in addition to cores and memory: rights, interfaces, NICs, captures, a place for a socket."""

import os
import sys
from collections.abc import Callable, Iterator

from windtunnel.engine.leftovers import socket_directory
from windtunnel.engine.plan_values import MOST_MTU, Side
from windtunnel.engine.query import WireNeed
from windtunnel.errors import UserError, as_argument
from windtunnel.scenario.capture import Capture, look_into
from windtunnel.scenario.frames import tag_bytes
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.nics import check_nics
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.wires import SIDES, is_timed, needed_option, value

ETHERNET_HEADER_BYTES = 14
SOCKET_BYTES = 107
"""sun_path of <sys/un.h> without its terminator."""


def check_host(scenario: Scenario, host: HostView, one_side: Side | None = None) -> None:
    """`one_side`: the only side that runs here. Raises Refusal, or UserError if the scenario has no part in it."""
    if not host.cpus:
        raise UserError("no CPU may be used", remedy="check the affinity: taskset -p $$")
    sides = [side for side in SIDES if one_side in (None, side) and getattr(scenario, side) is not None]
    for need in scenario.descriptor.needs:
        if check := _CHECKS.get(need.kind):
            check(scenario, host, sides, need)


def _root(scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed) -> None:
    if not host.root:
        raise Refusal(
            ("wire", "kind"),
            f'the wire "{scenario.wire.kind}" {need.why}, which needs root',
            f"sudo {as_argument(sys.argv[0])} run {as_argument(scenario.source.file)}",
        )


def _interface(scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed) -> None:
    """Raises Refusal if an interface that the wire opens does not exist."""
    for path, name, there in _interfaces(scenario, host, sides, need):
        if name in there:
            continue
        script = scenario.source.file.with_suffix(".sh")
        made = f"`{as_argument(script)} up` makes it; or " if script.is_file() else ""
        one_side = "--side, if the other side is another host's; or " if len(sides) > 1 else ""
        raise Refusal(path, f'no interface "{name}"', f"{made}{one_side}one of {', '.join(there)}")


def _no_interface(scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed) -> None:
    """Raises Refusal if an interface that the wire creates exists already."""
    for path, name, there in _interfaces(scenario, host, sides, need):
        if name in there:
            raise Refusal(
                path,
                f'an interface "{name}" exists: the wire "{scenario.wire.kind}" creates it',
                f"another name; or `ip link delete {as_argument(name)}`, if it is not in use",
            )


def _no_xdp(scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed) -> None:
    """Raises Refusal if an XDP program is attached to an interface that will have ours."""
    for path, name, _ in _interfaces(scenario, host, sides, need):
        if program := host.xdp_program(name):
            raise Refusal(
                path,
                f'interface "{name}" already has the XDP program {program}, which the run would remove',
                f"another interface; or `ip link set dev {as_argument(name)} xdp off`, if it is not in use",
            )


def _interfaces(
    scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed
) -> Iterator[tuple[Path, str, list[str]]]:
    """The path, the name and the host's interfaces for each side that runs here; nothing if the host's are not known."""
    for side in sides if host.interfaces is not None else ():
        yield (side, str(need.option)), str(value(scenario, str(need.option), side)), host.interfaces or []


def _nics(scenario: Scenario, host: HostView, sides: list[Side], need: WireNeed) -> None:
    if option := needed_option(scenario, need.kind):
        check_nics(scenario, host, sides, option)


_CHECKS: dict[str, Callable[[Scenario, HostView, list[Side], WireNeed], None]] = {
    "root": _root,
    "interface": _interface,
    "no_interface": _no_interface,
    "no_xdp": _no_xdp,
    "nic": _nics,
}
"""Kind of need -> whether the host has it. Hugepages are `memory`'s, captures and sockets stand below."""


def replayed(scenario: Scenario) -> Capture | None:
    """The capture that the wire plays in, if its frames fit the server's mbufs. Raises Refusal."""
    option = needed_option(scenario, "capture")
    if option is None or scenario.server is None:
        return None
    where = ("wire", option.name)
    capture = look_into(scenario.source.file.parent / str(value(scenario, option.name)), where, is_timed(scenario))
    around_ip = ETHERNET_HEADER_BYTES + tag_bytes(scenario.server)
    if capture.longest - around_ip > MOST_MTU:
        raise Refusal(
            where,
            f"frame {capture.longest_at} has {capture.longest} bytes, and no MTU holds it: the capturing host had merged packets (GRO, LRO) "
            "or had not cut them yet (TSO)",
            "there: ethtool -K IF gro off lro off tso off gso off, and capture again",
        )
    if capture.longest > scenario.server.mtu + around_ip:
        raise Refusal(
            where,
            f"frame {capture.longest_at} of {capture.longest} bytes is longer than the MTU of {scenario.server.mtu} allows",
            f"server.mtu = {capture.longest - around_ip}",
        )
    return capture


def shared_socket(scenario: Scenario, token: str) -> str | None:
    """Absolute path of the socket by which two processes find each other; one of the run's own if the scenario names none.
    Raises Refusal."""
    option = needed_option(scenario, "shared_socket")
    if option is None:
        return None
    if (named := value(scenario, option.name)) is not None:
        path = scenario.source.file.parent.absolute() / named
    else:
        path = socket_directory() / f"wt-{token}.sock"
    if len(os.fsencode(path)) > SOCKET_BYTES:
        raise Refusal(
            ("wire", option.name),
            f"{path} is longer than the {SOCKET_BYTES} bytes of a socket's name",
            f'as in "{option.example}"',
        )
    return str(path)
