"""The supervisor against an engine that misbehaves in every way that the verdict knows."""

import os
import selectors
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import sample_windows
from fake_runs import CLIENT, FAKE, behave, gone, script
from sample_plan import make_plan
from variant_tools import variants_of

from windtunnel.engine import supervisor
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.verdict import exit_code, judge
from windtunnel.errors import UserError

pytestmark = pytest.mark.slow


def test_a_good_run_is_valid_and_every_line_is_forwarded(spec):
    finished = spec.run(make_plan())
    assert judge(finished).valid and judge(finished).reasons == []
    assert exit_code(finished, judge(finished)) == 0
    kinds = [kind for _, kind in spec.heard]
    assert kinds == ["phase", "hello", "phase", "ready", *["window"] * 5, "result"]


def test_each_window_of_a_plan_that_holds_its_workers_is_told_to_be_read(spec):
    plan = make_plan()
    held = plan.model_copy(update={"phases": plan.phases.model_copy(update={"hold_windows": True})})
    assert judge(spec.run(held)).reasons == []


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("refuse", "engine refused: no interface wt0 (ip link add wt0 type veth)"),
        ("crash", "engine died: SIGSEGV while opening ./libmine.so"),
        ("crash_running", "engine died: SIGSEGV while running, after window 0"),
        ("old", "protocol error: line 1: hello.version: Input should be 5: "),
        ("wrong_plan", "protocol error: hello names the plan 000000000000, not abababababab"),
        ("garbage", "protocol error: line 6: Invalid JSON: expected ident at line 1 column 2: 'net_ring: not a line'"),
        ("truncated", "no result: the engine exited with code 0 in the middle of a line"),
        ("exit_early", "no result: the engine exited with code 0 before its result"),
        ("no_responses", "no responses: 4000 sent, 3000 lost in workload echo"),
        (
            "stop_responding",
            "no responses: 4000 sent, 3000 lost in workload echo, 1000 responses, none of them in a measured window",
        ),
        (
            "lose_mbufs",
            "ledger open: 3 mbufs missing at the client (pool 8191, free 8000, held by nic_rx descriptors 191)",
        ),
        ("lose_packets", "ledger open: 2 packets missing of 4000 that the client sent"),
        ("lose_messages", "ledger open: 1 messages missing of 4000 in workload echo"),
        ("allocate", "worker allocations: 12 heap allocations on worker threads after start"),
        ("lose_peer", "peer lost: the engine saw the other side go"),
    ],
)
def test_each_fault_makes_the_run_invalid_with_a_reason(spec, monkeypatch, behaviour, reason):
    behave(monkeypatch, behaviour)
    finished = spec.run(make_plan())
    verdict = judge(finished)
    assert not verdict.valid
    assert len(verdict.reasons) == 1
    assert verdict.reasons[0].startswith(reason)
    assert exit_code(finished, verdict) == (2 if behaviour == "refuse" else 1)


@pytest.fixture
def clock(spec, monkeypatch):
    """The supervisor's, by which it has much time, until a line is heard: `clock.after(LINE, S)` lets so much of it pass then."""
    ahead_s = 0.0

    def after(heard, s):
        def listen(name, line, raw):
            nonlocal ahead_s
            if heard in (line.type, getattr(line, "name", None)) and not ahead_s:
                ahead_s = s

        spec.listeners.append(listen)

    for patience in ("OVERDUE_S", "ORDERLY_END_S", "SETUP_SILENCE_S"):
        monkeypatch.setattr(supervisor, patience, 1000.0)
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s))
    return SimpleNamespace(after=after)


@pytest.mark.parametrize(
    ("behaviour", "line", "passed_s", "reason"),
    [
        ("freeze", "window", 1500, "engine killed: no line for 1000.0 s while running, after window 0"),
        ("stubborn", "window", 2500, "engine killed: it exceeded its run time while running, after window "),
        (
            "without_link",
            "waiting for the link",
            1500,
            "engine killed: no link for 1000.0 s (look at the other end of the",
        ),
    ],
)
def test_an_engine_that_is_overdue_is_killed(spec, clock, monkeypatch, behaviour, line, passed_s, reason):
    clock.after(line, passed_s)
    behave(monkeypatch, behaviour)
    [said] = judge(spec.run(make_plan())).reasons
    assert said.startswith(reason)


@pytest.mark.parametrize(
    ("behaviour", "windows", "reason"),
    [
        ("close_early", 1, "engine killed: it closed its output and did not exit while running, after window 0"),
        ("exit_late", 5, "engine killed: it did not exit after its last line while ending"),
    ],
)
def test_an_engine_that_does_not_exit_is_killed(spec, clock, monkeypatch, behaviour, windows, reason):
    def hurry(name, line, raw):
        if [kind for _, kind in spec.heard].count("window") == windows:
            monkeypatch.setattr(supervisor, "OVERDUE_S", 0.05)

    spec.listeners.append(hurry)
    behave(monkeypatch, behaviour)
    [said] = judge(spec.run(make_plan())).reasons
    assert said.startswith(reason)


def test_silence_before_the_run_ends_it_too(spec, monkeypatch):
    monkeypatch.setattr(supervisor, "SETUP_SILENCE_S", 0.05)
    verdict = judge(spec.run(make_plan(), binary=script(spec.directory, "sleep 60")))
    assert verdict.reasons == ["engine killed: no line for 0.1 s while starting"]


def test_an_exit_code_without_an_error_line_is_a_death(spec):
    verdict = judge(spec.run(make_plan(), binary=script(spec.directory, "exit 2")))
    assert verdict.reasons == ["engine died: exit code 2 while starting"]


def test_a_killed_engine_loses_no_line_that_it_has_written_whole(spec, monkeypatch, tmp_path):
    """All but the first come, and it dies, while the first is handled; then its end is seen before them."""
    behave(monkeypatch, "killed_in_a_line")
    monkeypatch.setenv("FAKE_MARK", str(tmp_path / "go-on"))
    select = selectors.DefaultSelector.select
    monkeypatch.setattr(selectors.DefaultSelector, "select", lambda *of: select(*of)[::-1])
    pids = []

    def wait_for_its_end(name, line, raw):
        if line.type == "hello":
            pids.append(line.pid)
        elif line.type == "window":
            (tmp_path / "go-on").touch()
            assert gone(pids[0])

    spec.listeners.append(wait_for_its_end)
    verdict = judge(spec.run(make_plan()))
    assert verdict.reasons == ["engine died: SIGKILL while running, after window 9"]
    assert [kind for _, kind in spec.heard].count("window") == 10
    assert spec.log("windtunnel").read_text() == "its last words"


def test_run_without_a_measured_window(spec):
    verdict = judge(spec.run(make_plan(duration_ms=1)))
    assert verdict.reasons == ["nothing measured: no window of the phase measure"]


def test_drop_and_generator_expect_no_responses(spec, monkeypatch):
    behave(monkeypatch, "no_responses")
    assert judge(spec.run(make_plan(packet_handler="drop"))).valid
    assert judge(spec.run(make_plan(CLIENT, kind="null"))).valid


def test_engine_that_cannot_be_started(spec):
    with pytest.raises(UserError, match="cannot be started: Permission denied"):
        spec.run(make_plan(), binary=spec.directory)


def test_output_of_drivers_is_ignored(spec, monkeypatch):
    behave(monkeypatch, "chatter")
    assert judge(spec.run(make_plan())).valid
    assert spec.log("windtunnel").read_text().count("a driver that talks\n") == 200_000


def test_children_of_the_engine_end_with_it(spec, monkeypatch):
    behave(monkeypatch, "children")
    assert judge(spec.run(make_plan())).valid
    child = int(spec.log("windtunnel").read_text().split()[1])
    assert gone(child)


def test_engine_has_a_process_group_of_its_own_in_our_session(spec, monkeypatch):
    behave(monkeypatch, "until_stopped")
    places = []

    def look(name, line, raw):
        if line.type == "hello":
            places.append((line.pid, os.getpgid(line.pid), os.getsid(line.pid)))
            os.kill(os.getpid(), signal.SIGINT)

    spec.listeners.append(look)
    spec.run(make_plan())
    [(pid, group, session)] = places
    assert (group, session) == (pid, os.getsid(0))


def test_first_interrupt_ends_the_run_in_order(spec, monkeypatch):
    behave(monkeypatch, "until_stopped")
    before = signal.getsignal(signal.SIGINT)
    finished = spec.run(make_plan(), at_window=lambda: os.kill(os.getpid(), signal.SIGINT))
    verdict = judge(finished)
    assert verdict.reasons == ["stopped before the end: interrupted by the user"]
    assert exit_code(finished, verdict) == 130
    assert finished.histories[0].result.reason == "stopped"
    assert ("windtunnel", "result") in spec.heard
    assert signal.getsignal(signal.SIGINT) is before


def test_a_crash_names_the_plug_in_that_ran_in_the_engine(spec, monkeypatch):
    behave(monkeypatch, "crash_running")
    plan = make_plan()
    workload = plan.workloads[0]
    mine = workload.model_copy(update={"handler": workload.handler.model_copy(update={"name": "/tmp/libmine.so"})})
    verdict = judge(spec.run(plan.model_copy(update={"workloads": [mine]})))
    assert verdict.reasons == [
        "engine died: SIGSEGV while running, after window 0, with the plug-in /tmp/libmine.so loaded"
    ]


def test_a_measurement_is_extended(spec):
    asked = []

    def more(name):
        asked.append(name)
        return 4 if len(asked) == 2 else 0

    plan = make_plan()
    planned = plan.phases.duration_ns // plan.phases.window_ns
    finished = spec.run(plan, extending=SimpleNamespace(most_ns=9 * plan.phases.window_ns, more=more))
    assert judge(finished).valid
    assert finished.histories[0].measured == len(asked) == planned + 4


def test_second_interrupt_kills(spec, monkeypatch):
    behave(monkeypatch, "stubborn")

    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)

    finished = spec.run(make_plan(), at_window=twice)
    assert finished.interrupted and finished.histories[0].exit_code == -signal.SIGKILL
    assert judge(finished).reasons == ["stopped before the end: interrupted by the user"]


def test_ignored_interrupts_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupts.count == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_parent_killed_ends_the_engine(tmp_path):
    program = (
        f"import sys; sys.path[:0] = [{str(FAKE.parent)!r}]\n"
        "from fake_runs import RunSpec, Path; from sample_plan import make_plan\n"
        f"run = RunSpec(Path({str(tmp_path)!r}))\n"
        "run.listeners = [lambda n, line, raw: print(line.pid, flush=True) if line.type == 'hello' else None]\n"
        "run.run(make_plan())\n"
    )
    environment = os.environ | {"FAKE_ENGINE": "until_stopped"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        engine = int(parent.stdout.readline())
        parent.kill()
    assert gone(engine)


def test_full_disk_ends_the_run(spec, monkeypatch):
    behave(monkeypatch, "until_stopped")

    def full():
        raise UserError("windows.jsonl: cannot be written: No space left on device")

    finished = spec.run(make_plan(), at_window=full)
    assert judge(finished).reasons == ["run directory: windows.jsonl: cannot be written: No space left on device"]
    assert exit_code(finished, judge(finished)) == 1


def test_a_reader_that_has_left_ends_the_run_in_order(spec, monkeypatch):
    behave(monkeypatch, "until_stopped")

    def unread():
        raise BrokenPipeError

    finished = spec.run(make_plan(), at_window=unread)
    assert judge(finished).reasons == ["stopped before the end: the reader of its progress has left"]
    assert exit_code(finished, judge(finished)) == 1
    assert finished.histories[0].result.reason == "stopped"


def test_an_exception_of_the_supervisor_ends_the_engine(spec, monkeypatch):
    behave(monkeypatch, "until_stopped")
    pids = []

    def broken(name, line, raw):
        if line.type == "hello":
            pids.append(line.pid)
            raise ZeroDivisionError

    spec.listeners.append(broken)
    with pytest.raises(ZeroDivisionError):
        spec.run(make_plan())
    assert gone(pids[0])


def limits(plan, more_ns=0):
    """By when an engine must end, and how long it may be silent, after its first window. `more_ns`: by which it may be extended."""
    engine = SimpleNamespace(history=SimpleNamespace(plan=plan))
    watched = supervisor._Watched(engine, 1.0, 1, plan.phases.duration_ns + more_ns)
    watched.heard(sample_windows.window(phase="warmup"), 0.0)
    return watched.end_by, watched.silence_s


def test_a_measurement_that_may_be_extended_is_not_taken_for_overdue():
    plan = make_plan()
    assert limits(plan, more_ns=10**9)[0] == pytest.approx(limits(plan)[0] + 1.0)


def test_an_engine_may_settle_between_its_windows():
    """Beside what it measures; and as long as it settles there may be no line."""
    plan = make_plan()
    end_by, silence_s = limits(plan)
    settling = plan.model_copy(update={"variants": variants_of(2, settle_ns=10**9)})
    assert limits(settling)[0] - end_by == pytest.approx(3.0)  # of 60 ms in windows of 20 ms
    assert limits(settling)[1] - silence_s == pytest.approx(1.0 - 0.02)
