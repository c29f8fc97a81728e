"""The probe of the host on the real engine: a window has one, unless it is short, and time stands still meanwhile."""

import pytest
from real_runs import run_well, scenario

TICK_NS = 10_000_000
"""Of the clock in which the kernel counts system time."""
KEYS = {"duration": "3s", "warmup": "100ms", "window": "100ms"}
"""Thirty probes: on a busy host one worker or the other has no CPU at most of them."""


@pytest.mark.alone
def test_two_workers_probe_the_way_between_them(tmp_path):
    run = run_well(tmp_path, scenario(**KEYS))
    windows = [window for window in run.windows["windtunnel"] if window.phase == "measure"]
    probes = [window.probe for window in windows if window.probe]
    complete = [probe for probe in probes if probe.complete]
    for probe in complete:
        assert [(pair.a, pair.b) for pair in probe.pairs] == [(0, 1)] and probe.pairs[0].line_ns > 1
        assert [worker.worker for worker in probe.workers] == [0, 1]
        assert all(worker.alone_ticks > 0 and worker.together_ticks > 0 for worker in probe.workers)
        assert probe.held_ns > 0
    assert complete, "the two workers never came to a probe together"


def test_workers_on_one_cpu_are_not_probed(tmp_path):
    run = run_well(tmp_path, scenario(client={"cores": [0]}, server={"cores": [0]}, **KEYS | {"duration": "500ms"}))
    workers = run.record.engines[0].plan.workers
    probes = [window.probe for window in run.windows["windtunnel"] if window.probe and window.probe.complete]
    assert all(not probe.pairs for probe in probes) or len({worker.cpu for worker in workers}) == len(workers)


def test_windows_say_what_the_kernel_did_for_each_worker_meanwhile(tmp_path):
    """What threads need at their start is in the first window alone."""
    first, *later = run_well(tmp_path, scenario(**KEYS)).windows["windtunnel"]
    faults = [sum(worker.minor_faults for worker in window.workers) for window in (first, *later)]
    assert faults[0] > max(faults[1:])
    for worker in (worker for window in (first, *later) for worker in window.workers):
        assert worker.system_ns % TICK_NS == 0 and worker.system_ns <= worker.on_cpu_ns + TICK_NS
        assert worker.major_faults <= worker.minor_faults
