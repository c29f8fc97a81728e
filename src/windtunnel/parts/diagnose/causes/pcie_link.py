"""The PCIe link of a NIC: what all devices read and wrote, beside what the run's packets should."""

from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.pcie.run_estimate import ports_of, tightest


def _find(observation: Observation, limit: Limit) -> Case | None:
    if not observation.recorded.measured:
        return None
    port = require(tightest(ports_of(observation.run)), "what the packets of this run need of a PCIe link")
    measured, of_nic = observation.recorded.measured[0], None
    for one in observation.recorded.measured:
        if (above := next((row for row in one.ports if row.is_above(port.upstream)), None)) is not None:
            measured, of_nic = one, above
            break
    counted = of_nic or measured
    gbps = {"read": _gbps(counted.inbound_read), "wrote": _gbps(counted.inbound_write)}
    link = port.link.usable * 8 / 1e9
    most = max((value for value in gbps.values() if value is not None), default=0.0)
    if not most:
        return None
    rates_text = " and ".join(f"{verb} {value:.1f} Gbit/s" for verb, value in gbps.items() if value is not None)
    return Case(
        evidence=f"devices {f'below {of_nic.name} ' if of_nic else ''}{rates_text} ({measured.tool}); the link of {port.nic} can carry {link:.0f} Gbit/s each way, headers included: "
        f"at least {most / link:.0%} of it",
        remedy="fewer bytes per packet, larger bursts (fewer descriptor reads), a link of more lanes or another slot",
        against=[] if of_nic else ["all devices of the host are included, not only this NIC"],
        not_measured=["the link's real width and speed: `lspci -vv` shows LnkSta"],
    )


def _gbps(bytes_a_second: float | None) -> float | None:
    return None if bytes_a_second is None else bytes_a_second * 8 / 1e9


CAUSE = Check("pcie-link", "what crosses the PCIe link", _find, "recorded")
