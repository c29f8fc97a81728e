"""Who is not meant to be there: programs on the socket of a memif, a reader that goes away, what a plug-in has started."""

import array
import json
import os
import random
import signal
import socket
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fake_runs import gone, has_ended
from hostile_run import arguments, ended, reasons, start
from live_tools import awaited
from plugin_tools import ROOT

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import handlers
from windtunnel.sharing import threads


def hostile(path: str, rng: random.Random, seconds: float) -> int:
    """Once there is a socket, connects again and again, and says what may begin like a message of memif; how often it was let in."""
    there = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < there:
        time.sleep(0.01)
    held: list[socket.socket] = []
    connected, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger.setblocking(False)
        held.append(stranger)
        connected += stranger.connect_ex(path) == 0
        for _ in range(rng.randrange(4)):
            message = (struct.pack("<H", rng.randrange(10)) + rng.randbytes(198))[: rng.choice((1, 64, 128, 128, 200))]
            try:
                if rng.random() < 0.3:
                    with open("/dev/null") as file:
                        given = array.array("i", [file.fileno()])
                        stranger.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
                else:
                    stranger.send(message)
            except OSError:
                break
        if len(held) > rng.randrange(1, 150):
            for one in held:
                one.close()
            held.clear()
        time.sleep(0.002)
    for one in held:
        one.close()
    return connected


def test_strangers_on_the_socket_of_a_memif_end_a_server_in_words_or_not_at_all(tmp_path):
    """100 connections and garbage bring its driver down, by SIGABRT: it is started again, within bounds."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # shown where the test fails
    path = str(tmp_path / "wire.sock")
    alone = ("--side", "server", "--wait", "5s")
    server = start(arguments(tmp_path, "wire.kind=memif", f"wire.socket={path}", more=alone))
    connected = hostile(path, random.Random(seed), 4)
    code, said = ended(server)
    assert connected > 0 and code in (1, 2), said
    [reason] = reasons(tmp_path / "run")
    assert reason.startswith(
        (
            "engine refused: no client sent a hello within 5 s",
            "engine died: SIGABRT while waiting for the link, as in each of 4 starts: a program that is not the other side",
            "engine died: SIGSEGV while waiting for the link, as in each of 4 starts: a program that is not the other side",
            "engine killed: it closed its output and did not exit while waiting for the link",  # the host gave it no CPU to end
        )
    )
    assert not os.path.exists(path)


def test_both_ends_go_on_or_end_in_words_after_strangers_have_gone(tmp_path):
    path = str(tmp_path / "wire.sock")
    keys = ("wire.kind=memif", f"wire.socket={path}")
    server = start(arguments(tmp_path, *keys, out="server", more=("--side", "server", "--wait", "20s")))
    hostile(path, random.Random(1), 2)
    client = start(arguments(tmp_path, *keys, out="client", more=("--side", "client", "--wait", "20s")))
    ends = [ended(client), ended(server)]
    for side, (code, said) in zip(("client", "server"), ends, strict=True):
        words = reasons(tmp_path / side)
        assert code in (0, 1, 2) and "did not finish" not in words, said
        assert not any(word.startswith(("engine killed: no line", "protocol error")) for word in words), words


def test_a_reader_that_goes_away_leaves_no_process(tmp_path):
    """As `windtunnel run 2>&1 | head -1`."""
    process = start(arguments(tmp_path, "duration=20s"), stderr=subprocess.STDOUT)
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 1
    # which looks for its engine, and for what EAL leaves
    assert reasons(tmp_path / "run") == ["stopped before the end: the reader of its progress has left"]


FORKS = """
#include <windtunnel/handler.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void fork_one(void) {
    const int child = fork();
    FILE *out;
    if (child == 0) for (;;) pause();
    out = fopen(getenv("CHILDREN"), "a");
    fprintf(out, "%d\\n", child);
    fclose(out);
}
static int open_it(const struct wt_open *o, void **s) { (void)o; *s = NULL; return 0; }
static void respond(void *s, struct wt_exchange *b, uint32_t n) { (void)s; (void)b; (void)n; }
const struct wt_handler wt_handler = {.abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), .name = "forks",
    .help = "starts a process", .kind = WT_MESSAGE_HANDLER, .open = open_it, .message = respond};
"""


@pytest.fixture
def forking(tmp_path, monkeypatch):
    """A plug-in that starts a process when it is loaded, and where it writes their numbers."""
    (tmp_path / "forks.c").write_text(FORKS)
    library = tmp_path / "libforks.so"
    source = ["-I", str(ROOT / "include"), str(tmp_path / "forks.c")]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), *source], check=True)
    monkeypatch.setenv("CHILDREN", str(tmp_path / "children"))
    return library


def environment(pid: int) -> list[bytes]:
    """Nothing for a process that ends."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


STUBBORN = """
#include <windtunnel/handler.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int open_it(const struct wt_open *o, void **s) {
    FILE *out = fopen(getenv("CHILDREN"), "a");
    int child;
    (void)o; *s = NULL;
    for (int number = 1; number < 32; number++) if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_IGN);
    child = fork();
    if (child == 0) { setsid(); if (fork()) _exit(0); for (;;) pause(); }
    fprintf(out, "%d\\n", getpid());
    fclose(out);
    return 0;
}
static void respond(void *s, struct wt_exchange *b, uint32_t n) {
    (void)s; (void)b; (void)n;
    fclose(fopen(getenv("RESPONDS"), "w"));
    BEHAVIOUR
}
const struct wt_handler wt_handler = {.abi = WT_HANDLER_ABI, .size = sizeof(struct wt_handler), .name = "stubborn",
    .help = "does not end", .kind = WT_MESSAGE_HANDLER, .open = open_it, .message = respond};
"""


@pytest.mark.parametrize("killed", [True, False], ids=["kill -9", "Ctrl-C twice"])
@pytest.mark.parametrize("behaviour", ["for (;;);", "raise(SIGSTOP);", "pthread_exit(NULL);"])
def test_an_engine_ends_with_its_command_whatever_a_plug_in_does(tmp_path, monkeypatch, behaviour, killed):
    """Every signal is ignored, a thread spins or has gone, the process is stopped, and a child is in a session of its own."""
    (tmp_path / "stubborn.c").write_text(STUBBORN.replace("BEHAVIOUR", behaviour))
    source = ["-I", str(ROOT / "include"), str(tmp_path / "stubborn.c")]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libstubborn.so"), *source], check=True)
    told = tmp_path / "children"
    monkeypatch.setenv("CHILDREN", str(told))
    monkeypatch.setenv("RESPONDS", str(responds := tmp_path / "responds"))
    mark = f"STUBBORN={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    command = start(arguments(tmp_path, "workload.0.handler=./libstubborn.so", "duration=1s"))
    awaited(responds.exists)
    if killed:
        command.kill()
        command.communicate()
    else:
        for _ in range(2):
            command.send_signal(signal.SIGINT)
            time.sleep(0.2)
        ended(command)
    [engine] = map(int, told.read_text().split())
    awaited(lambda: has_ended(engine))
    ours = ("windtunnel-engi", "wt-guard")
    awaited(lambda: not any(threads.name(pid) in ours and mark.encode() in environment(pid) for pid in threads.pids()))


def test_what_a_plug_in_has_started_ends_with_it(tmp_path, forking):
    [known] = handlers(find_engine(), forking)
    assert known.name == "forks"
    code, said = ended(start(arguments(tmp_path, "workload.0.handler=./libforks.so", more=("--json",))))
    assert json.loads(said[said.index("{") :])["verdict"]["valid"] or code == 1, said
    started = [int(line) for line in (tmp_path / "children").read_text().split()]
    assert len(started) >= 3, "asked here, asked before the run, and in the run"
    assert all(gone(child) for child in started)
