"""The probe gets into a process that runs; the thread that loads it does not notice, and what cannot be done is said."""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from attach_tools import INJECT, PROBE, RX, Application, application, inject, observe, observe_wrapped, wait_for
from processes import open_paths

pytestmark = pytest.mark.slow
TELEMETRY, MESSAGES, INTERRUPTS = 1, 2, 4
NAMES = {TELEMETRY: "telemetry-v2", MESSAGES: "rte_mp_handle", INTERRUPTS: "eal-intr-thread"}


@pytest.mark.parametrize("kind", NAMES)
def test_each_kind_of_control_thread_loads_it_and_goes_on_as_before(kind: int) -> None:
    with application(preload=False, control=kind) as app:
        app.tell("loop")
        done = inject(app.pid)
        assert done.returncode == 0, done.stderr
        assert f"its thread {NAMES[kind]} (" in done.stdout
        assert app.memfds() == 1
        app.tell("halt")
        reply, page = observe_wrapped(app, "run 500")
        assert [c["calls"] for c in page["channel"] if c["direction"] == RX] == [500, 500]
        assert reply["broken"] == 0
        assert app.tell("pointers")["broken"] == 0


def test_the_signal_mask_is_the_threads_own_again() -> None:
    with application(preload=False, control=TELEMETRY) as app:
        inject(app.pid)
        (thread,) = [tid for tid in app.tids() if app.comm(tid) == NAMES[TELEMETRY]]
        status = Path(f"/proc/{app.pid}/task/{thread}/status").read_text()
    blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
    assert int(blocked.split()[1], 16) == 1 << (signal.SIGUSR2 - 1)


def test_a_second_time_is_no_error_and_loads_nothing() -> None:
    with application(preload=False, control=TELEMETRY) as app:
        inject(app.pid)
        again = inject(app.pid)
        assert again.returncode == 0
        assert again.stdout == f"process {app.pid} has the probe already\n"
        assert app.memfds() == 1
        assert app.threads().count("wt-attach") == 1


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, a sentence, and a remedy below it."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    sentence, remedy, *rest = done.stderr.splitlines()
    assert sentence.startswith("error: ")
    assert remedy.startswith("  ")
    assert rest == []
    for word in words:
        assert word in done.stderr


def test_a_process_without_a_control_thread_is_refused() -> None:
    with application(preload=False) as app:
        refused(inject(app.pid), "no thread of DPDK's asleep", "LD_PRELOAD", "-d LIBRARY")
        assert app.memfds() == 0


def test_a_process_that_a_debugger_has_is_refused() -> None:
    strace = shutil.which("strace") or shutil.which("gdb")
    if not strace:
        pytest.skip("there is no strace here")
    with application(preload=False, control=TELEMETRY) as app:
        tracer = subprocess.Popen([strace, "-f", "-p", str(app.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            wait_for(lambda: "TracerPid:\t0" not in Path(f"/proc/{app.pid}/status").read_text(), "traced")
            refused(inject(app.pid), "is traced by process")
        finally:
            tracer.terminate()
            tracer.communicate()


def test_a_stopped_process_is_refused_and_goes_on_later() -> None:
    with application(preload=False, control=TELEMETRY) as app:
        os.kill(app.pid, signal.SIGSTOP)
        wait_for(lambda: "State:\tT" in Path(f"/proc/{app.pid}/status").read_text(), "stopped")
        refused(inject(app.pid), "is stopped by a signal", "kill -CONT")
        os.kill(app.pid, signal.SIGCONT)
        assert app.tell("pointers")["broken"] == 0
        assert inject(app.pid).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a process and the probe's file"),
        (["x", str(PROBE)], "a process and the probe's file"),
        (["999999999", str(PROBE)], "there is no process 999999999"),
        (["2", str(PROBE)], "process"),
    ],
)
def test_what_is_no_process_is_refused(arguments: list[str], words: str) -> None:
    refused(subprocess.run([INJECT, *arguments], check=False, capture_output=True, text=True), words)


def test_a_file_that_is_not_there_and_one_that_is_no_library_are_refused(tmp_path: Path) -> None:
    with application(preload=False, control=TELEMETRY) as app:
        refused(inject(app.pid, tmp_path / "none.so"), "none.so: No such file")
        text = tmp_path / "text.so"
        text.write_text("no library")
        refused(inject(app.pid, text), "did not take the library")
        assert app.tell("pointers")["broken"] == 0
        assert inject(app.pid).returncode == 0


def test_a_probe_that_refuses_says_so() -> None:
    with application(preload=False, control=TELEMETRY, release=(20, 11)) as app:
        refused(inject(app.pid), "DPDK 20.11 is not known", "telemetry")


def test_the_child_of_a_process_that_had_the_probe_gets_one_of_its_own() -> None:
    with application(control=TELEMETRY) as app:
        child = int(app.tell("daemon")["daemon"])
        try:
            wait_for(lambda: not any("windtunnel-attach" in path for path in open_paths(child)), "closed")
            done = inject(child)
            assert done.returncode == 0, done.stderr
            assert observe(child, **{"for": 100})["port"][0]["wraps"] == 1
            assert app.memfds() == 1
        finally:
            os.kill(child, signal.SIGKILL)


def try_to_kill(app: Application, draw: random.Random, longest_s: float) -> None:
    """Injects, kills the injector at some moment, and finishes if the application has no probe then."""
    injector = subprocess.Popen([INJECT, str(app.pid), PROBE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(draw.random() * longest_s)
    injector.kill()
    injector.wait()
    assert app.tell("pointers")["broken"] == 0
    done = inject(app.pid)
    assert done.returncode == 0, done.stderr
    assert app.tell("run 20")["foreign"] == 0
    assert app.tell("pointers")["broken"] == 0
    assert app.memfds() == 1


@pytest.mark.parametrize("seed", range(8))
def test_an_injector_that_is_killed_at_any_moment_leaves_the_application_as_it_was(seed: int) -> None:
    with application(preload=False, control=TELEMETRY | INTERRUPTS) as app:
        try_to_kill(app, random.Random(seed), 0.006)


@pytest.mark.long("many-kills")
def test_an_injector_that_is_killed_at_a_thousand_moments() -> None:
    draw = random.Random()
    for _ in range(1000):
        with application(preload=False, control=TELEMETRY | MESSAGES | INTERRUPTS) as app:
            try_to_kill(app, draw, 0.008)


def test_an_application_that_is_killed_meanwhile() -> None:
    for pause in (0.0, 0.001, 0.002, 0.004):
        with application(preload=False, control=TELEMETRY) as app:
            injector = subprocess.Popen([INJECT, str(app.pid), PROBE], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(pause)
            app.process.kill()
            printed, said = injector.communicate(timeout=30)
            assert injector.returncode in (0, 2)
            assert printed if injector.returncode == 0 else said.startswith(b"error: ")
