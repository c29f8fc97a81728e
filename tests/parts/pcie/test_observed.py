"""PCIe traffic of an application that was observed: its own bursts, as if they were named on the command line."""

import pytest

from windtunnel.parts.pcie import traffic_options
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import Settings, estimate
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.nic import load_nic
from windtunnel.parts.pcie.observed_estimate import ports_of_observed
from windtunnel.runs.observed import Observed, ObservedQueue


def observed(queues, frame_bytes=64.0):
    return Observed(
        by="probe", program="broker", pid=7, command=["broker"], dpdk="22.11", prefix=None, tsc_hz=2e9, stages=[], ports=[], queues=queues,
        frame_bytes=frame_bytes,
    )  # fmt: skip


def queue(port=0, number=0, receives=True, rate=1e6, bursts=None):
    return ObservedQueue(
        port=port, queue=number, receives=receives, packets_per_s=rate, bursts=bursts or {4: 100, 8: 50}
    )


def test_forwarding_is_estimated_as_the_same_traffic_named_in_words():
    [port] = ports_of_observed(observed([queue(), queue(receives=False)]), "mlx5", {}, {})
    card = load_nic("mlx5")
    link = Link(card.link.generation.number, card.link.lanes.number)
    batches = Batches.of({4: 100, 8: 50})
    expected = estimate(traffic_options.forwarding(1e6, 64, batches), card, Settings(rx_ring=1024, tx_ring=1024), link)
    assert port.rate == expected.rate
    assert port.would_be


def test_threads_on_one_queue_are_added():
    both = [queue(bursts={4: 100}), queue(bursts={4: 50, 0: 9}, rate=5e5)]
    [port] = ports_of_observed(observed(both), None, {}, {})
    [one] = port.queues
    alone = ports_of_observed(observed([queue(bursts={4: 150}, rate=1.5e6)]), None, {}, {})[0].queues[0]
    assert one.estimate.rate == alone.estimate.rate


def test_ports_and_queues_are_apart():
    ports = ports_of_observed(observed([queue(0, 0), queue(0, 1), queue(1, 0)]), None, {}, {})
    assert [(port.port, [q.number for q in port.queues]) for port in ports] == [("port 0", [0, 1]), ("port 1", [0])]


@pytest.mark.parametrize("lanes", [8, 16])
def test_the_link_of_the_options_is_taken(lanes):
    [port] = ports_of_observed(observed([queue()]), None, {}, {"lanes": lanes})
    assert port.link.lanes == lanes
