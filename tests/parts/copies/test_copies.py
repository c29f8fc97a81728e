"""Copies of payload in the real engine: every copier and way moves the right bytes, and every planted fault ends as it is named."""

import os

import in_process
import pytest
from copier_names import MOVING
from copying_runs import CLIENT, SIDES, TIMED, assert_copied, copies_of, copying, naming, verified, workload
from crosses import cross
from plugin_tools import ROOT, compiled
from real_runs import after, execute, run_well, scenario, stages
from scenario_tools import written

from windtunnel.errors import UserError
from windtunnel.parts.copies.costs import SIZES, measure
from windtunnel.parts.copies.measured_profiles import profile_text
from windtunnel.runs import Run, load
from windtunnel.runs.identity import identity
from windtunnel.runs.summary import summarise

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_dma(tmp_path_factory) -> Run:
    """Requests that a DMA engine has copied."""
    return run_well(tmp_path_factory.mktemp("by-dma"), copying({"engine": "dma"}))


def test_the_way_to_the_thread_of_a_copier_is_probed(by_dma):
    run, ledger = by_dma, assert_copied(by_dma)
    assert ledger.measuring > 0 and ledger.driver.submitted == ledger.submitted
    windows = run.windows[run.record.engines[0].name]
    probes = [window.probe for window in windows if window.probe and window.probe.complete]
    assert probes and all(copier.trip_ns > 0 and copier.cpu == ledger.cpu for p in probes for copier in p.copiers)
    assert all(len(probe.copiers) == 1 for probe in probes)
    threads = [part.thread for window in windows for part in window.copies]
    assert 0 < sum(thread.on_cpu_ns for thread in threads) <= ledger.cpu_ns


@cross("engine, way, of", MOVING, ["pipelined", "wait_all"], [copying, naming])
def test_every_copier_moves_the_right_bytes(tmp_path, engine, way, of):
    run = run_well(tmp_path, of({"engine": engine, "way": way}) | TIMED)
    ledger = assert_copied(run)
    assert ledger.kind == "core" and ledger.by_cpu == {} and ledger.copies == ledger.submitted - ledger.measuring
    [row] = summarise(run).parts["copies"]
    assert row.engine == engine and row.gbps > 0 and 0 < row.share < 1 and row.submit_cycles > 0
    assert (row.p50 is None) == (engine != "dma")
    assert (row.freed_cycles is None) == (row.freed_share is None) == (ledger.cpu_copies is None) == (engine != "dma")


def modelled(of, copies: dict) -> dict:
    """On one worker."""
    cores = {"cores": [max(os.sched_getaffinity(0))]}
    data = of({"engine": "model", "options": {"profile": "dsa-spr"}} | copies)
    return data | {"client": CLIENT | cores, "server": cores}


@SIDES
@pytest.mark.parametrize("way", ["pipelined", "wait_all"])
def test_a_modelled_engine_moves_the_right_bytes_and_everything_says_modelled(tmp_path, way, of):
    run = run_well(tmp_path, modelled(of, {"way": way}) | TIMED)
    ledger = assert_copied(run)
    assert (ledger.kind, ledger.device, ledger.by_cpu) == ("modelled", "dsa-spr", {})
    [row] = summarise(run).parts["copies"]
    assert row.kind == "modelled" and row.submit_cycles > 0
    assert row.p50 > 840  # the latency of the profile, so this asserts no time of the host's
    assert run.record.emulated and run.record.emulated[0].startswith("modelled: copies")
    assert any("dsa-spr assumes" in note for note in run.record.notes)
    assert identity(run.record)["copies by"] == "modelled"


def test_an_engine_without_a_device_ends_copies_with_their_submit(tmp_path):
    (tmp_path / "slow.toml").write_text(
        profile_text("slow", "a slow copy", [(64, 100.0), (65536, 10_000.0)], "made up")
    )
    run = run_well(tmp_path, modelled(copying, {"options": {"profile": str(tmp_path / "slow.toml")}}))
    assert_copied(run)
    [row] = summarise(run).parts["copies"]
    assert row.p50 is None and row.kind == "modelled"


def test_lies_that_are_planted_on_a_modelled_engine_are_found(tmp_path):
    options = {"engine": "model", "profile": "dsa-spr", "fault": "lying", "share": "0.01", "most": 10}
    run = execute(tmp_path, modelled(copying, {"engine": "planted", "options": options})).run
    assert copies_of(run).kind == "modelled" and copies_of(run).planted.count == 10
    assert verified(run).wrong_packets == 10


def test_a_dma_engine_has_a_cpu_and_its_driver_counts_the_same(by_dma):
    run, ledger = by_dma, assert_copied(by_dma)
    assert ledger.driver.submitted == ledger.driver.completed == ledger.submitted and ledger.driver.errors == 0
    assert ledger.device == "dma_skeleton0" and ledger.cpu_ns > 0
    workers = {worker.cpu for worker in run.record.engines[0].plan.workers}
    notes = " ".join(run.record.notes)
    if len(os.sched_getaffinity(0)) > 1:
        assert ledger.cpu not in workers and f"run on CPU {ledger.cpu}, which no worker has" in notes
    else:
        assert "over-committed" in notes


def test_cpus_that_are_all_taken_are_called_over_committed(tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    data = copying({"engine": "dma"})
    data |= {"client": CLIENT | {"cores": [cpus[0]]}, "server": {"cores": [cpus[-1]]}}
    run = execute(tmp_path, data).run
    assert any("over-committed" in note for note in run.record.notes) == (len(cpus) < 3)


def test_a_workload_without_a_source_has_no_copies(tmp_path):
    run = run_well(tmp_path, scenario())
    assert run.record.engines[0].result.copies == run.record.engines[0].result.verified == []
    assert summarise(run).parts["copies"] == []


@SIDES
@pytest.mark.parametrize("seed", [3, 11])
def test_ten_of_ten_planted_lies_are_found(tmp_path, seed, of):
    planted = {"engine": "planted", "options": {"fault": "lying", "share": "0.01", "most": 10}}
    run = execute(tmp_path, of(planted) | {"seed": seed}).run
    assert copies_of(run).planted.count == 10
    assert verified(run).wrong_packets == 10
    [reason] = run.record.verdict.reasons
    assert reason.startswith("copies wrong: 10 of ") and "wrong bytes, the first at byte " in reason
    assert ("of the response to message" in reason) == (of is naming)


@SIDES
@pytest.mark.parametrize(("fault", "reason"), [("failing", "failed"), ("full", "no_room")])
def test_what_fails_or_finds_no_room_is_copied_by_the_cpu(tmp_path, fault, reason, of):
    planted = {"engine": "planted", "options": {"fault": fault, "share": "0.05"}}
    ledger = assert_copied(run_well(tmp_path, of(planted)))
    assert list(ledger.by_cpu) == [reason] and ledger.by_cpu[reason] >= ledger.planted.count > 10
    assert ledger.copies > ledger.by_cpu[reason]


@SIDES
def test_late_copies_are_late_and_right(tmp_path, of):
    planted = {"engine": "planted", "options": {"fault": "late", "share": "0.05", "late_us": 500}}
    run = run_well(tmp_path, of(planted))
    assert assert_copied(run).by_cpu == {}
    [row] = summarise(run).parts["copies"]
    assert row.p99 > 400_000  # the delay is the planted one, so this asserts no time of the host's
    where = ("client", "app_tx") if of is copying else ("server", "app_rx")
    assert sum(entry.stalled_for_copies for entry in stages(run, *where)) > 0


@SIDES
def test_a_silent_copier_makes_the_run_invalid_and_its_mbufs_are_not_used_again(tmp_path, of):
    planted = {"engine": "planted", "options": {"fault": "silent", "share": "0.01"}}
    data = of(planted | {"timeout": "20ms"}, timeout="50ms")
    run = execute(tmp_path, data | {"drain": "500ms"}).run
    ledger = copies_of(run)
    assert 0 < ledger.never_ended <= 64 and ledger.missing == 0
    assert any(
        reason.startswith(f"copies never ended: {ledger.never_ended} of ") for reason in run.record.verdict.reasons
    )
    pools = run.record.engines[0].result.mbufs
    assert all(pool.missing == 0 for pool in pools)
    assert sum(pool.held.get("copies that never ended", 0) for pool in pools) == ledger.never_ended
    assert ledger.by_cpu["gave_up"] > 0, "the CPU goes on"
    assert verified(run).wrong_packets == 0


@SIDES
def test_a_stop_with_copies_running_closes_the_ledgers(tmp_path, of):
    planted = {"engine": "planted", "options": {"fault": "late", "share": "1", "late_us": 20_000}}
    data = of(planted) | {"messages": 20, "drain": "0s"}
    run = run_well(tmp_path, data)
    assert copies_of(run).never_ended == copies_of(run).missing == 0


@SIDES
def test_small_copies_are_left_to_the_cpu(tmp_path, of):
    ledger = assert_copied(run_well(tmp_path, of({"engine": "dma", "at_least": "1KiB"})))
    assert list(ledger.by_cpu) == ["small"], "the last packet of a message has less than a full body"
    assert ledger.copies > ledger.by_cpu["small"]


def test_the_measured_size_is_in_the_record(tmp_path):
    run = run_well(tmp_path, copying({"engine": "dma", "at_least": "auto"}))
    assert 64 <= assert_copied(run).at_least_bytes <= 1500
    assert run.record.engines[0].plan.workloads[0].copies.at_least_bytes is None


@SIDES
def test_what_copies_by_the_cpu_cost_is_in_the_record(tmp_path, by_dma, of):
    run = by_dma if of is copying else run_well(tmp_path, of({"engine": "dma"}))
    told = assert_copied(run).cpu_copies
    sizes = [each.bytes for each in told.costs]
    assert sizes[:4] == [64, 128, 256, 512] and sizes == sorted(set(sizes))
    assert all(each.cycles > 0 for each in told.costs) and told.to_places > 0
    windows = [part.sizes for window in run.windows[run.record.engines[0].name] for part in window.copies]
    assert max(each.max for each in windows if each.total) == sizes[-1], "the largest copy of a packet was measured"
    assert (told.from_bytes == 1 << 20) == (of is copying)


def test_zero_copies_send_the_source_itself(tmp_path):
    run = run_well(tmp_path, copying({"way": "zero"}, wire={"kind": "memif", "udp_checksum": False}))
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.copies]
    assert ledger.uncopied > 0 and ledger.copies == ledger.submitted == 0 and ledger.by_cpu == {}
    assert verified(run).packets > 0 and verified(run).wrong_packets == 0


def test_zero_copies_are_refused_by_a_driver_that_takes_no_chains(tmp_path):
    wire = {"kind": "null", "udp_checksum": False}
    run = execute(tmp_path, copying({"way": "zero", "verify": False}, wire=wire, rate="2kpps", timeout="5ms")).run
    [reason] = run.record.verdict.reasons
    assert reason.startswith("engine refused: net_null takes no packets of several mbufs")


def test_two_applications_copy_from_one_source(tmp_path):
    run = run_well(tmp_path, copying({"engine": "dma"}, apps=2))
    [engine] = run.record.engines
    assert [ledger.application for ledger in engine.result.copies] == [0, 1]
    assert all(ledger.copies > 0 for ledger in engine.result.copies)
    assert all(ledger.packets > 0 and ledger.wrong_packets == 0 for ledger in engine.result.verified)


@SIDES
def test_copies_over_a_lossy_wire_are_right(tmp_path, of):
    wire = {"kind": "ring", "faults": {"loss": 0.001, "duplicate": 0.001, "reorder": 0.01}}
    run = run_well(tmp_path, of({"engine": "dma"}, wire=wire, timeout="500ms") | after(1000))
    assert verified(run).packets > 0 and verified(run).wrong_packets == 0


def test_a_memif_server_copies_what_its_handler_names(tmp_path):
    run = run_well(tmp_path, naming({"engine": "dma"}, wire={"kind": "memif"}))
    assert copies_of(run).endpoint == "server" and verified(run).endpoint == "client"
    assert copies_of(run).copies > 0 and verified(run).packets > 0 and verified(run).wrong_packets == 0


def test_requests_and_responses_of_two_workloads_have_copiers_of_their_own(tmp_path):
    both = [workload({"engine": "dma"}), naming({"engine": "dma"})["workload"][0]]
    data = copying({}) | {"workload": [about | {"name": name} for about, name in zip(both, "ab", strict=True)]}
    run = run_well(tmp_path, data)
    [engine] = run.record.engines
    assert {(ledger.endpoint, ledger.workload) for ledger in engine.result.copies} == {("client", 0), ("server", 1)}
    assert len({ledger.device for ledger in engine.result.copies}) == 2
    assert all(ledger.packets > 0 and ledger.wrong_packets == 0 for ledger in engine.result.verified)
    assert [row.workload for row in summarise(run).parts["copies"]] == ["a", "b"]


CHECKS = """
static void looks(void *state, struct wt_part *burst, uint32_t count) {
    (void)state;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t at = 0; at < burst[i].length; ++at) burst[i].wrong += burst[i].data[at] != BYTE;
}
"""


@pytest.mark.parametrize("byte", [0, 1])
def test_a_handler_without_requests_of_its_own_checks_responses(tmp_path, byte):
    """It responds with zeros."""
    text = (ROOT / "engine/parts/copies/tests/names_copies.c").read_text()
    head, define, rest = text.partition("const struct wt_handler wt_handler")
    source = tmp_path / "checks.c"
    source.write_text(head + CHECKS.replace("BYTE", str(byte)) + define + rest.replace("= {", "= {.check = looks,", 1))
    handler = str(compiled(source, tmp_path / "checks.so"))
    data = naming({}, handler=handler, response=64, options={})
    run = execute(tmp_path, data).run
    assert verified(run).packets > 0 and bool(verified(run).wrong_packets) == bool(byte)


def test_time_of_a_copiers_thread_in_which_the_run_was_held_is_in_no_window(tmp_path, monkeypatch):
    """Two runs take turns; the threads of both work on meanwhile."""
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, copying({"engine": "dma"}) | {"duration": "600ms", "warmup": "50ms", "window": "50ms"})
    done = in_process.run("compare", file, file, "--pairs", 1, "--alternate", "window", "--out", "out", "--quiet")
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    for side in ("a", "b"):
        run = load(tmp_path / "out" / side / "01")
        [engine] = run.record.engines
        in_windows = sum(part.thread.on_cpu_ns for window in run.windows[engine.name] for part in window.copies)
        assert 0 < in_windows < 0.85 * engine.result.copies[0].cpu_ns  # some 0.6: of its turns, and set-up is in none


def test_a_real_file_leaves_nothing_to_a_copier(tmp_path):
    data = naming({"verify": False}, options={"file": "1MiB", "directory": str(tmp_path)})
    [reason] = execute(tmp_path, data).run.record.verdict.reasons
    assert "the kernel copies out of a real file, so there is nothing for a copier" in reason


def test_copies_with_nothing_to_do_are_refused_with_the_line(tmp_path):
    with pytest.raises(UserError, match=r"test.toml:\d+: there is nothing to copy: .* kv names no copies"):
        execute(tmp_path, naming({}, handler="kv", response=1024, options={}))


def test_a_handler_that_writes_requests_is_refused(tmp_path):
    data = copying({}, handler="kv", request="1KiB")
    [reason] = execute(tmp_path, data).run.record.verdict.reasons
    assert reason.startswith("engine refused: workload kv: its handler writes the bodies of requests itself")


def test_no_device_is_refused_with_what_there_is(tmp_path):
    data = copying({"engine": "dma", "options": {"device": "0000:00:09.0"}})
    [reason] = execute(tmp_path, data).run.record.verdict.reasons
    assert reason.startswith('engine refused: dma: no device "0000:00:09.0"; EAL has found none')


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ({"engine": "dam"}, r'test.toml:\d+: no copier "dam".*'),
        ({"engine": "dma", "options": {"devise": "x"}}, r'dma has no option "devise"'),
        ({"engine": "dma", "depth": 8192}, r"dma takes 8191 copies at once, not 8192"),
    ],
)
def test_what_the_engine_does_not_have_is_refused_with_the_line(tmp_path, copies, words):
    with pytest.raises(UserError, match=words):
        execute(tmp_path, copying(copies))


def test_costs_of_copies_are_measured_without_a_run(tmp_path, monkeypatch, one_round):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))  # else others may be measured there at the same time
    found = {each.copier.engine: each for each in measure(depth=16)}
    assert set(found) == set(MOVING) - ({"cpu"} if len(os.sched_getaffinity(0)) > 1 else {"cpu", "dma"})
    for each in found.values():
        assert [(cost.bytes, cost.hot) for cost in each.costs] == [(s, hot) for s in SIZES for hot in (False, True)]
        assert all(min(cost.cpu_cycles, cost.caller_cycles, cost.copier_cycles) > 0 for cost in each.costs)
    assert list((tmp_path / "dpdk").iterdir()) == []


def test_costs_of_a_device_that_is_not_there_are_refused(one_round):
    with pytest.raises(UserError, match='no device "nowhere"'):
        measure(depth=16, device="nowhere")
