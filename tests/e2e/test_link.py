"""Runs over the emulated link: never faster than its rate, never sooner than its delay, what is dropped has a name."""

import pytest
from real_runs import L_APP, PATIENT, after, drops, execute, messages, run_well, scenario
from scenario_tools import finished

from windtunnel.errors import UserError

BITS = (86 + 42 + 24) * 8
"""Of a message on the line: 128 bytes of mbuf and 24 of framing."""


def link(**keys) -> dict:
    return {"link": keys}


def measured(run) -> tuple[float, int, int]:
    """Seconds of the measurement, messages answered in it, and the shortest latency in ns."""
    [windows] = [windows for windows in run.windows.values() if windows[0].workloads]
    windows = [window for window in windows if window.phase == "measure"]
    responses = sum(window.workloads[0].responses for window in windows)
    shortest = min(window.workloads[0].latency_sent.min for window in windows if window.workloads[0].responses)
    return (windows[-1].end_ns - windows[0].start_ns) / 1e9, responses, shortest


@pytest.mark.parametrize("wire", ["ring", "memif"])
def test_the_link_is_never_faster_than_its_rate(tmp_path, wire):
    """A budget that fills the line, and the queue in front of it, for 12 ms."""
    data = scenario(
        wire={"kind": wire} | link(rate="100Mbps", delay="50us"), client={"inflight": 1000}, duration="500ms"
    )
    run = run_well(tmp_path, data, *PATIENT)
    seconds, responses, shortest = measured(run)
    most = 100e6 / BITS * seconds
    # What had been delivered and was not looked at when the measurement began: a queue of the ring at the most.
    assert responses <= most + 1024
    assert responses > 0, "how near it comes depends on the host: bench/link.py"
    assert shortest >= 2 * (50_000 + BITS * 10), "twice the delay and the time on the line"
    assert drops(run, "client") == drops(run, "server") == {}
    assert (
        len(run.record.emulated) == 1
        and "a link of 0.1 Gbit/s, 50 us, a queue of 1024 packets" in run.record.emulated[0]
    )


def test_a_full_queue_drops_its_tail_and_counts_it(tmp_path):
    keys = {"wire": link(rate="10Mbps", queue=8), "client": {"inflight": 64}}
    run = run_well(tmp_path, scenario(L_APP | {"timeout": "300ms"}, **keys, **after(200)))
    full = drops(run, "client")["emulated_queue_full"]
    assert full > 0 and messages(run).lost > 0
    [asked] = [p for p in run.record.engines[0].result.packets if p.source == "client"]
    assert asked.dropped == {"emulated_queue_full": full}
    assert asked.received + full + asked.in_wire == asked.sent


def test_a_packet_counts_once_per_link(tmp_path):
    run = run_well(tmp_path, scenario(wire=link(rate="100Mbps", delay="50us"), client={"inflight": 64}))
    sent = {p.source: p.sent for p in run.record.engines[0].result.packets}
    for side in ("client", "server"):
        stages = [s for w in run.windows["windtunnel"] for s in w.stages if (s.endpoint, s.stage) == (side, "nic_tx")]
        assert sum(stage.objects for stage in stages) == sent[side] > 0


def test_packets_on_the_link_at_the_end_are_in_the_ledger(tmp_path):
    data = scenario(L_APP | {"timeout": "10s"}, wire=link(delay="5s"), client={"inflight": 100}, drain="0s")
    run = execute(tmp_path, data).run
    [asked] = [p for p in run.record.engines[0].result.packets if p.source == "client"]
    assert asked.missing == 0 and asked.in_wire == 100 and asked.received == 0
    [mbufs] = [m for m in run.record.engines[0].result.mbufs if m.endpoint == "client"]
    assert mbufs.held["emulated wire"] == 100


def test_faults_come_before_the_link(tmp_path):
    wire = {"faults": {"loss": 0.1, "duplicate": 0.1}} | link(rate="1Gbps", delay="10us")
    # lost messages give their budget back within the measurement
    run = run_well(tmp_path, scenario(L_APP | {"timeout": "10ms"}, wire=wire))
    assert drops(run, "client")["emulated_loss"] > 0 and len(run.record.emulated) == 2


def test_several_queues_share_the_line(tmp_path):
    data = scenario(
        L_APP | {"apps": 2, "dispatchers": 2}, wire=link(rate="100Mbps"), client={"inflight": 1000}, duration="500ms"
    )
    seconds, responses, _ = measured(run_well(tmp_path, data))
    assert responses <= 100e6 / BITS * seconds + 1024


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (link(rate="10Kbps"), '"10Kbps" is not a bit rate; units: bps, kbps, Mbps, Gbps'),
        (link(rate="10kbps"), '"10kbps" is not between 1Mbps and 1000Gbps'),
        (link(rate="1Mpps"), "is not a bit rate"),
        (link(queue=0), "link.queue is 0; it takes a whole number from 1"),
        (link(delay="11s"), '"11s" is not between 0ns and 10s'),
        ({"kind": "af_packet"} | link(delay="1s"), 'a link cannot be emulated on the wire "af_packet"'),
    ],
)
def test_impossible_values_are_refused_with_a_message(tmp_path, keys, words):
    with pytest.raises(UserError) as caught:
        finished(tmp_path, scenario(wire=keys, server={"interface": "wt0"}))
    assert words in f"{caught.value.message}; {caught.value.remedy}"
