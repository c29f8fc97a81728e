"""Starts a program with the library in it, and waits until it has ended."""

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel import proc
from windtunnel.engine.find import find_native
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.preload import preloading
from windtunnel.errors import UserError
from windtunnel.parts.copies.program_file import check_program
from windtunnel.parts.copies.program_page import NAME, Page

FOLDER = "copies"
"""Of the checkout, and of its build."""
NAMES_EVERY_S = 0.1
"""Between two readings of the names of threads, which the kernel has while they live."""
END_S = 5.0
"""Time for a program to end by itself after Ctrl-C, which reaches it too, and after SIGTERM."""
_SET_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER (prctl(2))."""


@dataclass
class Ended:
    """A program that has ended."""

    returncode: int
    """As `subprocess` has it: -9 for SIGKILL."""
    cpu_s: float
    """CPU time of it and of all its processes that have ended."""
    page_faults: int
    """Of the same processes, without those for which the kernel read a file."""
    still_running: bool
    """Processes of it run on: their CPU time is not known."""
    asked_to_end: bool
    """By --for, or after an interrupt."""
    interrupted: bool
    names: dict[tuple[int, int], str] = field(default_factory=dict)
    """Process and thread -> the thread's name; without threads that lived for a moment only."""


def find_library(program: str) -> Path:
    """The library, for this program. Raises UserError if it was not built, or cannot be loaded into the program."""
    check_program(program)
    return find_native(FOLDER, f"lib{NAME}.so")


def run_program(command: Sequence[str], library: Path, page: Page, seconds: float | None) -> Ended:
    """Runs the command to its end, or asks it to end after so many seconds. Its standard output goes to stderr: stdout has the result.
    Raises UserError if it cannot be started, or if the loader would take another library."""
    environment = os.environ | preloading(library) | page.environment
    with _adopting(), Interrupts() as interrupts:
        others = _children()
        try:
            program = subprocess.Popen(command, env=environment, stdout=2)
        except OSError as error:
            raise UserError(f"{command[0]}: cannot be started: {error.strerror}", remedy="name a program") from None
        ended = _Waiting(program.pid, page, interrupts, seconds).until_it_ends(others)
        program.returncode = ended.returncode  # it has been waited for
        return ended


class _Waiting:
    def __init__(self, pid: int, page: Page, interrupts: Interrupts, seconds: float | None):
        self._pid, self._page, self._interrupts = pid, page, interrupts
        self._ends_at = None if seconds is None else time.monotonic() + seconds
        self._signals = iter((signal.SIGTERM, signal.SIGKILL))
        self._asked = False
        self._names: dict[tuple[int, int], str] = {}
        self._cpu_s, self._page_faults = 0.0, 0

    def until_it_ends(self, others: set[int]) -> Ended:
        """`others`: children of this process that are none of the program's."""
        descriptor = os.pidfd_open(self._pid)
        try:
            while not self._ended(descriptor):
                self._read_names()
                self._reap(others | {self._pid})
                self._ask_to_end()
        finally:
            os.close(descriptor)
        _, status, used = os.wait4(self._pid, 0)
        self._add(used)
        still_running = self._reap(others)
        return Ended(
            returncode=os.waitstatus_to_exitcode(status),
            cpu_s=self._cpu_s,
            page_faults=self._page_faults,
            still_running=still_running,
            asked_to_end=self._asked,
            interrupted=self._interrupts.count > 0,
            names=self._names,
        )

    def _ended(self, descriptor: int) -> bool:
        readable, _, _ = select.select([descriptor, self._interrupts.fd], [], [], NAMES_EVERY_S)
        if self._interrupts.fd in readable:
            self._interrupts.drain()
            self._ends_at = min(self._ends_at or time.monotonic() + END_S, time.monotonic() + END_S)
        return descriptor in readable

    def _ask_to_end(self) -> None:
        """Ctrl-C reaches the program itself: it is asked only if it does not end by that. Raises UserError if it has become another user's."""
        if self._ends_at is None or time.monotonic() < self._ends_at:
            return
        if number := next(self._signals, None):
            try:
                os.kill(self._pid, number)
            except PermissionError:
                raise UserError(
                    f"process {self._pid} has become another user's, and may not be ended: it runs on",
                    remedy="end it as that user, or name a program that stays yours",
                ) from None
        self._asked, self._ends_at = True, time.monotonic() + END_S

    def _reap(self, others: set[int]) -> bool:
        """Takes what adopted processes that have ended have used, since each keeps its number until then. Whether others still run."""
        waited = [os.wait4(pid, os.WNOHANG) for pid in _children() - others]
        for pid, _, used in waited:
            if pid:
                self._add(used)
        return not all(pid for pid, _, _ in waited)

    def _add(self, used: resource.struct_rusage) -> None:
        self._cpu_s += used.ru_utime + used.ru_stime
        self._page_faults += used.ru_minflt

    def _read_names(self) -> None:
        """Of threads whose processes are below this one: in another pid namespace they have numbers that are those of others here."""
        threads = [*self._page.ids()]
        below = {process for process in {process for process, _ in threads} if _is_below(process)}
        for process, thread in threads:
            if process not in below:
                continue
            with contextlib.suppress(OSError):
                self._names[process, thread] = proc.text(f"/proc/{process}/task/{thread}/comm").removesuffix("\n")


def _is_below(process: int) -> bool:
    """Whether a process is a child of this one, a child of such a child, and so on (proc_pid_stat(5))."""
    with contextlib.suppress(OSError):
        while process > 1:
            process = int(proc.text(f"/proc/{process}/stat").rpartition(")")[2].split()[1])
            if process == os.getpid():
                return True
    return False


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Processes of the program that lose their parent become ours, so that their CPU time is known when they have ended."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_SUBREAPER, 0, 0, 0, 0)


def _children() -> set[int]:
    """Of all threads of this process, those that have ended too (proc(5))."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in files for pid in proc.text(file).split()}
