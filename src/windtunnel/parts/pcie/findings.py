"""Findings about the PCIe links of NICs."""

from windtunnel.errors import as_argument
from windtunnel.host.facts import Facts
from windtunnel.host.findings import Finding
from windtunnel.parts.pcie.facts import NicLink, links_of
from windtunnel.parts.pcie.link import Link


def judge(facts: Facts, has_engine: bool) -> list[Finding]:
    """One for each NIC with a link. `has_engine` changes nothing."""
    return [link_finding(link) for link in links_of(facts)]


def link_finding(link: NicLink) -> Finding:
    subject, value = f"PCIe link {link.address}", _value(link)
    if not link.is_below_most:
        return Finding(subject=subject, value=value, verdict="good", meaning=_carries(link.generation, link.lanes))
    now = _carries(link.generation, link.lanes)
    most = _carries(link.most_generation or link.generation, link.most_lanes or link.lanes)
    return Finding(
        subject=subject,
        value=f"{value}; the card has {_speed(link.most_generation, link.most_lanes)}",
        verdict="fair",
        meaning=f"{now}, and in another slot, or awake, {most}: the link may be full before the NIC is",
        remedy=f"sudo lspci -vv -s {as_argument(link.address)} | grep Lnk   # LnkSta beside LnkCap; then the slot, its riser and the BIOS",
    )


def _value(link: NicLink) -> str:
    sizes = [f"{name} {size}" for name, size in (("MPS", link.mps), ("MRRS", link.mrrs)) if size is not None]
    return ", ".join([_speed(link.generation, link.lanes), *(sizes or ["MPS and MRRS can be read by root"])])


def _speed(generation: int | None, lanes: int | None) -> str:
    return f"Gen{generation or '?'} x{lanes or '?'}"


def _carries(generation: int | None, lanes: int | None) -> str:
    if generation is None or lanes is None:
        return "what it carries is not known"
    return f"it carries {Link(generation, lanes).raw * 8 / 1e9:.1f} Gb/s in each direction"
