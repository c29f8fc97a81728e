"""One run that changes between windows, on the real engine: what was changed shows, and nothing is lost by it."""

from collections import Counter
from itertools import pairwise

import pytest
from real_runs import PATIENT, assert_sound, messages, scenario
from scenario_tools import LENIENT, written
from variant_tools import variant

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.plan import Delay
from windtunnel.engine.plan_values import STAGES
from windtunnel.measure.variants import SETTLE_NS, execute_variants
from windtunnel.runs import load as load_run
from windtunnel.scenario import load

KEYS = {"duration": "600ms", "warmup": "50ms", "window": "50ms"}
WINDOWS = 12
EVERY = {"client": STAGES, "server": [stage for stage in STAGES if stage != "app_tx"]}


def changing(directory, *changed, settle_ns=SETTLE_NS, **keys):
    """A run of an echo as it is and changed; its ledgers close, and every measured window is there."""
    with Interrupts() as interrupts:
        file = written(directory, scenario(**KEYS | keys))
        ended = execute_variants(
            load(file, [*LENIENT, *PATIENT]), changed, directory / "run", interrupts, settle_ns=settle_ns
        )
    run = ended.kept_run()
    assert_sound(load_run(run.path))
    assert [row.measured for row in run.record.variants] == [WINDOWS // (1 + len(changed))] * (1 + len(changed))
    (ledger,) = run.record.engines[0].result.messages
    assert ledger.in_flight == 0 and ledger.lost == 0
    return run


def windows_of(run):
    (windows,) = run.windows.values()
    return windows


def batches(size):
    return {side: dict.fromkeys(stages, size) for side, stages in EVERY.items()}


def test_windows_have_the_variants_of_the_order_and_settle_at_each_change(tmp_path):
    run = changing(tmp_path, variant("slow", [Delay(endpoint="server", stage="app_rx", ns=500.0)]))
    order = run.record.engines[0].plan.variants.order
    varied = [window for window in windows_of(run) if window.phase in ("measure", "variant")]
    assert [window.variant for window in varied] == order[:WINDOWS]
    assert all((window.phase == "measure") == (window.variant == 0) for window in varied)
    for before, after in pairwise(window for window in windows_of(run) if window.phase not in ("drain",)):
        changes = before.variant != after.variant
        assert (after.phase == "settle") == changes, (before.phase, after.phase)
        if changes:
            assert after.end_ns - after.start_ns >= run.record.engines[0].plan.variants.settle_ns
    warmup = [window for window in windows_of(run) if window.phase == "warmup"]
    assert {window.variant for window in warmup} == {0}


def test_a_delay_is_what_the_stage_counts_of_it(tmp_path):
    """Of each object of the delayed stage in windows of its variant, and of nothing else: the workers' ticks hold it."""
    delay_ns = 500.0
    run = changing(tmp_path, variant("slow", [Delay(endpoint="server", stage="app_rx", ns=delay_ns)]))
    ticks = delay_ns * run.record.engines[0].hello.tsc_hz / 1e9
    delayed = 0
    for window in windows_of(run):
        for stage in window.stages:
            if window.variant == 1 and (stage.endpoint, stage.stage) == ("server", "app_rx"):
                if window.phase == "variant":
                    delayed += stage.objects  # a busy host takes the CPUs for a whole window
                    assert stage.delay_cycles == pytest.approx(stage.objects * ticks, abs=1, rel=1e-5)
                    (worker,) = [worker for worker in window.workers if worker.worker == stage.worker]
                    assert worker.cycles > 0.9 * stage.delay_cycles
            elif window.phase in ("measure", "variant"):
                assert stage.delay_cycles == 0
    assert delayed > 0
    plain, slow = run.record.variants
    assert plain.delay_ns == 0
    if slow.windows:  # a busy host may have every one of them excluded
        assert slow.delay_ns == pytest.approx(delay_ns, rel=0.1)  # objects in app_rx against responses at the client
        assert slow.ns_per_message.median > 0.9 * delay_ns


def test_batches_change_and_nothing_is_lost(tmp_path):
    run = changing(tmp_path, variant("64", batch=batches(64)), variant("1", batch=batches(1)))
    most = {0: 32, 1: 64, 2: 1}
    seen = dict.fromkeys(most, 0)
    for window in windows_of(run):
        if window.phase in ("measure", "variant"):
            largest = max(burst for stage in window.stages for burst in stage.burst)
            assert largest <= most[window.variant]
            seen[window.variant] = max(seen[window.variant], largest)
    assert seen[2] == 1 < seen[0] <= 32 < seen[1]


def test_the_inflight_budget_falls_and_rises_and_nothing_is_lost(tmp_path):
    client = {"inflight": 4096, "batch": {"app_tx": 64}, "mempool": {}}
    run = changing(tmp_path, variant("one", inflight=1), client=client, settle_ns=100_000_000)  # also beside others
    most, responses = {0: 4096, 1: 1}, Counter()
    without_cpu = {mark.window for mark in run.record.validity.excluded}  # they may not have settled
    for window in windows_of(run):
        if window.phase in ("measure", "variant"):
            assert window.index in without_cpu or window.workloads[0].in_flight <= most[window.variant]
            responses[window.variant] += window.workloads[0].responses  # a busy host takes the CPUs for a whole window
    assert responses[0] and responses[1]
    assert messages(run).sent == messages(run).responses


def test_the_metrics_of_the_run_are_those_of_the_first_variant(tmp_path):
    run = changing(tmp_path, variant("slow", [Delay(endpoint="server", stage="nic_rx", ns=5000.0)]))
    (counted,) = run.counted.values()
    plain = [window for window in counted if window.phase == "measure"]
    assert {window.variant for window in plain} == {0}
    excluded = {mark.window for mark in run.record.validity.excluded}
    assert len([window for window in plain if window.index not in excluded]) == run.record.variants[0].windows
    assert load_run(run.path).record.variants == run.record.variants


def test_a_server_refuses_what_it_does_not_run(tmp_path):
    with Interrupts() as interrupts:
        file = written(tmp_path, scenario(**KEYS))
        ended = execute_variants(
            load(file), [variant("odd", batch={"server": {"app_tx": 8}})], tmp_path / "run", interrupts
        )
    assert ended.exit_code == 2
    assert any("no worker of this plan runs app_tx of the server" in reason for reason in ended.verdict.reasons)
