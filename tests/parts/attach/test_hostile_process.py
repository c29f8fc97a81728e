"""Whoever attaches, often root, meets what another user's process says of itself: nothing of it ends, leads or misleads the injector."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from attach_tools import INJECT, PROBE, inject, wait_for
from processes import open_paths

from windtunnel.parts.attach import page

pytestmark = pytest.mark.slow
CLEAR = b"\x1b]0;owned\x07\xff" * 40
"""A text without an end that a terminal obeys."""
TWO_PROGRAMS = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char stack[1 << 16];
static int keep_memory(void *nothing) {
    (void)nothing;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
}

int main(int count, char **arguments) {
    char byte;
    if (count == 1) { /* addresses are alike in all that it begins */
        personality(ADDR_NO_RANDOMIZE);
        execl("/proc/self/exe", arguments[0], "first", NULL);
    }
    const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listening, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, sizeof(sa_family_t));
    listen(listening, 1);
    prctl(PR_SET_NAME, "telemetry-v2");
    if (!strcmp(arguments[1], "first")) {
        clone(keep_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
        puts("first");
        fflush(stdout);
        if (read(0, &byte, 1) == 1) execl("/proc/self/exe", arguments[0], "second", NULL);
    }
    puts("second");
    fflush(stdout);
    accept(listening, NULL, NULL);
    return 1;
}
"""
"""A process that begins another program, while a child has the memory of the first one: what is written there is not the second one's."""


def with_page(content: bytes, size: int) -> subprocess.Popen[bytes]:
    """A process that has a memfd of the page's name."""
    descriptor = os.memfd_create(page.NAME)
    os.ftruncate(descriptor, size)
    os.pwrite(descriptor, content, 0)
    try:
        return subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
    finally:
        os.close(descriptor)


def head(**fields: int) -> bytes:
    values = {"magic": page.MAGIC, "abi": page.ABI, "bytes": page.BYTES, "state": page.REFUSED}
    return bytes(page.Head(**(values | fields)))


@pytest.mark.parametrize("size", [0, 8, 1 << 40])
def test_a_page_that_is_cut_off_does_not_end_the_injector(size: int) -> None:
    process = with_page(b"", size)
    try:
        done = inject(process.pid)
        assert (done.returncode, done.stderr[:7]) == (2, "error: "), done
    finally:
        process.kill()
        process.wait()


def test_a_refusal_without_an_end_says_nothing_to_a_terminal() -> None:
    at = page.Head.refusal.offset
    content = head()[:at] + CLEAR + b"\x1b" * (page.BYTES - at - len(CLEAR))
    process = with_page(content, page.BYTES)
    try:
        done = subprocess.run([INJECT, str(process.pid), PROBE], check=False, capture_output=True, timeout=60)
        assert done.returncode == 2 and b"refuses: ?]0;owned??" in done.stderr, done
        assert all(byte == 10 or 32 <= byte < 127 for byte in done.stderr) and len(done.stderr) < 1000
    finally:
        process.kill()
        process.wait()


def has_memory_open(pid: int) -> bool:
    return any(path.endswith("/mem") for path in open_paths(pid))


def stopped_early(pid: int) -> subprocess.Popen[str] | None:
    """The injector into this process, stopped after it has opened its memory; None: it was further already."""
    injector = subprocess.Popen([INJECT, str(pid), PROBE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while injector.poll() is None and not has_memory_open(injector.pid):
        pass
    injector.send_signal(signal.SIGSTOP)
    wait_for(lambda: "State:\tT" in Path(f"/proc/{injector.pid}/status").read_text(), "stopped")
    if "TracerPid:\t0" in Path(f"/proc/{pid}/status").read_text() and has_memory_open(injector.pid):
        return injector
    injector.kill()
    injector.communicate()
    return None


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_program_that_began_meanwhile_is_not_led_by_what_the_one_before_said(tmp_path: Path) -> None:
    """It may have other rights: execve of a program with the set-user-ID bit keeps the process. Its registers are set to addresses that the
    program before chose, and its stack is written in memory that is not its own."""
    (tmp_path / "two.c").write_text(TWO_PROGRAMS)
    subprocess.run(["cc", "-o", tmp_path / "two", tmp_path / "two.c"], check=True)
    for _ in range(20):
        with subprocess.Popen([tmp_path / "two"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout and process.stdin
                assert process.stdout.readline() == b"first\n"
                if (injector := stopped_early(process.pid)) is None:
                    continue
                process.stdin.write(b"x")
                process.stdin.flush()
                assert process.stdout.readline() == b"second\n"
                call = Path(f"/proc/{process.pid}/syscall")
                wait_for(lambda call=call: call.read_text().startswith("43 "), "asleep in accept()")
                injector.send_signal(signal.SIGCONT)
                printed, refusal = injector.communicate(timeout=60)
                time.sleep(0.1)
                assert process.poll() is None, (printed, refusal)
                assert "the probe in process" in refusal or "has the probe" in printed
                return
            finally:
                process.kill()
    pytest.fail("the injector was never stopped in time")
