"""Several queues of the NICs that QEMU emulates, each with its own driver: what RSS and rte_flow rules do there, or what is said of them."""

import os

import machine
import pytest
from guest_runs import (
    execute,  # noqa: F401 - a fixture
    refused,
)
from real_runs import assert_sound, drops, messages, stages

from windtunnel.runs import Run

NODES = (0, 1)
"""An igb keeps the slots of its virtual functions: each needs a bus of its own."""
IGB = "net_e1000_igb"


@pytest.fixture
def igb(execute):  # noqa: F811
    """Runs nic.toml on two igbs with queues for as many dispatchers."""
    if machine.qemu_with("igb") is None:
        pytest.skip("no QEMU here emulates an igb (8.0 and later do): make -C tests/guest qemu says why")
    if os.geteuid() != 0:
        pytest.skip("a tap with several queues needs root")

    def in_guest(dispatchers: int, steering: str) -> Run:
        ways = [f"{side}.steering={steering}" for side in ("client", "server")]
        return execute(
            "igb", f"workload.0.dispatchers={dispatchers}", *ways, nodes=NODES, QUEUES=str(max(2, dispatchers))
        )

    return in_guest


def assert_every_queue_is_used(run: Run, queues: int) -> None:
    """And nothing came to another queue than its own."""
    assert_sound(run)
    assert messages(run).responses > 0 and messages(run).lost == 0
    for side in ("client", "server"):
        assert drops(run, side) == {}
        received = dict.fromkeys(range(queues), 0)
        for entry in stages(run, side, "nic_rx"):
            received[entry.index] += entry.objects
        assert len(received) == queues and all(received.values()), received


@pytest.mark.parametrize("queues", [1, 2, 3])
def test_rss_of_igb(igb, queues):
    run = igb(queues, "rss")
    assert_every_queue_is_used(run, queues)
    [engine] = run.record.engines
    assert engine.ready.drivers == {"client": IGB, "server": IGB}
    notes = run.record.all_notes()
    assert any("RSS, with a key that looks at the UDP port alone" in note for note in notes) == (queues > 1)


def test_rules_of_igb_with_rss_behind_them(igb):
    """The driver takes the rules, QEMU's device does not know them, and RSS does what they would have done."""
    run = igb(2, "auto")
    assert_every_queue_is_used(run, 2)
    assert any(
        "rte_flow rules bring each UDP port to its queue, and so does RSS" in note for note in run.record.all_notes()
    )


def test_rules_that_a_device_does_not_know(igb):
    """What comes to a wrong queue is counted by its name, and a run that measured no response is invalid."""
    run = igb(3, "flow")
    assert any("rte_flow rules bring each UDP port to its queue; what" in note for note in run.record.all_notes())
    assert (
        drops(run, "server").keys() == {"misdirected"} and drops(run, "server")["misdirected"] == messages(run).lost > 0
    )
    assert messages(run).missing == 0
    [reason] = run.record.verdict.reasons
    assert reason.startswith("no responses: ")


@pytest.mark.parametrize("model", ["e1000e", "vmxnet3"])
def test_rules_where_the_driver_has_none(execute, model):  # noqa: F811
    run = execute(model, "workload.0.dispatchers=2", "client.steering=flow", "server.steering=flow")
    assert "rejects an rte_flow rule from a UDP port to a queue: " in refused(run)
