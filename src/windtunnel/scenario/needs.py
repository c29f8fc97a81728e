"""What a scenario needs from the host beside cores and memory: rights, interfaces, NICs, captures, a place for memif's socket."""

import os
import sys
import tempfile
from pathlib import Path

from windtunnel.engine.plan import Side
from windtunnel.errors import UserError
from windtunnel.scenario.capture import Capture, look_into
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.nics import check_nics
from windtunnel.scenario.refusal import Refusal

ETHERNET_HEADER_BYTES = 14
SOCKET_BYTES = 107
"""sun_path of <sys/un.h> without its terminator."""


def check_host(scenario: Scenario, host: HostView, alone: Side | None = None) -> None:
    """`alone`: the only side that flies here. Raises Refusal, or UserError where the scenario has no part in it."""
    if not host.cpus:
        raise UserError("no CPU may be used", remedy="check the affinity: taskset -p $$")
    if scenario.wire.kind in NEED_ROOT:
        _kernel_interfaces(scenario, host, alone)
    if scenario.wire.kind == "pci":
        check_nics(scenario, host, alone)


NEED_ROOT = {
    "af_packet": "opens packet sockets",
    "af_xdp": "loads an XDP program and opens XDP sockets",
    "tap": "makes a network interface",
}
"""Wires with the kernel as peer -> what they do that an ordinary user may not."""


def _kernel_interfaces(scenario: Scenario, host: HostView, alone: Side | None) -> None:
    kind = scenario.wire.kind
    if not host.root:
        raise Refusal(
            ("wire", "kind"),
            f'the wire "{kind}" {NEED_ROOT[kind]}, which needs root',
            f"sudo {sys.argv[0]} run {scenario.source.file}",
        )
    for side in ("server", "client"):
        keys = getattr(scenario, side) if alone in (None, side) else None
        if keys and host.interfaces is not None:
            _interface(scenario, side, keys.interface, host, alone)


def _interface(scenario: Scenario, side: str, name: str, host: HostView, alone: Side | None) -> None:
    """There where it is opened, not there where it is made, and nobody's XDP program on it where ours will hang."""
    there = host.interfaces or []
    if scenario.wire.kind == "tap":
        if name in there:
            raise Refusal(
                (side, "interface"),
                f'an interface "{name}" exists: the wire "tap" makes its own',
                f"another name; or `ip link delete {name}`, if nobody needs it",
            )
        return
    if name not in there:
        script = scenario.source.file.with_suffix(".sh")
        made = f"`{script} up` makes it; or " if script.is_file() else ""
        both = scenario.client and scenario.server and not alone
        one_side = "--side, if the other side is another host's; or " if both else ""
        raise Refusal((side, "interface"), f'no interface "{name}"', f"{made}{one_side}one of {', '.join(there)}")
    if scenario.wire.kind == "af_xdp" and (program := host.xdp_program(name)):
        raise Refusal(
            (side, "interface"),
            f'interface "{name}" has the XDP program {program} already, and the flight would take it away',
            f"another interface; or `ip link set dev {name} xdp off`, if nobody needs it",
        )


def replayed(scenario: Scenario) -> Capture | None:
    """The capture of a pcap wire, if its frames fit the server's mbufs. Raises Refusal."""
    if scenario.wire.replay is None or scenario.server is None:
        return None
    capture = look_into(scenario.source.file.parent / scenario.wire.replay)
    if capture.longest > scenario.server.mtu + ETHERNET_HEADER_BYTES:
        raise Refusal(
            ("wire", "replay"),
            f"a frame of {capture.longest} bytes is longer than the MTU of {scenario.server.mtu} allows",
            f"server.mtu = {capture.longest - ETHERNET_HEADER_BYTES}, if that is at most 9000",
        )
    return capture


def memif_socket(scenario: Scenario, token: str) -> str | None:
    """Absolute path of the control socket; one of the flight's own where the scenario names none. Raises Refusal."""
    if scenario.wire.kind != "memif":
        return None
    if scenario.wire.socket is not None:
        path = scenario.source.file.parent.absolute() / scenario.wire.socket
    else:
        path = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()).absolute() / f"wt-{token}.sock"
    if len(os.fsencode(path)) > SOCKET_BYTES:
        raise Refusal(
            ("wire", "socket"),
            f"{path} is longer than the {SOCKET_BYTES} bytes of a socket's name",
            'as in "/tmp/wt.sock"',
        )
    return str(path)
