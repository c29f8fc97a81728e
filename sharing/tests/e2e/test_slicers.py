"""Slicers share a core among threads that know nothing of it, and leave them as they were, however they end."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sharing_tools import (
    CPUS,
    PATIENCE_S,
    POLL,
    SLEEP,
    alone_on_this_machine,
    as_before,
    cpu_cgroup,
    needs_rights,
    needs_two_cpus,
    python_tenant,
    tenant,
    until,
)
from tenant_tools import needs_native

from windtunnel.errors import UserError
from windtunnel_sharing import sched, threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.native import ThreadRefused
from windtunnel_sharing.slicers import SLICERS, Member, warnings
from windtunnel_sharing.slicers import slicer as slicer_module
from windtunnel_sharing.slicers.slicer import LEAST_INTERVAL_NS
from windtunnel_sharing.slicers.weights import LEAST_NICE, kernel_weight, steps

pytestmark = pytest.mark.alone
CPU = CPUS[-1]
SLICE_NS = 200_000
LATE_NS = 1_000_000
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
LEAST_TURNS = 100
HOLDER = """
import sys, time
from pathlib import Path
from windtunnel_sharing.changed_threads import held
from windtunnel_sharing.slicers import SLICERS, Member
with held(Path(sys.argv[1])) as journal, SLICERS[sys.argv[2]](journal) as slicer:
    slicer.start(int(sys.argv[3]), 200_000)
    slicer.set_members([Member(int(tid), 256) for tid in sys.argv[4:]])
    print("sliced", flush=True)
    time.sleep(600)
"""


alone = pytest.fixture(alone_on_this_machine, scope="module", autouse=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A host may be busy."""
    monkeypatch.setattr(slicer_module, "RESPONSE_S", PATIENCE_S)


@pytest.fixture
def journal(tmp_path):
    with closing(Journal(tmp_path / "a.journal")) as opened:
        yield opened


@pytest.fixture
def polling():
    """Two threads that always poll."""
    with tenant(POLL) as one, tenant(POLL) as two:
        yield one, two


def started(name, journal):
    needs_native("slicer")
    slicer = SLICERS[name](journal)
    if slicer.missing(CPU):
        pytest.skip(f"{name}: {slicer.missing(CPU)}")
    slicer.start(CPU, SLICE_NS)
    return slicer


def members(*processes):
    return [Member(each.pid) for each in processes]


def all_read(processes):
    return {each.pid: threads.read(each.pid) for each in processes}


@needs_rights
def test_a_turn_is_longer_by_what_it_costs_whatever_its_weight(journal, polling):
    """Of 1 ms half is cost: turns of 1.25 and 0.75 ms at weights 3 to 1, in place of 1.5 and 0.5."""
    needs_native("slicer")
    with SLICERS["rotor"](journal, turn_cost_ns=500_000) as slicer:
        slicer.start(CPU, 1_000_000)
        slicer.set_members([Member(each.pid, weight) for each, weight in zip(polling, (300, 100), strict=True)])
        readings = []
        until(lambda: readings.append(slicer.read()) or sum(one.kicks for one in readings) >= 3 * LEAST_TURNS)
    ran = [sum(one.members[which].ran_ns for one in readings) for which in (0, 1)]
    assert 0.56 < ran[0] / sum(ran) < 0.69


@needs_rights
@pytest.mark.parametrize("least_nice", [0, LEAST_NICE])
def test_the_heaviest_member_has_a_right_only_if_it_may_have_one(journal, polling, least_nice):
    needs_native("slicer")
    light, heavy = polling
    with SLICERS["kicker"](journal, least_nice=least_nice) as slicer:
        slicer.start(CPU, SLICE_NS)
        slicer.set_members([Member(light.pid, 1), Member(heavy.pid, 5000)])
        assert (os.getpriority(os.PRIO_PROCESS, heavy.pid) < 0) == (least_nice < 0)
        assert any("is less than the kernel can give" in warning for warning in slicer.read().warnings) == (
            least_nice == 0
        )


@needs_rights
@pytest.mark.parametrize("name", SLICERS)
def test_members_share_the_core_and_are_restored(journal, polling, name):
    one, two = polling
    with started(name, journal) as slicer:
        before = all_read(polling)
        slicer.set_members([Member(one.pid, 256), Member(two.pid, 128)])
        assert [os.sched_getaffinity(each.pid) for each in polling] == [{CPU}, {CPU}]
        ran, kicks = [0, 0], [0]

        def both_ran():
            reading = slicer.read()
            kicks[0] += reading.kicks
            # switches while it is read count, and the first interval may be a millisecond
            late = LATE_NS / reading.interval_ns
            assert reading.cpu == CPU and reading.interval_ns > 0 and 0 <= reading.own_share <= 1.01 + late
            wanted = [member.entitled for member in reading.members]
            assert None in wanted or [round(part, 3) for part in wanted] == [0.667, 0.333]
            for at, member in enumerate(reading.members):
                ran[at] += member.ran_ns
            return None not in wanted and all(ran) and (kicks[0] > 0 or slicer.mechanism == "watch")

        until(both_ran)
        slicer.set_members([Member(two.pid, 128)])
        assert threads.read(one.pid) == before[one.pid] and os.sched_getaffinity(two.pid) == {CPU}
        slicer.stop()
        assert as_before(before)()


@needs_rights
@pytest.mark.parametrize("name", ["kicker", "rotor"])
def test_a_killed_slicer_leaves_its_members_as_they_were(journal, polling, name):
    before = all_read(polling)
    with started(name, journal) as slicer:
        slicer.set_members(members(*polling))
        os.kill(slicer.pid, signal.SIGKILL)
        until(as_before(before))
        with pytest.raises(UserError, match="has ended: SIGKILL"):
            slicer.read()


@needs_rights
@pytest.mark.parametrize("name", ["kicker", "rotor"])
@pytest.mark.parametrize("ask", ["change weights", "take one out", "read", "stop"])
def test_a_stopped_slicer_is_killed_and_leaves_its_members_as_they_were(journal, polling, monkeypatch, name, ask):
    one, two = polling
    before = all_read(polling)
    with started(name, journal) as slicer:
        slicer.set_members(members(*polling))
        pid = slicer.pid
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(slicer_module, "RESPONSE_S", 0.05)
        asks = {
            "change weights": lambda: slicer.set_members([Member(one.pid, 1), Member(two.pid)]),
            "take one out": lambda: slicer.set_members([Member(two.pid)]),
            "read": slicer.read,
        }
        if ask == "stop":
            slicer.stop()
        else:
            with pytest.raises(UserError, match=r"sent no line for 0.05 s"):
                asks[ask]()
            with pytest.raises(UserError, match="has ended: windtunnel-slicer sent no line"):
                slicer.read()
        assert threads.stat(pid) is None and as_before(before)()


@needs_rights
def test_a_command_to_a_stopped_slicer_does_not_wait_for_room(journal, monkeypatch):
    with started("kicker", journal) as slicer:
        os.kill(slicer.pid, signal.SIGSTOP)
        monkeypatch.setattr(slicer_module, "RESPONSE_S", 0.05)
        slicer._native.send({"do": "members", "members": ["x" * 80] * 4096})


@needs_rights
@pytest.mark.parametrize("name", ["kicker", "rotor"])
def test_a_killed_parent_restores_the_members_and_ends_the_slicer(tmp_path, polling, name):
    needs_native("slicer")
    os.setpriority(os.PRIO_PROCESS, polling[0].pid, 2)
    before = all_read(polling)
    path = tmp_path / "a.journal"
    command = [sys.executable, "-c", HOLDER, path, name, str(CPU), *(str(each.pid) for each in polling)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "sliced\n"
        assert threads.read(polling[0].pid)["affinity"] == (CPU,)
        holder.kill()
    until(lambda: not path.exists())
    assert as_before(before)()


@needs_rights
def test_a_member_that_ends_does_not_affect_the_others(journal, polling):
    one, two = polling
    with started("rotor", journal) as slicer:
        slicer.set_members(members(one, two))
        one.kill()
        one.wait()
        slicer.read()
        until(lambda: slicer.read().members[1].ran_ns > 0)
        with pytest.raises(UserError, match="no such thread"):
            slicer.set_members(members(one, two))
        slicer.set_members(members(two))


@needs_rights
def test_a_slicer_that_ends_at_a_thread_says_which(journal, polling):
    """It is in a cgroup without a real-time budget."""
    one, two = polling
    with cpu_cgroup("windtunnel-test") as (hierarchy, group):
        if not (threads.mounts()[hierarchy] / "cpu.rt_runtime_us").exists():
            pytest.skip("no real-time budgets of cgroups here")
        threads.move(one.pid, hierarchy, group)
        try:
            with started("rotor", journal) as slicer, pytest.raises(ThreadRefused, match="SCHED_FIFO") as refused:
                slicer.set_members(members(one, two))
                until(lambda: slicer.read() is None)
            assert refused.value.tid == one.pid
        finally:
            threads.move(one.pid, hierarchy, "/")


SLEEP_THEN_POLL = f"{SLEEP}\n{POLL}"
NOTICES = """
import os, signal, sys
sys.stdin.readline()
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
def mine(): return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
had = {mine()}
def end(*_):
    had.add(mine())
    print("policies and nice values:", *had, flush=True)
    sys.exit(len(had) > 1)
signal.signal(signal.SIGTERM, end)
print("notices", flush=True)
while True: had.add(mine())
"""


def used_again(stack, process):
    """Ends a process. Another one that has its number from then on, and notices when its policy or nice value is changed."""
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        LAST_PID.write_text(str(process.pid - 1))
        other = stack.enter_context(python_tenant(NOTICES))
        if other.pid == process.pid:
            other.stdin.write("begin\n")  # its nice value is set by now
            assert other.stdout.readline() == "notices\n"
            return other
        other.kill()
    return pytest.skip("other processes had the number")


def unchanged(process):
    process.terminate()
    print(process.communicate()[0])
    return process.returncode == 0


needs_numbers = pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="needs CAP_CHECKPOINT_RESTORE")


def turns(slicer, count):
    """Waits for so many."""
    seen = []
    until(lambda: seen.append(slicer.read().kicks) or sum(seen) >= count)


@needs_rights
@needs_numbers
@pytest.mark.parametrize("name", ["kicker", "rotor", "rotor-far"])
def test_new_weights_are_for_no_other_process_of_a_number(journal, polling, name):
    with ExitStack() as stack:
        one, two, three = (stack.enter_context(tenant(POLL)), *polling)
        slicer = stack.enter_context(started(name, journal))
        slicer.set_members(members(one, two, three))
        other = used_again(stack, one)
        slicer.set_members([Member(one.pid, 16), Member(two.pid), Member(three.pid)])
        turns(slicer, LEAST_TURNS)
        assert slicer.read().members[0].ran_ns == 0
        assert unchanged(other)


@needs_rights
@needs_numbers
@pytest.mark.parametrize("name", ["rotor", "rotor-far"])
def test_no_other_process_of_a_number_is_raised_after_a_rest(journal, name):
    """One that polls beside those that sleep is not looked at, until one of them wakes."""
    with ExitStack() as stack:
        one, *later = (stack.enter_context(tenant(script)) for script in (POLL, SLEEP_THEN_POLL, SLEEP_THEN_POLL))
        until(lambda: all(state(each.pid) == "S" for each in later))
        slicer = stack.enter_context(started(name, journal))
        slicer.set_members(members(one, *later))
        other = used_again(stack, one)
        for each in later:
            each.stdin.write("\n")
        turns(slicer, LEAST_TURNS)
        assert unchanged(other)


@needs_rights
@needs_numbers
@pytest.mark.parametrize("raised", [False, True])
def test_no_other_process_of_a_number_is_changed_in_long_turns(journal, polling, raised):
    with ExitStack() as stack:
        one = stack.enter_context(tenant(POLL))
        slicer = stack.enter_context(started("rotor", journal))
        slicer.set_slice(200_000_000)
        slicer.set_members(members(one, *polling))
        has_turn = lambda: sched.get(one.pid).policy == sched.FIFO
        until(lambda: has_turn() != raised)
        until(lambda: has_turn() == raised)
        other = used_again(stack, one)
        turns(slicer, 4)
        assert unchanged(other)


def forked_as(number):
    """A process of this number, which sleeps. Skips in words where others are faster."""
    for _ in range(100):
        LAST_PID.write_text(str(number - 1))
        pid = os.fork()
        if pid == 0:
            signal.pause()
        if pid == number:
            return
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    pytest.skip("other processes had the number")


@needs_rights
@needs_numbers
@needs_two_cpus
@pytest.mark.parametrize("which_try", range(3))
def test_no_other_process_of_a_number_is_raised_at_once(journal, polling, which_try):
    """The one that had it had strayed, and so ended between two of its turns: a number once counted as the same for 50 ms."""
    with tenant(POLL) as one, started("rotor", journal) as slicer:
        slicer.set_slice(20_000_000)
        slicer.set_members(members(one, *polling))
        turns(slicer, 6)
        os.sched_setaffinity(one.pid, CPUS[:1])
        one.kill()
        one.wait()
        forked_as(one.pid)
        try:
            seen = set()
            kicks = []
            until(
                lambda: seen.add(os.sched_getscheduler(one.pid)) or kicks.append(slicer.read().kicks) or sum(kicks) >= 6
            )
            assert seen == {os.SCHED_OTHER}
        finally:
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)


@needs_rights
@pytest.mark.parametrize("name", ["rotor", "rotor-far"])
def test_who_sleeps_gets_no_turn_until_it_wakes(journal, polling, name):
    with tenant() as asleep, tenant(SLEEP_THEN_POLL) as later, started(name, journal) as slicer:
        until(lambda: state(asleep.pid) == state(later.pid) == "S")
        slicer.set_members(members(*polling, asleep, later))

        def halves():
            """The two that poll divide the core, and each of their turns is one slice."""
            seen = interval(slicer)
            first, second, *sleepers = seen.members
            took_turns = seen.kicks >= LEAST_TURNS and seen.mean_slice_ns < 1.5 * SLICE_NS
            return (
                took_turns
                and all(member.entitled is not None and member.share > 0.4 for member in (first, second))
                and all(member.entitled is None and member.ran_ns == 0 for member in sleepers)
            )

        until(halves)
        later.stdin.write("\n")
        until(lambda: interval(slicer).members[3].share > 0.2)


def state(tid):
    return (threads.PROC / str(tid) / "stat").read_text().rpartition(")")[2].split()[0]


def interval(slicer):
    """A reading long enough to tell who wanted the core."""
    slicer.read()
    time.sleep(1.5 * LEAST_INTERVAL_NS / 1e9)
    return slicer.read()


EXECS_IN_ITS_TURN = """
import os, threading
def work():
    print(threading.get_native_id(), flush=True)
    while os.sched_getscheduler(0) != os.SCHED_FIFO | os.SCHED_RESET_ON_FORK: pass
    os.execvp("sleep", ["sleep", "600"])
threading.Thread(target=work).start()
"""


@needs_rights
@pytest.mark.parametrize("name", ["rotor", "rotor-far"])
def test_a_member_that_execs_in_its_turn_is_raised_for_no_longer(journal, polling, name):
    """It has the number of the first thread of its process then, which is no member."""
    with python_tenant(EXECS_IN_ITS_TURN) as process, started(name, journal) as slicer:
        worker = int(process.stdout.readline())
        slicer.set_slice(50_000_000)
        slicer.set_members([Member(worker), *members(polling[0])])
        until(lambda: threads.name(process.pid) == "sleep")
        until(lambda: sched.get(process.pid).policy == sched.OTHER)
        assert threads.started(worker) is None and polling[0].poll() is None


@needs_rights
def test_the_slice_changes_while_it_runs(journal, polling):
    with started("kicker", journal) as slicer:
        slicer.set_members(members(*polling))
        slicer.set_slice(1_000_000)
        assert slicer.read().slice_ns == 1_000_000
        if sched.default_slice_ns():
            assert threads.read(polling[0].pid)["runtime_ns"] == 850_000


def test_invalid_slices_weights_and_cpus_are_refused(journal):
    needs_native("slicer")
    with tenant() as one:
        for slice_ns in (0, 9_999, 10**9 + 1):
            with pytest.raises(UserError, match="a slice of"):
                SLICERS["tick"](journal).start(CPU, slice_ns)
        with pytest.raises(UserError, match="CPU 4095 is not one"):
            SLICERS["kicker"](journal).start(4095, SLICE_NS)
        with pytest.raises(UserError, match="not started"):
            SLICERS["kicker"](journal).set_members([Member(one.pid)])
        with SLICERS["tick"](journal) as slicer:
            slicer.start(CPU, SLICE_NS)
            for weight in (0, -1, 10**9):
                with pytest.raises(UserError, match="a weight of"):
                    slicer.set_members([Member(one.pid, weight)])
            with pytest.raises(UserError, match="twice"):
                slicer.set_members([Member(one.pid), Member(one.pid)])
        assert journal.tids == []


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=64))
def test_a_weight_lies_between_its_steps(weights):
    found, said = steps(weights)
    heaviest = max(range(len(weights)), key=weights.__getitem__)
    unit = kernel_weight(found[heaviest].high) / weights[heaviest]
    assert found[heaviest].high == found[heaviest].low
    beyond = 0
    for weight, one in zip(weights, found, strict=True):
        if weight * unit < kernel_weight(19):
            beyond += 1
            assert (one.high, one.low) == (19, 19)
        else:
            assert kernel_weight(one.low) <= weight * unit * (1 + 1e-9) and weight * unit <= kernel_weight(one.high) * (
                1 + 1e-9
            )
            assert one.low - one.high in (0, 1)
    assert len(said) == beyond


def test_members_in_different_groups_are_warned_of(tmp_path, monkeypatch):
    """Autogroups, a cpu cgroup of v1, and threads that are older than autogroups: their files are empty."""
    given = {
        1: ("0::/\n", "/autogroup-7 nice 0\n"),
        2: ("0::/\n", "/autogroup-7 nice 0\n"),
        3: ("0::/\n", ""),
        4: ("4:cpu,cpuacct:/a\n", ""),
    }
    for tid, (cgroup, autogroup) in given.items():
        (tmp_path / str(tid)).mkdir()
        (tmp_path / str(tid) / "cgroup").write_text(cgroup)
        (tmp_path / str(tid) / "autogroup").write_text(autogroup)
    monkeypatch.setattr(threads, "PROC", tmp_path)
    monkeypatch.setattr(warnings, "AUTOGROUP", tmp_path / "enabled")
    assert warnings.autogroups([1, 2]) == set()
    (tmp_path / "enabled").write_text("1\n")
    assert warnings.autogroups([1, 2]) == {"/autogroup-7"}
    assert warnings.autogroups([1, 2, 3, 4, 5]) == {"/autogroup-7", "root", "cgroup /a"}


@pytest.mark.parametrize(("name", "refused"), [("rotor", True), ("kicker", False)])
def test_who_would_be_ended_for_being_real_time_is_not_made_so(journal, name, refused):
    """A limit as LimitRTTIME= of a unit sets it: the kernel adds up all turns."""
    needs_rights()
    with tenant(POLL) as one:
        resource.prlimit(one.pid, resource.RLIMIT_RTTIME, (200_000, 200_000))
        with SLICERS[name](journal) as slicer:
            slicer.start(CPU, SLICE_NS)
            if refused:
                with pytest.raises(threads.CannotChange, match="RLIMIT_RTTIME"):
                    slicer.set_members([Member(one.pid, 256)])
            else:
                slicer.set_members([Member(one.pid, 256)])
        assert one.poll() is None
