"""Threads to share: processes that sleep or poll, made for a test and ended by it, or with it."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel_sharing import sched, threads
from windtunnel_sharing.changed_threads import held
from windtunnel_sharing.pools import cgroups
from windtunnel_sharing.softirqs import softirq_threads

PATIENCE_S = 60.0
CPUS = sorted(os.sched_getaffinity(0))
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
SLEEP, POLL = "read line", "while :; do :; done"
"""For a shell: one waits for a line, or the end, of its input."""

STARTS = """
import os, sys
for line in sys.stdin:
    started = os.fork()
    if line == "orphan\\n":
        if started == 0:
            started = os.fork()
            if started:
                print(started, flush=True)
                os._exit(0)
        else:
            os.wait()
            started = None
    if started == 0:
        os.execvp("sleep", ["sleep", "600"])
    print(started, flush=True)
"""

FIRST_ENDS = """
import ctypes, sys, threading, time
for _ in range(2): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
sys.stdin.readline()
ctypes.CDLL(None).syscall(60, 0)  # exit, not exit_group
"""

needs_rights = pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_SYS_NICE: only root may raise a priority again")
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen]:
    """A process with nice 0, once it has said that it is ready. It ends with the block, and with this process, also by a kill."""
    with subprocess.Popen(
        [*ENDS_WITH_US, *command], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            if os.geteuid() == 0:  # `nice ./test` would give it a value that tests take for a changed one
                os.setpriority(os.PRIO_PROCESS, process.pid, 0)
            yield process
        finally:
            process.kill()


def tenant(script: str = SLEEP):
    """A shell: it starts in a millisecond."""
    return started("sh", "-c", f"echo ready\n{script}")


def python_tenant(code: str):
    return started(sys.executable, "-S", "-c", f"print('ready', flush=True)\n{code}")


@contextmanager
def starting_tenant() -> Iterator[tuple[subprocess.Popen, Callable[[str], int]]]:
    """A process, and what makes it start another one, whose number that returns: a "child" of its own, or an "orphan" by a double fork."""
    others = []

    def start(what: str) -> int:
        process.stdin.write(f"{what}\n")
        others.append(pid := int(process.stdout.readline()))
        if what == "orphan":  # its parent has ended
            assert process.stdout.readline() == "None\n"
        return pid

    with python_tenant(STARTS) as process:
        try:
            yield process, start
        finally:
            for pid in others:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@contextmanager
def first_thread_ends() -> Iterator[tuple[subprocess.Popen, Callable[[], None]]]:
    """A process of three threads, and what ends its first one: the process lives, as a zombie with two threads."""
    with python_tenant(FIRST_ENDS) as process:
        until(lambda: len(threads.threads_of(process.pid)) == 3)

        def end() -> None:
            process.stdin.write("end\n")
            until(lambda: threads.stat(process.pid) is None)

        yield process, end


def until(true: Callable[[], object], said: Callable[[], object] = lambda: "") -> None:
    """Waits until it is; fails after a patience that no working program needs, with what was `said`."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"it never came to be: {said()}"
        time.sleep(0.002)


def as_before(before: dict[int, threads.Fields]) -> Callable[[], bool]:
    return lambda: {tid: threads.read(tid) for tid in before} == before


def alone_on_this_machine() -> Iterator[None]:
    """For a fixture: no other test of this host changes CPUs, cgroups and softirq threads meanwhile, and those threads are as before at the
    end, also where this process is killed."""
    lock_file = Path(tempfile.gettempdir()) / f"windtunnel-tests-{os.getuid()}.lock"
    with lock_file.open("w") as lock, tempfile.TemporaryDirectory() as own:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with held(Path(own) / "machine.journal") as journal:
            for tid in softirq_threads(CPUS):
                journal.allow(tid, policy=[(sched.FIFO, 1, 0)])
            yield


def share_restore(*words: object) -> tuple[int, str]:
    """`windtunnel share restore` in this process: exit code and output, the words of an error with it."""
    done = CliRunner().invoke(app, ["share", "restore", *map(str, words)])
    if isinstance(done.exception, UserError):
        return 2, done.output + done.exception.message
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@contextmanager
def cpu_cgroup(name: str) -> Iterator[tuple[str, str]]:
    """A cgroup of the cpu controller: hierarchy and path. Skips in words where there is none to be had."""
    found = cgroups.find()
    if isinstance(found, cgroups.Nowhere):
        pytest.skip(found.why)
    group = found.mount / name
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made in {found.mount}: {error.strerror}")
    try:
        yield found.key, f"/{name}"
    finally:
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
