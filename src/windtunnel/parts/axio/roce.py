"""What a configuration of Axio's RoCE dispatcher says: the wire "rdma" with its options, on RDMA devices.

From its sources (axio-emulator, src/dispatcher_impl/roce): a dispatcher is one queue pair, RC or UD. Each send requests a completion, none is
inline. The only pool is `huge_alloc`, the only packet handler `empty`. A message has a frame's headers in front of it, as data.
"""

from typing import Any

from windtunnel.exchange.source import Fault
from windtunnel.parts.axio.config import AxioConfig, Entry
from windtunnel.scenario.refusal import shown

TRANSPORTS = ("rc", "ud")
"""The first one is that of Axio's own converter to TOML."""
POOL = "huge_alloc"
IP_UDP_HEADER_BYTES = 28
"""What an `mtu` holds beside the message, which alone travels on the wire "rdma"."""

NO_MAC = 'no MAC on the wire "rdma": it carries no frames'
DEVICE = 'the wire "rdma" uses the device that has the address'
OWN_POOL = "Axio's own allocator, its only pool over RoCE; here the buffers are mbufs of a mempool"


def transport(config: AxioConfig, option: str | None) -> str | None:
    """The type of the queue pairs; None for DPDK. `option`: of the command, because the colon form says neither. Faults are added to those of
    the configuration."""
    backend, named = config.values.get("backend"), config.values.get("roce_transport")
    if backend is None or backend.value not in ("dpdk", "roce"):
        if backend is not None:
            config.faults.append(_fault(backend, '"dpdk" or "roce"'))
        return option
    if backend.value == "dpdk":
        if named is not None:
            config.skipped.append((named, "of RoCE only"))
        if option is not None:
            config.faults.append(
                Fault(backend.line, f'{backend.key} is "dpdk", but --roce {option} is given', "one of them")
            )
        return None
    value = named.value if named else option or TRANSPORTS[0]
    if named is not None and value not in TRANSPORTS:
        config.faults.append(_fault(named, " or ".join(f'"{name}"' for name in TRANSPORTS)))
        return TRANSPORTS[0]
    if option is not None and named is not None and option != value:
        config.faults.append(
            Fault(named.line, f'{named.key} is "{value}", but --roce {option} is given', "one of them")
        )
    return value


def notes(transport: str) -> list[str]:
    """What the user must know beside the keys."""
    mtu = " --set client.mtu=1500 --set server.mtu=1500" if transport == "ud" else ""
    without = f"--set wire.provider=auto --set client.ip=127.0.0.2 --set server.ip=127.0.0.1{mtu}"
    return [
        f'wire.provider = "verbs" needs an RDMA device with the address of its side; both sides run here without one by {without}',
        "Axio sends a frame's headers (42 bytes of Ethernet, IP and UDP) in front of each message, as data; here they do not travel",
    ]


def wire(transport: str) -> dict[str, Any]:
    return {"kind": "rdma", "type": transport, "provider": "verbs", "inline": "0B", "signal_every": 1}


def _fault(entry: Entry, remedy: str) -> Fault:
    return Fault(entry.line, f"{entry.key}: {shown(entry.value)} cannot be converted", remedy)
