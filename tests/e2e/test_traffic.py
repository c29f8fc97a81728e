"""Traffic on a wire that loses, duplicates and reorders, open loops, large messages, and ends by number."""

import os
from math import sqrt

import pytest
from real_runs import L_APP, PATIENT, SIDES, STAGES, after, drops, messages, ports, recorded, run_well, scenario

LOSSY = {"loss": 0.02, "duplicate": 0.02, "reorder": 0.05}


def packet_ledger(run, source):
    [ledger] = [packets for packets in run.record.engines[0].result.packets if packets.source == source]
    return ledger


def of_measure(run) -> list:
    [windows] = run.windows.values()
    return [window for window in windows if window.phase == "measure"]


def test_lost_messages_are_counted_and_free_their_slot(tmp_path):
    workload = L_APP | {"request": "4KiB", "timeout": "10ms"}
    run = run_well(tmp_path, scenario(workload, wire={"faults": LOSSY}, client={"inflight": 64}, **after(1000)))
    ledger = messages(run)
    assert ledger.lost > 64, "more than the budget: every place has come back"
    assert ledger.responses >= 1000, "it froze"
    assert ledger.in_flight == 0


@pytest.mark.parametrize("wire", ["ring", "memif"])
def test_emulated_loss_is_in_ledger_and_drops(tmp_path, wire):
    run = run_well(tmp_path, scenario(L_APP | {"timeout": "10ms"}, wire={"kind": wire, "faults": LOSSY}))
    assert run.record.emulated
    for side in SIDES:
        assert drops(run, side)["emulated_loss"] > 0
        if wire == "ring":
            assert packet_ledger(run, side).dropped == {"emulated_loss": drops(run, side)["emulated_loss"]}
            assert (
                packet_ledger(run, side).received
                == ports(run, {"client": "server", "server": "client"}[side])["rx_packets"]
            )
            assert packet_ledger(run, side).duplicated > 0


def test_bytes_are_those_of_the_packets(tmp_path):
    """Messages in two segments, of 1514 and 146 bytes; answers in one of 128."""
    run = run_well(tmp_path, scenario(L_APP | {"handler": "t_app", "request": 1560, "response": 86}))
    client, server = ports(run, "client"), ports(run, "server")
    assert client["tx_bytes"] == server["rx_bytes"] == client["tx_packets"] // 2 * (1514 + 146)
    assert server["tx_bytes"] == client["rx_bytes"] == server["tx_packets"] * 128


def test_bytes_on_a_lossy_wire_are_those_that_passed(tmp_path):
    run = run_well(tmp_path, scenario(L_APP | {"timeout": "10ms"}, wire={"faults": LOSSY}))
    for side in SIDES:
        sent = ports(run, side)
        waiting, rest = divmod(sent["tx_bytes"] - 128 * sent["tx_packets"], 128)
        assert rest == 0 and 0 <= waiting <= 128, "let through, and not posted when the run ended"


def test_emulated_loss_alone_loses_its_share(tmp_path):
    run = run_well(tmp_path, scenario(L_APP | {"timeout": "50ms"}, wire={"faults": {"loss": 0.05}}, duration="200ms"))
    for side in SIDES:
        ledger = packet_ledger(run, side)
        expected = 0.05 * ledger.sent
        assert abs(ledger.dropped["emulated_loss"] - expected) < 5 * sqrt(expected)
    # One packet a message: it was dropped, came too late, or is still under way.
    known = messages(run).late + sum(packet_ledger(run, side).dropped["emulated_loss"] for side in SIDES)
    under_way = sum(count for mbufs in run.record.engines[0].result.mbufs for count in mbufs.held.values())
    assert known <= messages(run).lost <= known + under_way


def test_equal_seeds_emulate_equal_faults(tmp_path):
    """One worker, one packet at a time: the same frames in the same order, as far as both runs came. A response that is late because the host
    is busy would be taken for a lost one: it has half a second."""

    def frames(name: str, seed: int) -> list[bytes]:
        directory = tmp_path / name
        directory.mkdir()
        one = {"cores": [max(os.sched_getaffinity(0))], "batch": dict.fromkeys(STAGES, 1)}
        wire = {"faults": {"loss": 0.005, "duplicate": 0.3}}
        keys = {"client": one | {"inflight": 1}, "server": one, "seed": seed, "record": "run.pcap"} | after(100)
        return recorded(run_well(directory, scenario(L_APP | {"timeout": "500ms"}, wire=wire, **keys)))

    first, again, other = frames("first", 7), frames("again", 7), frames("other", 8)
    together = min(map(len, (first, again, other)))
    assert together > 50
    assert [f[42:] for f in first[:together]] == [f[42:] for f in again[:together]]
    assert [f[42:54] for f in first[:together]] != [f[42:54] for f in other[:together]]


@pytest.mark.parametrize(("request_bytes", "response"), [("4MiB", 86), (86, "4MiB"), ("4MiB", "4MiB")])
def test_largest_messages_arrive_over_a_bad_wire(tmp_path, request_bytes, response):
    faults = {"loss": 0.00005, "duplicate": 0.001, "reorder": 0.01, "reorder_depth": 16}
    workload = {"handler": "t_app", "request": request_bytes, "response": response, "timeout": "500ms"}
    keys = {"wire": {"faults": faults}, "client": {"inflight": 2, "batch": {"app_tx": 1}}, "duration": "600ms"}
    run = run_well(tmp_path, scenario(workload, **keys))
    assert messages(run).responses > 2
    assert sum(packet_ledger(run, side).duplicated for side in SIDES) > 0
    assert run.record.engines[0].plan.endpoints[0].port.faults.reorder == 0.01


def test_large_messages_between_processes(tmp_path):
    workload = {"handler": "t_app", "request": "1MiB", "response": "1MiB"}
    run = run_well(tmp_path, scenario(workload, wire={"kind": "memif"}, client={"inflight": 2, "batch": {"app_tx": 1}}))
    assert messages(run).responses > 2


def test_a_number_of_messages_ends_the_run(tmp_path):
    run = run_well(tmp_path, scenario(duration="60s", window="1s", messages=5000))
    assert run.record.engines[0].result.reason == "messages"
    responses = sum(window.workloads[0].responses for window in of_measure(run))
    assert responses >= 5000
    assert run.record.engines[0].result.measured_ns < 60e9


def test_a_number_of_messages_ends_both_processes(tmp_path):
    run = run_well(tmp_path, scenario(wire={"kind": "memif"}, duration="60s", window="1s", messages=5000))
    reasons = {engine.name: engine.result.reason for engine in run.record.engines}
    assert reasons == {"client": "messages", "server": "stopped"}, "the server has no number of its own"


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize("apps", [1, 3])
def test_open_loop_offers_its_rate(tmp_path, arrivals, apps):
    rate = 50_000
    data = scenario(
        L_APP | {"apps": apps}, client={"rate": f"{rate}pps", "arrivals": arrivals, "inflight": 16384}, duration="400ms"
    )
    run = run_well(tmp_path, data)
    [windows] = run.windows.values()
    finished = [window for window in windows if window.phase != "drain"]
    # Arrivals begin with the first call of app_tx, somewhere in the first window; the others are whole.
    whole = finished[1:]
    expected = rate * (whole[-1].end_ns - whole[0].start_ns) / 1e9
    offered = sum(window.workloads[0].offered for window in whole)
    # A worker that the kernel keeps waiting closes its window later than main: by that time, and some for the hypervisor's.
    waited_ns = sum(worker.preempted_ns or 0 for window in windows for worker in window.workers) + 10_000_000
    assert abs(offered - expected) < 5 * sqrt(expected) + rate * waited_ns / 1e9
    assert messages(run).responses > 0


def test_every_message_that_fits_is_sent(tmp_path):
    run = run_well(tmp_path, scenario(client={"rate": "1kpps"}), *PATIENT)
    ledger = messages(run)
    assert ledger.unsent == 0 and ledger.sent == ledger.responses
    [windows] = run.windows.values()
    assert sum(window.workloads[0].pacing.total for window in windows) == ledger.sent


def test_a_generator_without_responses_frees_its_slots(tmp_path):
    """64 places and a timeout of 100 us: far more messages than places, each lost once."""
    workload = L_APP | {"timeout": "100us", "inflight": 64, "rate": "500kpps"}
    data = scenario(workload, wire={"kind": "null"}, client={"batch": {"app_tx": 32}})
    ledger = messages(run_well(tmp_path, data))
    assert ledger.sent > 64 * 50
    assert ledger.lost + ledger.in_flight == ledger.sent and ledger.responses == 0


def test_impossible_rate_shows_what_was_not_sent(tmp_path):
    work = L_APP | {"extra_ticks": 1_000_000}
    keys = {"client": {"rate": "100kpps", "inflight": 32}, "accounting": {"interrupted_above": "1s"}}
    run = run_well(tmp_path, scenario(work, **keys, **after(100)))
    ledger = messages(run)
    assert ledger.unsent > ledger.sent > 0
    assert ledger.offered == ledger.sent + ledger.unsent
    last = of_measure(run)[-1].workloads[0]
    assert last.unsent > 0 and last.latency.max > last.latency_sent.max, "latency counts from the intended time"
    assert 0 < last.pacing.max <= last.latency.max
