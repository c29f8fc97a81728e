"""Programs on the socket of a memif that are not the other side: they connect a hundred times, and say what nobody should."""

import array
import os
import random
import re
import socket
import struct
import time

import pytest
from hostile_run import arguments, ended, reasons, start


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


@pytest.mark.parametrize("trial", [0, *(pytest.param(n, marks=pytest.mark.long("hostile")) for n in range(1, 10))])
def test_strangers_on_the_socket_of_a_memif_end_a_server_in_words_or_not_at_all(tmp_path, trial):
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
    assert re.match(
        r"engine refused: no client sent a hello within 5 s"
        # how far a start comes, and how many there are in 5 s, is the host's matter
        r"|engine died: (SIGABRT|SIGSEGV) while (opening \w+|waiting for the link), as in each of [2-4] starts: a program "
        r"that is not the other side"
        r"|engine killed: it closed its output and did not exit while ",  # the host gave it no CPU to end
        reason,
    ), reason
    assert not os.path.exists(path)


def test_both_ends_go_on_or_end_in_words_after_strangers_have_gone(tmp_path):
    path = str(tmp_path / "wire.sock")
    keys = ("wire.kind=memif", f"wire.socket={path}")
    server = start(arguments(tmp_path, *keys, out="server", more=("--side", "server", "--wait", "8s")))
    hostile(path, random.Random(1), 2)
    client = start(arguments(tmp_path, *keys, out="client", more=("--side", "client", "--wait", "8s")))
    ends = [ended(client), ended(server)]
    for side, (code, said) in zip(("client", "server"), ends, strict=True):
        words = reasons(tmp_path / side)
        assert code in (0, 1, 2) and "did not finish" not in words, said
        assert not any(word.startswith(("engine killed: no line", "protocol error")) for word in words), words
