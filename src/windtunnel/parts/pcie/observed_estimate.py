"""PCIe traffic of the packets of an application that was observed, by its own bursts. Which NIC its ports are, and their thresholds, only the
options of the command say: on a port without a NIC it is the traffic that a NIC would cause."""

from collections.abc import Mapping
from typing import Any

from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import Settings, Traffic, estimate
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.nic import GENERIC, load_nic
from windtunnel.parts.pcie.port_estimate import PortEstimate, Queue
from windtunnel.runs.observed import Observed, ObservedQueue

RING = 1024


def ports_of_observed(
    observed: Observed, nic: str | None, settings: Mapping[str, Any], link: Mapping[str, Any]
) -> list[PortEstimate]:
    """The ports of the application, by number. Raises UserError for an unknown NIC, or settings that it refuses."""
    card = load_nic(nic or GENERIC)
    lane = Link(**({"generation": card.link.generation.number, "lanes": card.link.lanes.number} | dict(link)))
    chosen = Settings(**({"rx_ring": RING, "tx_ring": RING} | dict(settings)))
    ports: dict[int, dict[int, list[ObservedQueue]]] = {}
    for queue in observed.queues:
        ports.setdefault(queue.port, {}).setdefault(queue.queue, []).append(queue)
    return [
        PortEstimate(
            f"port {number}",
            card.name,
            card.nic.title,
            True,
            lane,
            [
                Queue(name, estimate(_traffic(seen, observed.frame_bytes), card, chosen, lane))
                for name, seen in sorted(queues.items())
            ],
        )
        for number, queues in sorted(ports.items())
    ]


def _traffic(seen: list[ObservedQueue], frame_bytes: float | None) -> Traffic:
    received, sent = ([queue for queue in seen if queue.receives == receives] for receives in (True, False))
    return Traffic(
        _rate(received),
        _rate(sent),
        frame_bytes if received else None,
        frame_bytes if sent else None,
        _batches(received),
        _batches(sent),
    )


def _rate(queues: list[ObservedQueue]) -> float | None:
    return sum(queue.packets_per_s for queue in queues) if queues else None


def _batches(queues: list[ObservedQueue]) -> Batches:
    histogram: dict[int, float] = {}
    for queue in queues:
        for size, calls in queue.bursts.items():
            histogram[size] = histogram.get(size, 0) + calls
    return Batches.of(histogram)
