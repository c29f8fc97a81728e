"""A wire's descriptor in words: for `windtunnel wires` and the generated page."""

import json

from windtunnel.engine.query import Wire, WireOption
from windtunnel.scenario.quantities import write

_OF_TYPE = {
    "bytes": "size",
    "count": "number",
    "bool": "true or false",
    "text": "text",
    "file": "file",
    "socket": "path",
    "interface": "interface",
    "pci": "PCI address",
}


def takes(option: WireOption) -> str:
    """What the option takes, with its range."""
    if option.choices:
        choices = " | ".join(option.choices)
        return f"a list of {choices}" if option.type == "words" else choices
    kind = _OF_TYPE[option.type]
    if option.least is None or option.most is None:
        return kind
    least, most = (
        write("size", bound) if option.type == "bytes" else str(bound) for bound in (option.least, option.most)
    )
    return f"{kind} from {least} to {most}"


def default(option: WireOption) -> str:
    """The default as a scenario would write it; "" for none."""
    match option.type:
        case _ if option.default is None:
            return ""
        case "bytes":
            return json.dumps(write("size", int(option.default)))
        case "count" | "bool":
            return option.default
        case "words":
            return json.dumps([word for word in option.default.split("|") if word])
    return json.dumps(option.default)


def needs(wire: Wire) -> str:
    """What must be so on the host, or "" for nothing."""
    needed = {
        "root": "root",
        "hugepages": "hugepages",
        "interface": "an interface that is up",
        "no_interface": "an interface name that is not in use",
        "no_xdp": "no XDP program on the interface",
        "capture": "a capture",
        "nic": "a NIC whose driver lets DPDK in",
        "shared_socket": "a directory that both processes can write",
    }
    return ", ".join(needed[need.kind] + (f" ({need.why})" if need.why else "") for need in wire.needs)
