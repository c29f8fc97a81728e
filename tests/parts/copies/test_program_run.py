"""The library in programs that copy what they are told: each copy is counted, and the program does what it does without it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence

import pytest
from program_samples import COPYING, counted

from windtunnel.errors import UserError
from windtunnel.parts.copies import program_run
from windtunnel.parts.copies.program_copies import ProgramCopies
from windtunnel.parts.copies.program_page import ABI, BYTES, MAGIC, THREADS, Head, Page
from windtunnel.parts.copies.program_run import find_library, run_program

pytestmark = pytest.mark.slow
PAGE, LINE = 4096, 64
EARLY = """
#include <stdlib.h>
#include <string.h>

static char from[100] = "the bytes", resolved[100], constructed[100];
static int nothing(void) { return 0; }
static int (*resolve(void))(void) {
    memcpy(resolved, from, sizeof from);
    return nothing;
}
int early(void) __attribute__((ifunc("resolve")));
__attribute__((constructor)) static void begin(void) {
    early();
    memmove(constructed + 1, from, sizeof from - 1);
    if (strcmp(resolved, from) || strcmp(constructed + 1, from)) exit(9);
}
"""
"""A library that is loaded behind ours, and so is ready before it."""


def sizes(copies: ProgramCopies) -> dict[int, tuple[int, int]]:
    """Copies and bytes by the least bytes of their size."""
    return {size.least_bytes: (size.copies, size.bytes) for size in copies.sizes}


def with_library(command: Sequence[str], **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command with the library in it and nobody who counts, or who counts somewhere else."""
    preloaded = os.environ | {"LD_PRELOAD": str(find_library(command[0]))} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=preloaded, timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="a pid namespace needs root")
def test_a_thread_in_another_pid_namespace_has_no_name_of_a_process_in_this_one(monkeypatch):
    """Its process is 1 there, which is another one's number here."""
    monkeypatch.setattr(program_run, "NAMES_EVERY_S", 0.002)
    copies = counted(["unshare", "--pid", "--fork", COPYING, "memcpy:65536:200000:8388608:0"])
    assert [thread.name for thread in copies.threads if thread.copies >= 200_000] == ["copying"]


@pytest.mark.parametrize("checked", ["", "_chk"])
@pytest.mark.parametrize("function", ["memcpy", "memmove", "mempcpy"])
def test_each_function_copies_and_is_counted(function, checked):
    lengths = (0, 1, 2, 3, 255, 256, 70_000, 3 << 20)
    copies = counted([COPYING, *(f"{function}{checked}:{bytes_}:10:8388608:64" for bytes_ in lengths)])
    assert copies.ended.returncode == 0
    assert copies.calls == {name: 80 * (name == function) for name in copies.calls}
    assert sizes(copies) == {
        0: (10, 0),
        1: (10, 10),
        2: (20, 50),
        128: (10, 2550),
        256: (10, 2560),
        65536: (10, 700_000),
        1 << 21: (10, 30 << 20),
    }


def test_alignment_and_overlaps_are_those_of_source_and_destination():
    places = {"memmove:1000:3": (2 * PAGE, 0), "memcpy:1000:5": (LINE, 3 * PAGE), "memmove:1000:7": (10, 500)}
    copies = counted([COPYING, *(f"{what}:{to}:{source}" for what, (to, source) in places.items())])
    [size] = copies.sizes
    assert (size.copies, size.source_on_page, size.destination_on_page) == (15, 8, 3)
    assert (size.source_on_line, size.destination_on_line) == (8, 8)
    assert size.overlapping == 7


@pytest.mark.parametrize("far", [999, 1000])
def test_copies_overlap_if_they_have_a_byte_in_common(far):
    copies = counted([COPYING, f"memmove:1000:2:{far}:0", f"memmove:1000:2:0:{far}"])
    assert copies.sizes[0].overlapping == 4 * (far < 1000)


def test_what_overlaps_is_copied_by_memcpy_too():
    """As the C library of x86-64 does, on which old programs rely."""
    copies = counted([COPYING, "memcpy:5000:1:100:0", "memcpy:300000:1:0:100"])
    assert copies.ended.returncode == 0 and copies.copies == 2


@pytest.mark.parametrize(
    ("how", "copied", "rows"),
    [
        ("fork", 2000, 2),
        ("clone", 2000, 2),
        ("vfork", 2000, 1),
        ("thread", 1000, 1),
        ("exec", 1000, 1),
        ("orphan", 1000, 1),
    ],
)
def test_copies_are_counted_wherever_a_program_makes_them(how, copied, rows):
    """A child has a row of its own, but for that of vfork, which is in the memory of its parent and for which that waits."""
    copies = counted([COPYING, how, "memcpy:256:1000:4096:0"])
    assert copies.ended.returncode == 0
    assert sizes(copies) == {256: (copied, copied * 256)}
    assert len(copies.threads) == rows
    assert copies.processes == (2 if how == "exec" else 1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_copies_before_the_library_is_ready_are_made_and_are_in_no_other_number(tmp_path, monkeypatch):
    """One of a resolver, which the loader calls before it has put the addresses into the library, and one of a constructor."""
    (tmp_path / "early.c").write_text(EARLY)
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", "-o", tmp_path / "early.so", tmp_path / "early.c"]
    subprocess.run(command, check=True)
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "early.so"))
    copies = counted([COPYING, "memcpy:256:10:4096:0"])
    assert copies.ended.returncode == 0
    assert (copies.early, sizes(copies)) == (2, {256: (10, 2560)})


def test_the_copies_of_a_child_are_in_a_row_of_its_own():
    copies = counted(["sh", "-c", f"{COPYING} memcpy:256:1000:4096:0; {COPYING} memcpy:512:3000:4096:0; true"])
    rows = {thread.bytes: thread for thread in copies.threads if thread.program == "copying"}
    assert set(rows) == {256_000, 1_536_000}
    assert len({thread.process for thread in rows.values()}) == 2
    assert copies.processes == 3


def test_a_signal_handler_may_copy_in_the_middle_of_a_copy():
    copies = counted([COPYING, "signal", "memmove:20000:300000:4096:0"])
    assert copies.ended.returncode == 0
    count, _ = sizes(copies)[16384]
    assert 299_000 <= count <= 300_000


@pytest.mark.parametrize(("arguments", "returncode"), [(["exit", "7"], 7), (["kill", "9"], -9), (["kill", "11"], -11)])
def test_a_program_ends_as_it_does_and_what_it_copied_is_known(arguments, returncode):
    copies = counted([COPYING, "memcpy:100:10:4096:0", *arguments])
    assert copies.ended.returncode == returncode
    assert copies.copies == 10


def test_a_copy_beyond_its_buffer_ends_the_program_in_the_c_librarys_words():
    command = [COPYING, "memcpy:100:10:4096:0", "chk"]
    plain, counting = subprocess.run(command, capture_output=True, text=True, check=False), with_library(command)
    assert counting.returncode == plain.returncode == -signal.SIGABRT
    assert counting.stderr == plain.stderr and "buffer overflow detected" in plain.stderr


@pytest.mark.parametrize("path", ["", "/no/such/file", "/dev/null", "/dev/tty", COPYING])
def test_without_a_page_a_program_is_as_without_the_library(path):
    done = with_library([COPYING, "memcpy:100:10:4096:0", "exit", "5"], WINDTUNNEL_COPIES=path)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")


ORPHANS = """
import os, subprocess, time
started = subprocess.run(["sh", "-c", "for n in 1 2 3; do sleep 0.1 & echo $!; done"], stdout=subprocess.PIPE).stdout
end = time.monotonic() + 10
while any(os.path.exists(f"/proc/{pid}") for pid in started.decode().split()):
    time.sleep(0.05)
    if time.monotonic() > end:
        raise SystemExit("they are there")
"""
PAGE_OF_ANOTHER = """
import os, sys
page = os.memfd_create("windtunnel-copies")
os.truncate(page, int(sys.argv[1]))
os.pwrite(page, bytes.fromhex(sys.argv[2]), 0)
print(f"/proc/{os.getpid()}/fd/{page}", flush=True)
sys.stdin.read()
print(os.pread(page, len(sys.argv[2]) // 2, 0).hex())
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_a_page_of_another_user_is_not_opened():
    """The number of a command that has ended may be that of a process of theirs, who would cut off the page."""
    head = bytes(Head(magic=MAGIC, abi=ABI, bytes=BYTES)).hex()
    command = ["/usr/bin/python3", "-c", PAGE_OF_ANOTHER, str(BYTES), head]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, user=61_874, group=61_874, extra_groups=[], cwd="/") as theirs:
        path = theirs.stdout.readline().strip()
        assert with_library([COPYING, "memcpy:100:10:4096:0"], WINDTUNNEL_COPIES=path).returncode == 0
        assert theirs.communicate()[0].strip() == head


def test_a_library_that_the_loader_would_take_for_two_is_refused(tmp_path):
    library = tmp_path / "my tools" / "lib.so"
    with Page() as page, pytest.raises(UserError, match="takes no path with a blank"):
        run_program([COPYING], library, page, None)


def test_more_threads_than_rows_share_one_and_lose_no_copy():
    """Those that share it copy at the same time."""
    each = f"{COPYING} memcpy:256:10:4096:0 || exit 1"
    last = f"{COPYING} memcpy:3000:1000000:4096:0 &" * 4
    copies = counted(["sh", "-c", f"i=0; while [ $i -lt {THREADS} ]; do {each}; i=$((i+1)); done; {last} wait"])
    assert copies.ended.returncode == 0 and len(copies.threads) == THREADS and copies.rows_missing > 0
    assert sizes(copies)[2048] == (4_000_000, 12_000_000_000)
    [shared] = [thread for thread in copies.threads if thread.thread == 0]
    assert shared.bytes >= 12_000_000_000


def test_what_a_program_writes_into_the_page_ends_nobody_else():
    with pytest.raises(UserError, match="say what cannot be"):
        counted([COPYING, "memcpy:100:10:4096:0", "scribble"])


def test_cpu_time_is_that_of_all_processes_also_of_those_that_lost_their_parent():
    burn = "python3 -c 'import time\nwhile time.process_time() < 0.3: pass'"
    copies = counted(["sh", "-c", f"({burn} & ) ; {burn}; sleep 1"])
    assert not copies.ended.still_running
    assert copies.ended.cpu_s >= 0.6


def test_orphans_that_have_ended_keep_no_process_number():
    """The program's parent adopts them, and a program may leave thousands."""
    copies = counted(["python3", "-c", ORPHANS])
    assert copies.ended.returncode == 0


def test_other_children_of_this_process_are_none_of_the_programs():
    with subprocess.Popen(["sleep", "60"]) as other:
        copies = counted([COPYING, "memcpy:100:1000:4096:0"])
        assert not copies.ended.still_running and other.poll() is None
        other.kill()


def test_a_process_that_still_runs_leaves_the_share_open():
    copies = counted(["sh", "-c", f"sleep 3 & exec {COPYING} memcpy:100:1000:4096:0"])
    os.wait()  # it was adopted
    assert copies.ended.still_running and copies.share is None and copies.copies >= 1000


def test_a_program_is_ended_after_its_time():
    copies = counted(["sleep", "60"], seconds=0.3)
    assert copies.ended.returncode == -signal.SIGTERM and copies.ended.asked_to_end


def test_a_program_that_has_become_another_users_runs_on(monkeypatch):
    def kill(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(UserError, match="has become another user's, and may not be ended"):
        counted(["sleep", "2"], seconds=0.3)
    os.wait()


def test_copies_of_a_megabyte_take_the_cpu_time_that_the_program_has():
    """All of them are timed, by the clock that also counts the program's CPU time: the share is between what cannot be."""
    copies = counted([COPYING, "memcpy:4194304:400:8388608:0"])
    [size] = copies.sizes
    assert size.timed_copies == size.copies == 400 and size.interrupted == 0
    assert 0 < size.ns_per_copy * 400 <= copies.ended.cpu_s * 1e9
    assert 0.3 < copies.share.mean <= 1
