"""Bursts, rings, pools, packets and accounting of every size run with closed ledgers."""

import os
import re

import pytest
from real_runs import PATIENT, SIDES, STAGES, messages, recorded, run_well, scenario, stages
from scenario_tools import written

from windtunnel.errors import UserError
from windtunnel.scenario import here, load, resolve

BODY_AT = 14 + 20 + 8 + 16
"""Ethernet, IPv4, UDP, message header."""


def both(**keys) -> dict:
    """The same keys on both sides."""
    return {side: dict(keys) for side in SIDES}


def all_responses(directory, data):
    run = run_well(directory, data, *PATIENT)
    ledger = messages(run)
    assert ledger.responses > 0
    assert (ledger.lost, ledger.late, ledger.duplicates, ledger.in_flight) == (0, 0, 0, 0)
    return run


@pytest.mark.parametrize("ops", ["ring_mp_mc", "ring_mt_rts", "ring_mt_hts", "stack", "lf_stack", "bucket"])
def test_pool_operations(tmp_path, ops):
    run = all_responses(tmp_path, scenario(**both(mempool={"ops": ops})))
    assert {endpoint.pool.ops for endpoint in run.record.engines[0].plan.endpoints} == {ops}


def test_single_consumer_pool_on_one_worker(tmp_path):
    one = [max(os.sched_getaffinity(0))]
    all_responses(tmp_path, scenario(**both(cores=one, mempool={"ops": "ring_sp_sc"})))


@pytest.mark.parametrize("level", ["counts", "sampled", "cycles", "histograms"])
def test_accounting_levels(tmp_path, level):
    entries = stages(all_responses(tmp_path, scenario(accounting={"level": level})), "server", "app_rx")
    assert (sum(entry.timed_calls for entry in entries) > 0) == (level != "counts")
    assert all((entry.completion is not None) == (level == "histograms") for entry in entries)
    assert sum(sum(entry.burst.values()) for entry in entries) == sum(entry.calls for entry in entries)
    assert sum(entry.burst.get(0, 0) for entry in entries) == sum(entry.empty_calls for entry in entries)
    assert sum(e.objects for e in entries) == sum(n * calls for e in entries for n, calls in e.burst.items())


def test_accounting_off(tmp_path):
    assert stages(all_responses(tmp_path, scenario(accounting={"level": "off"})), "server", "app_rx") == []


def test_the_server_handles_as_many_as_the_client_received(tmp_path):
    run = all_responses(tmp_path, scenario())
    assert sum(entry.objects for entry in stages(run, "server", "app_rx")) == messages(run).responses


@pytest.mark.parametrize("mbuf", ["request", "new"])
@pytest.mark.parametrize(
    ("request_bytes", "response"), [("16B", "16B"), ("86B", "5KiB"), ("5KiB", "86B"), ("9KiB", "9KiB")]
)
def test_responses_in_the_request_or_in_new_mbufs(tmp_path, mbuf, request_bytes, response):
    workload = {"handler": "t_app", "request": request_bytes, "response": response}
    all_responses(tmp_path, scenario(workload, server={"response_mbuf": mbuf}, client={"inflight": 128}))


@pytest.mark.parametrize("scan", [True, False])
def test_scanning_the_payload_shows_in_the_responses(tmp_path, scan):
    """l_app fills its answer with what it read: with zeros when it read nothing."""
    data = scenario({"handler": "l_app", "scan": scan}, client={"rate": "1kpps"}, record="run.pcap")
    responses = [frame[BODY_AT:] for frame in recorded(all_responses(tmp_path, data)) if frame[42] == 0x12]
    assert len(responses) > 10
    assert {any(body) for body in responses} == {scan}


def test_extra_work_shows_in_its_stage(tmp_path):
    """Generous on purpose: 20000 ticks a message stand out of any noise."""

    def ticks_a_message(ticks: int) -> float:
        directory = tmp_path / str(ticks)
        directory.mkdir()
        keys = {"accounting": {"level": "cycles", "interrupted_above": "100ms"}, "client": {"inflight": 64}}
        run = all_responses(directory, scenario({"handler": "l_app", "extra_ticks": ticks}, **keys))
        entries = stages(run, "server", "app_rx")
        return sum(e.busy_cycles - e.stall_cycles for e in entries) / sum(e.timed_objects for e in entries)

    without, with_extra = ticks_a_message(0), ticks_a_message(20_000)
    assert with_extra >= 20_000
    assert with_extra > 5 * without


@pytest.mark.parametrize("size", [1, 3, 512])
def test_batches(tmp_path, size):
    run = all_responses(tmp_path, scenario(**both(batch=dict.fromkeys(STAGES, size))))
    for side in SIDES:
        for stage in ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"):
            assert 0 < max(n for entry in stages(run, side, stage) for n in entry.burst) <= size


@pytest.mark.parametrize("size", [2, 4, 64])
def test_rings(tmp_path, size):
    all_responses(tmp_path, scenario(**both(ring_size=size)))


@pytest.mark.parametrize("size", [2, 4])
def test_rings_shorter_than_a_message(tmp_path, size):
    workload = {"handler": "t_app", "request": "20KiB", "response": "20KiB"}
    data = scenario(workload, **both(ring_size=size))
    data["client"]["inflight"] = 32
    all_responses(tmp_path, data)


def test_few_descriptors(tmp_path):
    all_responses(tmp_path, scenario(**both(rx_descriptors=2, tx_descriptors=2)))


@pytest.mark.parametrize("response", ["request", "new"])
@pytest.mark.parametrize("wire", ["ring", "memif"])
def test_the_smallest_pools_that_check_accepts(tmp_path, response, wire):
    few = {"ring_size": 16, "rx_descriptors": 16, "tx_descriptors": 16}
    workload = {"handler": "l_app", "request": "4KiB", "response": "4KiB"}
    data = scenario(workload, wire={"kind": wire}, **both(mempool={"cache": 0}, **few))
    data["server"]["response_mbuf"] = response
    for side in SIDES:
        data[side]["mempool"] = {"cache": 0, "size": smallest_pool(tmp_path, data, side)}
    all_responses(tmp_path, data)


def smallest_pool(directory, data, side) -> int:
    """The number that the refusal of a pool of one mbuf names."""
    data = data | {side: data[side] | {"mempool": {"size": 1, "cache": 0}}}
    with pytest.raises(UserError, match=f"{side}: the traffic can hold") as refused:
        resolve(load(written(directory, data), []), here())
    return int(re.search(r"can hold (\d+) mbufs", str(refused.value)).group(1))


@pytest.mark.parametrize("mtu", [68, 128, 1500, 9000])
def test_mtus(tmp_path, mtu):
    data = scenario({"handler": "t_app", "request": "8KiB", "response": "1KiB"}, **both(mtu=mtu))
    data["client"] |= {"rate": "100pps", "inflight": 64}
    frames = recorded(all_responses(tmp_path, data | {"record": "run.pcap"}))
    assert max(map(len, frames)) == 14 + min(mtu, 28 + 8192)


def test_a_large_mbuf_pool_gets_its_memory(tmp_path):
    """Without hugepages each mbuf takes a page of its own."""
    workload = {"handler": "t_app", "request": "8KiB", "response": 86}
    run = all_responses(tmp_path, scenario(workload, memory="no-huge", **both(mtu=256)))
    assert {endpoint.pool.size for endpoint in run.record.engines[0].plan.endpoints} > {65535}


@pytest.mark.parametrize("wire", ["ring", "memif"])
def test_largest_frames(tmp_path, wire):
    data = scenario({"handler": "l_app", "request": 8972, "response": 8972}, wire={"kind": wire}, **both(mtu=9000))
    data["client"]["inflight"] = 64
    all_responses(tmp_path, data)
