"""What a real run leaves as evidence: for want of what calls stalled, what calls cost, and events of the workers' threads."""

import pytest
from command_line import windtunnel
from real_runs import PATIENT, after, execute, scenario
from scenario_tools import LENIENT, written

from windtunnel.engine.find import find_engine
from windtunnel.engine.windows import StageWindow
from windtunnel.exchange.recorded import read_recorded
from windtunnel.measure.validity import call_cost
from windtunnel.runs import load
from windtunnel.runs.counters import Absent, Asked, Count, event_rows, read_counters
from windtunnel.runs.monitor import monitored_texts, read_monitor

WANTS = tuple(name.removeprefix("stalled_for_") for name in StageWindow.model_fields if name.startswith("stalled_for_"))
"""Those of parts, too."""


def stages(run):
    return [stage for of in run.windows.values() for window in of for stage in window.stages]


def stalls(run, side, stage):
    mine = [each for each in stages(run) if (each.endpoint, each.stage) == (side, stage)]
    return {want: sum(getattr(each, f"stalled_for_{want}") for each in mine) for want in WANTS}


@pytest.mark.parametrize("level", ["counts", "sampled", "cycles", "histograms"])
def test_every_stalled_call_has_what_it_wanted_and_sums_are_of_timed_work(tmp_path, level):
    data = scenario(accounting={"level": level}, client={"ring_size": 16, "inflight": 1024})
    run = execute(tmp_path, data, *PATIENT).run
    for stage in stages(run):
        assert stage.stalled_calls == sum(getattr(stage, f"stalled_for_{want}") for want in WANTS)
        sums = (stage.timed_work_calls, stage.timed_objects_squared, stage.timed_objects_cycles)
        if level == "counts":
            assert sums == (0, 0, 0)
            continue
        assert stage.timed_work_calls <= stage.timed_objects <= stage.timed_objects_squared
        assert stage.timed_objects**2 <= stage.timed_work_calls * stage.timed_objects_squared  # Cauchy-Schwarz
        assert stage.timed_objects_cycles >= stage.busy_cycles - stage.stall_cycles
        if level == "cycles" and not stage.interrupted_calls:
            assert stage.timed_work_calls == sum(n for size, n in stage.burst.items() if size)
            assert stage.timed_objects_squared == sum(size * size * n for size, n in stage.burst.items())


def test_a_port_that_is_full_is_told_from_a_ring_and_a_pool(tmp_path):
    run = execute(tmp_path, scenario(server={"rx_descriptors": 32}, accounting={"level": "counts"}), *PATIENT).run
    for stage in ("nic_tx", "disp_tx"):
        found = stalls(run, "client", stage)
        assert found["ring"] == found["mbufs"] == 0 and (found["port"] > 0 or stage == "disp_tx")


def test_calls_of_a_real_run_split(tmp_path):
    """Of 48 messages in flight the bursts are of 32 and of 16, on a busy host as on a quiet one."""
    data = scenario(accounting={"level": "cycles"}, client={"inflight": 48}, **after(50_000))
    run = execute(tmp_path, data, *LENIENT, *PATIENT).run
    mine = [each for each in stages(run) if (each.endpoint, each.stage) == ("server", "app_rx")]
    assert call_cost(mine) is not None


def test_events_of_workers(tmp_path):
    file = written(tmp_path, scenario(duration="400ms"))
    sets = [part for key in (*LENIENT, *PATIENT) for part in ("--set", key)]
    events = "task-clock,page-faults,cycles,llc-occupancy"
    words = ("run", file, *sets, "--no-report", "--out", tmp_path / "run", "--counters", events)
    ended = windtunnel(*words, cwd=tmp_path, WINDTUNNEL_ENGINE=str(find_engine()))
    assert ended.returncode in (0, 1), ended.stderr
    run = load(tmp_path / "run")
    asked, *lines = read_counters(run.path)
    assert asked == Asked(events=events.split(","))
    (engine,) = run.record.engines
    threads = {w.worker: w.thread for of in run.windows.values() for window in of for w in window.workers}
    assert len(set(threads.values())) == len(engine.plan.workers) and all(threads.values())
    named = {(line.event, line.worker) for line in lines}
    assert named == {(event, worker) for event in asked.events for worker in threads}
    absent = {line.event for line in lines if isinstance(line, Absent)}
    if "task-clock" in absent:
        pytest.skip("no event can be opened here")
    clocks = [line for line in lines if isinstance(line, Count) and line.event == "task-clock"]
    assert all(line.counted > 0 and line.enabled_ns == line.running_ns for line in clocks)
    windows = {window.index: window for of in run.windows.values() for window in of}
    assert all(line.at_ns == windows[line.window].end_ns for line in clocks)
    rows = {(row.event, row.worker): row for row in event_rows(run)}
    for event in absent:
        assert all(rows[event, worker].value is None and rows[event, worker].words for worker in threads)
    assert "task-clock" in ended.stdout and all(event in ended.stdout for event in absent)


def test_a_wrong_event_is_refused_before_anything_runs(tmp_path):
    file = written(tmp_path, scenario())
    ended = windtunnel("run", file, "--out", tmp_path / "run", "--counters", "cycels", cwd=tmp_path)
    assert ended.returncode == 2 and "cycels" in ended.stderr and "context-switches" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_repeated_runs_refuse_them(tmp_path):
    ended = windtunnel("run", written(tmp_path, scenario()), "--repeat", "2", "--counters", "cycles", cwd=tmp_path)
    assert ended.returncode == 2 and "--counters" in ended.stderr


def test_the_monitor_keeps_what_this_host_has_in_the_run_directory(tmp_path):
    file = written(tmp_path, scenario(duration="400ms"))
    sets = [part for key in (*LENIENT, *PATIENT) for part in ("--set", key)]
    words = ("run", file, *sets, "--no-report", "--out", tmp_path / "run", "--monitor", "cpus,pcie")
    ended = windtunnel(*words, cwd=tmp_path, WINDTUNNEL_ENGINE=str(find_engine()))
    assert ended.returncode in (0, 1), ended.stderr
    asked, *lines = read_monitor(tmp_path / "run")
    (engine,) = load(tmp_path / "run").record.engines
    assert asked.cpus == sorted(worker.cpu for worker in engine.plan.workers)
    assert {line.tool for line in lines} == {"/proc/stat", "pcm-pcie"}
    (text,) = [path for path in monitored_texts(tmp_path / "run") if "proc" in path.name]
    shares = read_recorded(text)
    assert shares.tool == "/proc/stat" and all(0 <= reading.value <= 1 for reading in shares.readings)
    assert all(f"busy share of CPU {cpu}" in {reading.name for reading in shares.readings} for cpu in asked.cpus)
    assert "/proc/stat" in ended.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "echo", "--monitor", "llcs"), "no metric: 'llcs'"),
        (("run", "echo", "--repeat", "2", "--monitor", "llc"), "--monitor"),
        (("monitor", "llc", "--cpus", "70000"), "--cpus: CPU 70000 is not online"),
        (("monitor", "pause", "--interface", "../lo"), "--interface: no interface ../lo"),
        (("monitor", "cpus", "--duration", "0s"), "--duration"),
    ],
)
def test_a_wrong_switch_is_refused_before_anything_is_started(tmp_path, words, told):
    ended = windtunnel(*words, "--out", tmp_path / "run", cwd=tmp_path)
    assert ended.returncode == 2 and told in ended.stderr and not (tmp_path / "run").exists()
