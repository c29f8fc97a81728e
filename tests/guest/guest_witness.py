"""Our counts of doorbells and descriptor write-backs against what an outside witness saw: `make -C tests/guest witness`.

The witness is QEMU, which emulates the NICs and traces every write to their registers. It prints what it compares.
"""

import pytest
from guest_runs import ADDRESSES, execute  # noqa: F401 - a fixture
from real_runs import assert_sound
from traced import Traced, bases_of, read_trace

from windtunnel.parts.pcie.nic import for_driver, load_nic
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.runs import Run

AT_START = 1
"""Each tail register is written once when its queue starts: TDT to 0, RDT to the last descriptor."""
NIC_OF = dict(zip(("client", "server"), ADDRESSES, strict=True))
LOADS = {
    "one by one": ("client.inflight=1", "client.batch.app_tx=1"),
    "in sevens": ("client.inflight=7", "client.batch.app_tx=7"),
    "64 in flight": (),
}


@pytest.fixture
def witnessed(execute, tmp_path):  # noqa: F811
    """Runs nic.toml on two NICs of a model; returns the run and what QEMU saw."""

    def in_guest(model: str, *sets: str) -> tuple[Run, Traced]:
        run = execute(model, *sets, TRACE=str(tmp_path / "trace"))
        assert_sound(run)
        return run, read_trace(tmp_path / "trace", model, bases_of((run.path / "engine.log").read_text()))

    return in_guest


def counts(run: Run, side: str) -> dict[str, int]:
    """What one side's port counted over the whole run."""
    windows = [p for windows in run.windows.values() for w in windows for p in w.ports if p.endpoint == side]
    names = ("rx_packets", "rx_bursts", "tx_packets", "tx_bursts", "doorbells")
    return {name: sum(getattr(port, name) or 0 for port in windows) for name in names}


def say(what: str, ours: int, seen: int, why: str) -> None:
    print(f"\n  {what:<34}{ours:>9,} of ours, {seen:>9,} traced: {why}", end="")


@pytest.mark.parametrize("load", LOADS)
def test_doorbells_and_write_backs_of_e1000e(witnessed, load):
    run, seen = witnessed("e1000e", *LOADS[load])
    received = reports = sent = 0
    every = load_nic(for_driver("net_e1000_em")).tx.rs_threshold.number
    for side, nic in NIC_OF.items():
        counted = counts(run, side)
        doorbells = counted["doorbells"]
        assert doorbells == counted["tx_bursts"] > 0
        say(f"{side}: doorbells of tx (TDT)", doorbells, seen.writes[nic, "TDT"], f"+{AT_START} at start")
        say(f"{side}: bursts received (RDT)", counted["rx_bursts"], seen.writes[nic, "RDT"], f"+{AT_START} at start")
        assert seen.writes[nic, "TDT"] == doorbells + AT_START
        assert seen.writes[nic, "RDT"] == counted["rx_bursts"] + AT_START
        received, sent = received + counted["rx_packets"], sent + counted["tx_packets"]
        reports += counted["tx_packets"] // every
    say("packets received, both", received, seen.written_back, "an rx write-back each")
    say("packets sent, both", sent, seen.descriptors, "a tx descriptor each")
    say(f"packets sent / {every}, both", reports, seen.reported, "descriptors with RS, each written back")
    assert seen.written_back == received
    assert seen.descriptors == sent
    assert seen.reported == reports


def test_the_estimate_has_these_doorbells(witnessed):
    """What `pcie estimate` says of the run, in bytes of tail writes, is what QEMU saw but for what lies outside the measured windows."""
    run, seen = witnessed("e1000e", *LOADS["in sevens"])
    for port in ports_of(run):
        assert port.nic == "e1000" and not port.would_be
        [queue] = port.queues
        measured = [w for windows in run.counted.values() for w in windows if w.phase == "measure"]
        bursts = sum(p.tx_bursts + p.rx_bursts for w in measured for p in w.ports if p.endpoint == port.port)
        seconds = sum(w.end_ns - w.start_ns for w in measured) / 1e9
        assert queue.estimate.rate.outbound_write * seconds == pytest.approx(4 * bursts, rel=1e-9)
        assert bursts <= seen.writes[NIC_OF[port.port], "TDT"] + seen.writes[NIC_OF[port.port], "RDT"]


@pytest.mark.parametrize("load", LOADS)
def test_doorbells_of_vmxnet3(witnessed, load):
    """Its driver rings when the device's threshold is reached, which in QEMU is one packet: once a burst, and not at the start."""
    run, seen = witnessed("vmxnet3", *LOADS[load])
    for side, nic in NIC_OF.items():
        counted = counts(run, side)
        say(f"{side}: bursts sent (TXPROD)", counted["tx_bursts"], seen.writes[nic, "TXPROD"], "the same")
        say(
            f"{side}: bursts received (RXPROD)",
            counted["rx_bursts"],
            seen.writes[nic, "RXPROD"],
            "the device asks for none",
        )
        assert seen.writes[nic, "TXPROD"] == counted["tx_bursts"] > 0
