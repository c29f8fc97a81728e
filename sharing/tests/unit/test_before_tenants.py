"""Whoever restores tenants runs before them, and only meanwhile."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import termios
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import pytest
from daemon_tools import Running, tenant_toml, write
from sharing_tools import (
    CPUS,
    POLL,
    SLEEP,
    as_before,
    needs_rights,
    needs_two_cpus,
    share_restore,
    started,
    tenant,
    until,
)
from tenant_tools import needs_native

from windtunnel_sharing import guardian, left_behind, own_process, sched, threads
from windtunnel_sharing.before_tenants import before_tenants
from windtunnel_sharing.native import SLICER
from windtunnel_sharing.slicers.slicer import RAISED
from windtunnel_sharing.slicers.weights import LEAST_NICE, MOST_NICE

pytestmark = pytest.mark.slow
FIRST = (sched.FIFO, 99, sched.RESET_ON_FORK)
CPU = CPUS[-1]
MANY = 20_000
REMOVES = "windtunnel_sharing.pools.remove_groups"
HOLDER = """
import sys
from pathlib import Path
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.slicers.slicer import RAISED
path, cpu, *tids = sys.argv[1:]
journal = Journal(Path(path))
print("ready", flush=True)
sys.stdin.readline()
for tid in map(int, tids):
    journal.change(tid, affinity=(int(cpu),), policy=RAISED)
print("changed", flush=True)
sys.stdin.read()
"""
TELLS = """
import threading
from windtunnel_sharing import threads
from windtunnel_sharing.before_tenants import before_tenants
def tell():
    print(*threads.read(threading.get_native_id())["policy"])
tell()
with before_tenants():
    tell()
tell()
"""

LIMITED = """
import resource, sys, threading
from windtunnel_sharing import threads
from windtunnel_sharing.before_tenants import before_tenants, put_before_tenants
pid, *limit = map(int, sys.argv[1:])
put_before_tenants(pid)
resource.setrlimit(resource.RLIMIT_RTTIME, limit)
with before_tenants():
    print(threads.read(threading.get_native_id())["policy"][0])
print(threads.read(threading.get_native_id())["policy"][0])
"""


def mine() -> threads.Fields:
    return threads.read(threading.get_native_id())


@needs_rights
def test_a_thread_runs_first_and_afterwards_as_before():
    seen = []

    def ordinary():
        sched.put(0, sched.Attributes(sched.BATCH, 0, 3, 400_000))
        seen.append(mine())
        with before_tenants():
            seen.append(mine())
            with tenant() as started:
                seen.append(threads.read(started.pid)["policy"])
        seen.append(mine())

    worker = threading.Thread(target=ordinary)
    worker.start()
    worker.join()
    before, first, child, after = seen
    assert first == before | {"policy": FIRST, "runtime_ns": 0, "timer_slack_ns": 0}
    assert child == (sched.OTHER, 0, 0) and after == before


@needs_rights
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ([], ["0 0 0", "0 0 0", "0 0 0"]),
        (["chrt", "-f", "7"], ["1 7 0", "1 7 0", "1 7 0"]),
        (["chrt", "-f", "99"], ["1 99 0", "1 99 1", "1 99 1"]),
    ],
    ids=["ordinary", "real-time", "first"],
)
def test_who_has_no_right_runs_as_before(how, said):
    """Nor may it lose the flag again, if it was first."""
    without = [*how, "setpriv", "--bounding-set=-sys_nice", sys.executable, "-c", TELLS]
    done = subprocess.run(without, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == said, done.stderr


@needs_rights
@pytest.mark.parametrize("flags", [0, sched.RESET_ON_FORK])
def test_a_deadline_thread_runs_as_before(flags):
    """It starts no thread, without the flag, and is not given its own values back."""
    deadline = ["chrt", *(["-R"] if flags else []), "-d", "-T", "5000000", "-D", "10000000", "-P", "10000000", "0"]
    done = subprocess.run([*deadline, sys.executable, "-c", TELLS], capture_output=True, text=True, check=False)
    if "failed to set" in done.stderr:
        pytest.skip(done.stderr)
    assert done.stdout.split() == ["6", "0", str(flags)] * 3, done.stderr


@needs_rights
def test_on_a_host_that_starts_no_more_threads_it_restores_all_the_same(monkeypatch):
    def full(thread):
        raise RuntimeError("can't start new thread")

    before = mine()
    slice_ns = sched.default_slice_ns()
    sched.default_slice_ns.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", full)
    with before_tenants():
        assert mine()["policy"] == FIRST
    assert mine() == before and sched.default_slice_ns() == slice_ns


@needs_rights
def test_a_limit_of_real_time_is_there_again_afterwards():
    limits = "import resource; print(resource.getrlimit(resource.RLIMIT_RTTIME))"
    code = f"{limits}\nfrom windtunnel_sharing.before_tenants import before_tenants\nwith before_tenants(): {limits}\n{limits}"
    limited = ["prlimit", "--rttime=500000:", sys.executable, "-c", code]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    before, meanwhile, after = done.stdout.splitlines()
    assert before == after == "(500000, -1)" and meanwhile == "(-1, -1)", done.stderr


UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
LIMITS = {"soft": (100_000, resource.RLIM_INFINITY), "hard": (100_000, 100_000)}
"""Of real-time CPU time, us. Who has no CAP_SYS_RESOURCE takes away the first only."""


@needs_rights
@pytest.mark.parametrize(("kind", "left"), [("soft", UNLIMITED), ("hard", LIMITS["hard"])])
def test_no_limit_of_real_time_ends_what_restores(kind, left):
    """A process that keeps its limit stays ordinary: the kernel would kill it in the middle."""
    without = ["setpriv", "--bounding-set=-sys_resource", "sh", "-c", f"echo ready\n{SLEEP}"]
    with started(*without) as process:
        resource.prlimit(process.pid, resource.RLIMIT_RTTIME, LIMITS[kind])
        tells = subprocess.run(
            [
                "setpriv",
                "--bounding-set=-sys_resource",
                sys.executable,
                "-c",
                LIMITED,
                str(process.pid),
                *map(str, LIMITS[kind]),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert resource.prlimit(process.pid, resource.RLIMIT_RTTIME) == left
        assert (threads.read(process.pid)["policy"][0] == sched.FIFO) == (kind == "soft")
    assert tells.stdout.split() == (["1", "0"] if kind == "soft" else ["0", "0"]), tells.stderr


def test_a_guardian_needs_no_new_thread_when_it_restores(monkeypatch, tmp_path):
    """A host may be full by then. The default slice is asked for in one."""
    done, holder = [], threads.Process.of(os.getpid())
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sched, "default_slice_ns", lambda: done.append("default slice"))
    monkeypatch.setattr(os, "read", lambda *_: done.append("waited") or b"")
    guardian.main(tmp_path / "gone.journal", 0, holder)
    assert done == ["default slice", "waited"]


@needs_rights
def test_a_command_and_a_start_that_restore_run_first(tmp_path, monkeypatch):
    seen = []

    def restored(path):
        seen.append(mine()["policy"])
        return left_behind.Restored(0, [], False)

    monkeypatch.setattr(left_behind, "restore", restored)
    monkeypatch.setattr(left_behind, "journals", lambda: [tmp_path / "a.journal"])
    before = mine()
    assert share_restore()[0] == 0 and mine() == before
    left_behind.restore_all(print)
    assert seen == [FIRST, FIRST] and mine() == before


@contextmanager
def elsewhere() -> Iterator[None]:
    """This process, and what it starts, is on other CPUs than CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {CPU})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def two_tenants() -> Iterator[dict[int, threads.Fields]]:
    """That poll, and how they run. At the end they run so again: who is killed does not end behind one that is real-time."""
    with tenant(POLL) as one, tenant(POLL) as other:
        before = {process.pid: threads.read(process.pid) for process in (one, other)}
        try:
            yield before
        finally:
            for pid, then in before.items():
                threads.write(pid, then)


@contextmanager
def no_time_left(priority: int = 0) -> Iterator[None]:
    """For whoever is ordinary on CPU: of what the kernel keeps from real-time threads a poller takes nearly all. With a priority: nor for who is
    real-time below it."""
    with started("setsid", "sh", "-c", f"echo ready\n{POLL}") as poller:
        weigh(poller.pid, LEAST_NICE)
        os.sched_setaffinity(poller.pid, {CPU})
        if priority:
            os.sched_setscheduler(poller.pid, os.SCHED_FIFO, os.sched_param(priority))
        yield


def confine(pid: int) -> None:
    """A process, which has what it needs, to CPU, where an ordinary one is the last to run."""
    weigh(pid, MOST_NICE)
    for tid in threads.threads_of(pid):
        os.sched_setaffinity(tid, {CPU})


def weigh(pid: int, nice: int) -> None:
    """Beside those of other sessions, too, which may be other autogroups."""
    for tid in threads.threads_of(pid):
        os.setpriority(os.PRIO_PROCESS, tid, nice)
    autogroup = threads.PROC / str(pid) / "autogroup"
    if os.getsid(pid) == pid and autogroup.exists():
        autogroup.write_text(str(nice))


@contextmanager
def waits(module: str, arguments: Callable[[int], list[object]]) -> Iterator[Callable[[], None]]:
    """A process of ours on CPU, which waits for the end of a pipe, and what ends that."""
    read_end, write_end = os.pipe()
    process = own_process.start(module, [str(each) for each in arguments(read_end)], [read_end])
    os.close(read_end)
    with open(write_end, "wb", buffering=0) as end:
        try:
            end.write(b"x")
            until(lambda: not unread(end))  # it has begun to wait
            confine(process.pid)
            yield end.close
        finally:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(process.pid, os.sched_getaffinity(0))  # to end takes time, too
            process.kill()
            process.wait()


def unread(end: IO[bytes]) -> int:
    """Bytes in a pipe."""
    count = array("i", [0])
    fcntl.ioctl(end, termios.FIONREAD, count)
    return count[0]


def starving(test):
    for mark in (pytest.mark.alone, pytest.mark.root, needs_rights, needs_two_cpus):
        test = mark(test)
    return test


@starving
@pytest.mark.parametrize("priority", [0, 98], ids=["ordinary poller", "real-time poller"])
def test_a_guardian_restores_tenants_that_leave_it_no_time(path, priority):
    with (
        elsewhere(),
        two_tenants() as before,
        started(sys.executable, "-c", HOLDER, str(path), str(CPU), *map(str, before)) as holder,
    ):
        of_holder = [holder.pid, threads.process_started(holder.pid)]
        guardian = waits("windtunnel_sharing.guardian", lambda fd: [path, fd, *of_holder])
        with guardian as end, no_time_left(priority):
            holder.stdin.write("change\n")
            assert holder.stdout.readline() == "changed\n"
            assert all(threads.read(pid)["policy"] == RAISED for pid in before)
            holder.kill()
            end()
            until(as_before(before))


@starving
def test_a_sweeper_removes_groups_while_tenants_leave_it_no_time():
    """So many that a moment in which an ordinary process runs all the same is not enough. No disk is waited for, as none is for cgroups."""
    with TemporaryDirectory(dir="/dev/shm") as memory:
        group = Path(memory) / "group"
        for number in range(MANY):
            (group / str(number)).mkdir(parents=True)
        with elsewhere(), two_tenants() as before, waits(REMOVES, lambda fd: [fd, group]) as end, no_time_left():
            for pid in before:
                threads.write(pid, {"affinity": (CPU,), "policy": RAISED})
            end()
            until(lambda: not group.exists())


@starving
@pytest.mark.parametrize("with_slicers", [False, True])
def test_a_daemon_that_tenants_leave_no_time_ends_when_it_is_killed(tmp_path, with_slicers):
    """Each of its threads: its pipes are open until the last one has ended."""
    needs_native("slicer")
    head = f'cpus = [{CPU}]\nbe_cpus = 0\nslicer = "rotor"\nslice = "150us"\nshield = false'
    with two_tenants() as before:
        tables = "".join(tenant_toml(f"t{pid}", pid, weight=100) for pid in before)
        running = Running(write(tmp_path, tables, head), "real")
        try:
            until(running.responds, running.said)
            children = threads.children()(running.pid)
            slicers = [pid for pid in children if threads.name(pid) == SLICER[: threads.MOST_NAME]]
            assert len(slicers) == 1
            with elsewhere(), no_time_left():
                for pid in (running.pid, *children):
                    confine(pid)
                for pid in (*(slicers if with_slicers else ()), running.pid):
                    os.kill(pid, signal.SIGKILL)
                until(as_before(before))
        finally:
            for pid, then in before.items():
                threads.write(pid, then)
            running.close()
