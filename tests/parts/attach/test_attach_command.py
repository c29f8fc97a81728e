"""windtunnel attach and twin, on an application in slow motion whose costs are sleeps: they last as long as they are told, or longer."""

import json
import os
import signal
import subprocess

import forked
import pytest
from attach_tools import SLOW_MOTION, application, wait_for
from command_line import in_process

from windtunnel.engine.find import find_engine
from windtunnel.parts.attach import experiments
from windtunnel.stats.mean import LEAST

pytestmark = pytest.mark.slow
ALL_THREADS = 7
FEWEST_ROUNDS = LEAST
"""Of which a slope has an interval."""
COSTS = {"ports": 1, "burst": 8, "rx_us": 200, "app_us": 600, "tx_us": 100}


def attach(*arguments, cwd):
    """Its stdin stays open: an application that it starts reads there, and ends at its end."""
    reads, writes = os.pipe()
    try:
        return forked.run(["attach", *arguments], text=True, timeout=60, cwd=cwd, stdin=reads)
    finally:
        os.close(reads)
        os.close(writes)


def documents(done):
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_a_running_application_is_observed_and_left_as_it_was(tmp_path):
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        done = attach(app.pid, "--for", "3s", "--present", "1", "--out", "run", "--json", cwd=tmp_path)
        app.tell("halt")
        assert app.foreign() == 0
    document = documents(done)
    assert document["observed"]["program"] == "slow_motion"
    ns = {row["stage"]: row["work_ns"] for row in document["metrics"]["stages"]}
    assert ns["driver rx"] >= 200_000 / 8 * 0.99
    assert ns["application"] >= 600_000 / 8 * 0.99
    assert ns["driver tx"] >= 100_000 / 8 * 0.99
    assert ns["application"] > ns["driver rx"] > ns["driver tx"]
    shown = forked.run(["show", "run"], cwd=tmp_path, text=True)
    assert "Threads of the data path" in (tmp_path / "run/report.html").read_text()
    assert "lcore" in shown.stdout


def test_a_command_is_started_with_the_probe_and_ended(tmp_path):
    costs = [f"{key}={value}" for key, value in (COSTS | {"control": ALL_THREADS}).items()]
    done = attach("--for", "1s", "--window", "100ms", "--out", "run", "--json", "--", SLOW_MOTION, *costs, cwd=tmp_path)
    assert documents(done)["observed"]["command"][0] == str(SLOW_MOTION)


def test_an_application_that_ends_is_said(tmp_path):
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        command = ["attach", str(app.pid), "--for", "60s", "--window", "100ms", "--out", "run", "--json"]
        watching = forked.Command(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        wait_for(
            lambda: (
                (tmp_path / "run/observation.jsonl").exists() and (tmp_path / "run/observation.jsonl").stat().st_size
            ),
            "a window",
            watching,
        )
        app.process.kill()
        printed, _ = watching.communicate(timeout=60)
    assert watching.returncode == 1
    assert "application ended" in json.loads(printed)["verdict"]["reasons"][0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_an_observer_that_is_killed_or_stopped_leaves_the_application_as_it_was(tmp_path, number):
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        command = ["attach", str(app.pid), "--for", "60s", "--present", "1", "--out", "run"]
        watching = forked.Command(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: app.foreign() > 0, "wrapped", watching)
            watching.send_signal(number)
            wait_for(lambda: app.foreign() == 0, "the drivers' own again")
        finally:
            watching.kill()
            watching.wait()


def test_an_interrupt_keeps_what_was_observed(tmp_path):
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        command = ["attach", str(app.pid), "--for", "60s", "--window", "100ms", "--out", "run", "--json"]
        watching = forked.Command(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        wait_for(
            lambda: (
                (tmp_path / "run/observation.jsonl").exists() and (tmp_path / "run/observation.jsonl").stat().st_size
            ),
            "a window",
            watching,
        )
        watching.send_signal(signal.SIGINT)
        printed, _ = watching.communicate(timeout=60)
        assert watching.returncode == 130
        assert json.loads(printed)["verdict"]["reasons"]
        app.tell("halt")
        assert app.foreign() == 0


def test_an_application_that_ends_while_it_is_delayed_is_said(tmp_path):
    keys = ["--for", "2s", "--window", "100ms", "--present", "1", "--causal", "--anyway", "--out", "run"]
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        command = ["attach", str(app.pid), *keys]
        watching = forked.Command(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        steps = tmp_path / "run/experiments.jsonl"
        wait_for(lambda: steps.exists() and steps.stat().st_size, "a step", watching)
        app.process.kill()
        printed, refusal = watching.communicate(timeout=60)
    assert watching.returncode in (0, 1) and printed and "Traceback" not in refusal
    assert json.loads(steps.read_text().splitlines()[-1])["reason"] == "the process has ended"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs another CPU than that of the data path")
def test_the_observer_keeps_off_the_cpu_of_the_data_path(tmp_path):
    all_cpus = os.sched_getaffinity(0)
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        command = ["attach", str(app.pid), "--for", "60s", "--out", "run"]
        with forked.Command(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as watching:
            wait_for(lambda: os.sched_getaffinity(watching.pid) < all_cpus, "it has left a CPU", watching)
            watching.send_signal(signal.SIGINT)


def test_a_second_observer_is_refused(tmp_path):
    with application(preload=False, control=ALL_THREADS, **COSTS) as app:
        command = ["attach", str(app.pid), "--for", "60s", "--present", "1", "--out", "run"]
        watching = forked.Command(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: app.foreign() > 0, "wrapped", watching)
            second = attach(app.pid, "--for", "1s", "--out", "second", cwd=tmp_path)
            assert second.returncode == 2
            assert "another process observes" in second.stderr
        finally:
            watching.kill()
            watching.wait()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((os.getpid(),), "no DPDK in it"),
        ((2**22 + 1,), "no such process"),
        (("nobody-has-this-name",), "no DPDK application"),
        (("1", "--for", "1s", "--window", "2s"), "longer than --for"),
        (("1", "--anyway"), "--causal"),
        (("--", "/nowhere/testpmd"), "cannot be started"),
        (("--", "/bin/true"), "before it had DPDK"),
        (("1", "--pairs", "5"), "--against"),
        (("testpmd", "--against", "new/testpmd"), "A is testpmd, which is no command"),
        (("--against", "testpmd", "--", "old/testpmd"), "B is testpmd, which is no command"),
        (("--against", "new/testpmd '", "--", "old/testpmd"), "No closing quotation"),
        (("--against", "", "--", "old/testpmd"), "an empty command"),
        (("--against", "b", "--telemetry", "--", "./a"), "leave out --telemetry"),
    ],
)
def test_bad_input_is_refused_in_words(tmp_path, arguments, words):
    done = attach(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_list_has_it(tmp_path):
    with application(preload=False, control=ALL_THREADS) as app:
        listed = documents(attach("--list", "--json", cwd=tmp_path))
    assert [entry["pid"] for entry in listed if entry["pid"] == app.pid] == [app.pid]


def test_experiments_are_made_and_what_shows_nothing_says_why(tmp_path, monkeypatch):
    """Bursts of 8 of 40 that are asked for, and no call without a packet: there is nothing to fill, and each thread can be delayed."""
    monkeypatch.setattr(experiments, "ROUNDS", FEWEST_ROUNDS)
    keys = ["--for", "1s", "--window", "100ms", "--present", "1", "--causal", "--headroom", "--out", "run"]
    with application(preload=False, lcores=2, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        done = in_process("attach", app.pid, *keys, cwd=tmp_path, WINDTUNNEL_ENGINE=str(find_engine()))
        app.tell("halt")
        assert app.foreign() == 0
    steps = [json.loads(line) for line in (tmp_path / "run/experiments.jsonl").read_text().splitlines()]
    causal = [step for step in steps if step["kind"] == "causal"]
    assert len(causal) == 3 * FEWEST_ROUNDS
    assert len({step["thread"] for step in causal}) == 3  # both, and none
    assert all((step["delay_ns"] > 0) == (step["thread"] > 0) for step in causal)
    assert {step["kind"] for step in steps} == {"causal", "not shown"}
    assert "slope" in done.stdout
    assert "no idle time to fill" in done.stdout


def test_two_commands_are_observed_in_turn(tmp_path):
    """Its verdict is the host's matter: on a busy one too few windows are left."""
    command = tmp_path / "slow_motion.sh"
    keys = " ".join(f"{key}={value}" for key, value in (COSTS | {"control": ALL_THREADS}).items())
    # its input stays open for as long as it lives
    typed = "echo loop; exec tail --pid=$$ -f /dev/null 2> /dev/null"
    command.write_text(f"#!/bin/bash\nexec {SLOW_MOTION} {keys} < <({typed})\n")
    command.chmod(0o755)
    done = attach(
        *("--for", "500ms", "--window", "100ms", "--pairs", "3", "--out", "runs", "--json"),
        *("--against", str(command), "--", command),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 3), done.stderr
    comparison = documents(done)
    assert [point["judged"][0]["workload"] for point in comparison["points"]] == ["slow_motion"]
    assert sorted(path.name for path in (tmp_path / "runs/b").iterdir()) == ["01", "02", "03"]
    assert (tmp_path / "runs/report.html").is_file()


def test_ctrl_c_ends_experiments(tmp_path):
    """An application of another user may have hundreds of threads, and each of them an experiment."""
    keys = ["--for", "1s", "--window", "100ms", "--present", "1", "--causal", "--out", "run"]
    steps = tmp_path / "run/experiments.jsonl"
    with application(preload=False, lcores=2, control=ALL_THREADS, **COSTS) as app:
        app.tell("loop")
        with forked.Command(["attach", str(app.pid), *keys], cwd=tmp_path) as command:
            wait_for(lambda: steps.is_file() and steps.stat().st_size, "a step of an experiment", command)
            command.send_signal(signal.SIGINT)
            assert command.wait(30) == 130
        app.tell("halt")
        assert app.foreign() == 0
    *made, last = [json.loads(line) for line in steps.read_text().splitlines()]
    assert len(made) < 120 and last["reason"] == "the user has stopped it"


def test_the_child_of_an_application_that_had_the_probe_is_observed(tmp_path):
    """A fork takes the library along, and neither its page nor its thread."""
    with application(control=ALL_THREADS, **COSTS) as app:
        child = int(app.tell("daemon")["daemon"])
        try:
            done = attach(child, "--for", "1s", "--window", "100ms", "--out", "run", "--json", cwd=tmp_path)
        finally:
            os.kill(child, signal.SIGKILL)
    assert documents(done)["observed"]["pid"] == child
