"""What a run would do with other cores, queues, batches and NICs: the bottleneck law, on records made for it."""

import json

import in_process
import pytest
import sample_lines as sample
from diagnosed_runs import made

from windtunnel.errors import UserError
from windtunnel.parts.models.capacity import KEYS, UNSPLIT, what_if
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.runs import Run, RunWriter, Verdict

HOST = {"cpus": {"allowed": [0, 1]}}
CORES = {"client": {"cores": [0]}, "server": {"cores": [1]}}
ALONE = {"client": None, "wire": {"kind": "null"}, "server": {"cores": [1]}, "workload": [{"packet_handler": "l2fwd"}]}
STAGES = ("app_rx", "disp_rx", "disp_tx", "nic_rx", "nic_tx")
LARGER = [f"server.batch.{stage}=30" for stage in STAGES]
CALLS, PACKETS = 100_000, 800_000
"""Timed calls of each stage: half of them of 1 packet, half of 15."""


def recorded(client=0.6, server=0.05, **more):
    return made(client=client, server=server, scenario=CORES, host=HOST, **more)


def run(client=0.6, server=0.0, call=160, packet=10, batch=15, **more):
    """One whose server's worker limits, with calls of 1 and of 15 packets that cost so many ticks a call and a packet."""
    batches = {"server": CORES["server"] | {"batch": dict.fromkeys(STAGES, batch)}}
    base = made(client=client, server=server, scenario=CORES | batches, host=HOST, **more)

    def change(window):
        stages = []
        for stage in window.stages:
            if stage.endpoint == "server":
                half = CALLS // 2
                sums = {
                    "timed_work_calls": CALLS, "timed_objects": PACKETS, "timed_objects_squared": half * (1 + 225),
                    "timed_objects_cycles": half * ((call + packet) + 15 * (call + 15 * packet)),
                    "busy_cycles": CALLS * call + PACKETS * packet, "stall_cycles": 0, "stalled_calls": 0,
                    "calls": stage.objects // 8, "empty_calls": 0, "timed_calls": CALLS,
                }  # fmt: skip
                stage = stage.model_copy(update=sums)
            stages.append(stage)
        return window.model_copy(update={"stages": stages})

    return Run(base.path, base.record, {name: [change(window) for window in of] for name, of in base.windows.items()})


def change(of, *sets):
    found = what_if(of, sets)
    return found, found.per_s / found.run_per_s - 1


def test_without_a_change_the_run_does_what_it_did():
    found, grows = change(recorded())
    assert grows == pytest.approx(0, abs=1e-6) and "server" in found.limit and found.not_here == []


def test_a_stage_that_a_record_says_moved_nothing_has_no_cost():
    """Its timed calls say otherwise: no engine writes that, and a record that was sent may have it."""
    base = recorded()
    windows = {
        name: [w.model_copy(update={"stages": [s.model_copy(update={"objects": 0}) for s in w.stages]}) for w in of]
        for name, of in base.windows.items()
    }
    assert change(Run(base.path, base.record, windows))[1] == pytest.approx(0, abs=1e-6)


def test_more_workers_share_the_work_until_the_next_one_is_full():
    more = ("workload.0.apps=2", "workload.0.dispatchers=2", "server.cores=[1,2]", "workload.0.client.apps=1")
    found, grows = change(recorded(), *more)
    assert grows == pytest.approx(1.0, abs=0.02) and "the worker of server" in found.limit
    assert found.not_here == ["CPU 2: the host of the run has 2"]
    assert any("caches or memory" in words for words in found.assumptions)
    found, grows = change(recorded(client=0.3), *more)
    assert grows == pytest.approx(1 / 0.7 - 1, abs=0.02) and "the worker of client" in found.limit


def test_a_larger_batch_shares_what_a_call_costs():
    """5 stages of 160 ticks a call and 10 a packet: a message at 8 a loop takes 30 of each, at 16 only 20."""
    of = run()
    _, same = change(of)
    assert same == pytest.approx(0, abs=1e-6)
    found, grows = change(of, *LARGER)
    # what a loop costs beside its calls is shared by twice as many, too
    assert grows > 0.5 - 0.01 and found.low <= found.per_s <= found.high
    part = change(of, "server.batch.app_rx=30")[1]
    assert part == pytest.approx(0, abs=1e-6), "the other stages still move no more"
    assert change(of, "server.batch.app_rx=2")[1] < -0.4


def test_costs_that_the_run_does_not_tell_apart_are_bounded():
    known, _ = change(run(), *LARGER)
    of = made(client=0.6, server=0.0, scenario=CORES | {"server": {"cores": [1], "batch": {"app_rx": 32}}}, host=HOST)
    found, _ = change(of, "server.batch.app_rx=4")
    assert found.low < 0.2 * found.run_per_s and found.high > 0.9 * found.run_per_s
    assert any(UNSPLIT in words for words in found.assumptions)
    assert not any("server" in words and UNSPLIT in words for words in known.assumptions)


def test_windows_of_other_variants_tell_what_the_files_own_do_not():
    """All calls of the file move 8 packets; those of the variant 1 or 15."""

    def alike(stage):
        sums = {"timed_objects_squared": 8 * PACKETS, "timed_objects_cycles": 8 * stage.busy_cycles}
        return stage.model_copy(update=sums) if stage.endpoint == "server" else stage

    of = run()
    (windows,) = of.windows.values()
    plain = [w.model_copy(update={"stages": [alike(s) for s in w.stages]}) for w in windows]
    others = [w.model_copy(update={"phase": "variant", "variant": 1, "index": 100 + w.index}) for w in windows]
    known, alone, varied = (
        what_if(Run(of.path, of.record, {"windtunnel": seen}), LARGER) for seen in (windows, plain, [*plain, *others])
    )
    assert varied.per_s == pytest.approx(known.per_s) and varied.run_per_s == known.run_per_s
    assert alone.low < 0.99 * varied.per_s and any(
        words.startswith("every stage") and UNSPLIT in words for words in alone.assumptions
    )
    assert not any("server" in words and UNSPLIT in words for words in varied.assumptions)


def test_more_work_of_the_handler():
    of = run()
    hz = of.record.engines[0].hello.tsc_hz
    now_ns = 1e9 / what_if(of, []).run_per_s
    _, grows = change(of, f"workload.0.extra_ticks={round(now_ns * hz / 1e9)}")
    assert grows == pytest.approx(-0.5, abs=0.01)


def test_messages_in_flight_limit_a_run_whose_workers_wait():
    of = recorded(client=0.8, server=0.7)
    found, grows = change(of, "client.inflight=2048")
    assert grows == pytest.approx(1.0, abs=0.01) and found.limit == "the messages in flight"
    found, grows = change(of, "client.inflight=65536")
    assert grows == pytest.approx(1 / 0.3 - 1, abs=0.05) and "worker of server" in found.limit


def test_an_offered_load_is_a_limit():
    found, _ = change(recorded(), "client.rate=1000pps")
    assert found.per_s == 1000 and found.limit == "the offered load"


def test_a_nic_that_is_not_here():
    of = recorded()
    (port,) = (port for port in ports_of(of, "e1000") if port.port == "server")
    found, grows = change(of, "server.nic_profile=e1000")
    assert found.not_here == ["the NIC e1000"] and port.ceiling < 1
    assert found.limit == "the PCIe link of the server's e1000" and grows == pytest.approx(port.ceiling - 1)
    assert change(of, "server.nic_profile=mlx5")[1] == pytest.approx(0, abs=1e-6)


def test_an_interval_follows_the_windows():
    wide, narrow = what_if(recorded(), []), what_if(run(), [])
    assert wide.low <= wide.per_s <= wide.high and narrow.low is not None
    few = recorded(windows=3)
    assert what_if(few, []).low is None


@pytest.mark.parametrize(
    "word", ["workload.0.request=1KiB", "wire.kind=null", "server.mempool.size=77", "workload.1.apps=2"]
)
def test_a_key_that_only_a_run_can_show_is_refused_with_those_that_it_takes(word):
    with pytest.raises(UserError, match="only a run shows") as refused:
        what_if(recorded(), [word])
    assert all(key in refused.value.remedy for key in KEYS)


@pytest.mark.parametrize(
    "word", ["server.batch.app_rx=0", "server.batch.app_rxx=4", "server.cores=[0,0]", "server.cores=[5000]"]
)
def test_a_value_that_no_scenario_has_is_refused(word):
    with pytest.raises(UserError):
        what_if(recorded(), [word])


def test_a_run_without_what_it_needs_is_refused():
    of = recorded()
    with pytest.raises(UserError, match="no call of a client and a server was timed"):
        what_if(Run(of.path, of.record, {name: [] for name in of.windows}), [])
    with pytest.raises(UserError, match="this run has no client") as refused:
        what_if(made(scenario=ALONE, host=HOST), [])
    assert "a run of both sides" in refused.value.remedy
    two = made(scenario=CORES | {"workload": [{"handler": "l_app"}, {"handler": "t_app"}]}, host=HOST)
    with pytest.raises(UserError, match="one workload"):
        what_if(two, [])


def test_a_run_with_unlike_groups_is_refused():
    """The law spreads the work evenly over applications and queues."""
    groups = {"handler": "l_app", "apps": 4, "dispatchers": 2, "groups": [3, 1]}
    with pytest.raises(UserError, match="unlike numbers of applications"):
        what_if(made(scenario=CORES | {"workload": [groups]}, host=HOST), [])


def test_the_command(tmp_path):
    plan = sample.plan()
    writer = RunWriter(
        tmp_path / "run",
        sample.spec([plan], ["windtunnel"], resolved=made(scenario=CORES).record.scenario),
        {"hostname": "here"},
    )
    for line in sample.engine_lines(plan):
        writer.line("windtunnel", line, line.model_dump_json())
    writer.finish(Verdict(True))
    asked = ["model", "what-if", str(tmp_path / "run"), "--set", "workload.0.extra_ticks=100"]
    shown, document = (in_process.run(*asked, *more) for more in ((), ("--json",)))
    assert shown.exit_code == document.exit_code == 0, shown.output
    found = json.loads(document.stdout)
    assert found["per_s"] < found["run_per_s"] and found["sets"] == ["workload.0.extra_ticks=100"]
    assert "predicted: " in shown.stdout and f"limit: {found['limit']}" in " ".join(shown.stdout.split())
    assert all(f"assumed: {words}" in " ".join(shown.stdout.split()) for words in found["assumptions"])
    refused = in_process.run(*asked[:3], "--set", "duration=3s")
    assert refused.exit_code != 0
