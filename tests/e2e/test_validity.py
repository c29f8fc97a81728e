"""Validity on the real engine: another process on a worker's core, and a client that is too slow for its rate."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from from_the_world import FILES
from scenario_tools import written

import windtunnel
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import Window
from windtunnel.measure.execute import execute
from windtunnel.runs import load as load_run
from windtunnel.scenario import here, load, resolve

SPIN = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"


@pytest.fixture
def busy_cpu():
    """A CPU on which another process spins as long as the test lasts, and the name of that process."""
    cpu = max(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)], stdout=subprocess.PIPE) as spinning:
        spinning.stdout.readline()
        yield cpu, Path(f"/proc/{spinning.pid}/comm").read_text().strip()
        spinning.kill()


def test_preemption_by_a_busy_process_is_reported_with_its_time_and_name(tmp_path, busy_cpu):
    busy_cpu, name = busy_cpu
    data = {"workload": [{"handler": "l_app"}], "server": {"cores": [busy_cpu]}}
    sets = {"duration": "1500ms", "warmup": "200ms", "window": "300ms"}
    run = windtunnel.run(written(tmp_path, data), sets, out=tmp_path / "run")
    validity = run.record.validity
    named = [reason for window in validity.excluded for reason in window.reasons if f"on CPU {busy_cpu} for" in reason]
    assert named and all(reason.startswith("preempted on CPU") for reason in named)
    (words,) = [check.words for check in validity.checks if check.name == "windows"]
    assert f"preempted on CPU {busy_cpu} for" in words and f"{name} " in words.partition(", by ")[2]
    workers = [each for of in run.windows["windtunnel"] for each in of.workers if each.cpu == busy_cpu]
    assert all(each.longest_pause_ns <= each.preempted_ns for each in workers)
    assert any(each.longest_pause_ns < each.preempted_ns for each in workers), "main looks more than once in a window"
    if not run.record.verdict.valid:
        assert f"CPU {busy_cpu}" in run.record.verdict.reasons[0]


def test_a_client_too_slow_for_its_rate_has_unsent_and_no_lost_requests(tmp_path):
    """One message a loop, and the server in the same loop: whoever takes the core takes it from both."""
    cpu = max(os.sched_getaffinity(0))
    data = {
        "client": {"rate": "50Mpps", "inflight": 4096, "cores": [cpu], "batch": {"app_tx": 1}},
        "server": {"cores": [cpu]},
        "workload": [{"handler": "l_app", "timeout": "10s"}],
    }
    lenient = {"validity.max_preempted": 1, "validity.max_slowdown": 1, "validity.max_drift": 1}
    sets = {"duration": "600ms", "warmup": "100ms", "window": "200ms"} | lenient
    run = windtunnel.run(written(tmp_path, data), sets, out=tmp_path / "run")
    (reason,) = run.record.verdict.reasons
    assert reason.startswith("generator: the client is too slow") and "are unsent" in reason
    (ledger,) = run.record.engines[0].result.messages
    assert ledger.lost == 0 and ledger.unsent > 0


def test_a_full_inflight_budget_is_counted_and_clocks_and_cores_are_checked(tmp_path):
    data = {"client": {"rate": "50Mpps", "inflight": 32}, "workload": [{"handler": "l_app", "timeout": "10s"}]}
    lenient = {
        "validity.max_preempted": 1,
        "validity.max_slowdown": 1,
        "validity.max_drift": 1,
        "validity.max_unsent": 1,
    }
    sets = {"duration": "400ms", "warmup": "100ms", "window": "200ms"} | lenient
    run = windtunnel.run(written(tmp_path, data), sets, out=tmp_path / "run")
    measured = [window for window in run.windows["windtunnel"] if window.phase == "measure"]
    assert sum(workload.inflight_full for window in measured for workload in window.workloads) > 0
    assert all(worker.chain_ticks > 0 and worker.wide_ticks > 0 for window in measured for worker in window.workers)
    assert abs(run.record.engines[0].result.clock_error_ppm) < 1000
    assert run.record.engines[0].ready.stamp_ticks > 0


def heard(tmp_path, data, at_window):
    """A run of the real engine; `at_window` gets the engine's process id once, after the third measured window."""
    pids, seen = [], []

    def listen(name, line, raw):
        if isinstance(line, Hello):
            pids.append(line.pid)
        if isinstance(line, Window) and line.phase == "measure":
            seen.append(line)
            if len(seen) == 3:
                at_window(pids[0])

    spec = resolve(load(written(tmp_path, data), []), here())
    with Interrupts() as interrupts:
        return execute(spec, tmp_path / "run", interrupts, [listen])


SHORT = {"duration": "1500ms", "warmup": "100ms", "window": "100ms", "workload": [{"handler": "l_app"}]}


def test_a_window_in_which_the_engine_was_stopped_is_excluded_and_no_handler_is_blamed(tmp_path):
    def stop(pid):
        # within the next window: while the supervisor reads one, the run's time may stand still
        for after_s, what in ((0.03, signal.SIGSTOP), (0.33, signal.SIGCONT)):
            threading.Timer(after_s, os.kill, (pid, what)).start()

    ended = heard(tmp_path, SHORT, stop)
    validity = ended.kept_run().record.validity
    stopped = [e for e in validity.excluded if any("the process was stopped" in reason for reason in e.reasons)]
    assert stopped and any("instead of 100 ms" in reason for reason in stopped[0].reasons)
    (accounting,) = [check for check in validity.checks if check.name == "accounting"] or [None]
    assert accounting is None or accounting.state != "warning"


def test_an_interrupted_run_is_checked_over_what_it_measured(tmp_path):
    ended = heard(tmp_path, SHORT | {"duration": "60s"}, lambda pid: os.kill(os.getpid(), signal.SIGINT))
    run = load_run(ended.kept_run().path)
    assert (ended.exit_code, ended.interrupted, run.rejected, run.record.rejected) == (130, True, True, True)
    assert run.record.verdict.reasons[0] == "stopped before the end: interrupted by the user"
    assert {"windows", "clock"} <= {check.name for check in run.record.validity.checks}


def test_a_capture_of_a_vlan_is_dropped_and_the_verdict_names_the_key(tmp_path):
    data = {
        "wire": {"kind": "pcap", "replay": str(FILES / "vlan.pcap")},
        "server": {},
        "workload": [{"packet_handler": "echo"}],
    }
    sets = {"duration": "90ms", "warmup": "30ms", "window": "30ms"}
    run = windtunnel.run(written(tmp_path, data), sets, out=tmp_path / "run")
    (check,) = [check for check in run.record.validity.checks if check.name == "traffic"]
    assert check.state == "warning" and check.words.startswith("the server dropped all ")
    assert check.words.endswith("). tagged: they have the tag of VLAN 200: server.vlan = 200")
