"""Files, words and names that somebody gave us and that are none: the command says so, with a remedy, and makes nothing."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import in_process
from hostile_run import ECHO, arguments, reasons, run
from part_samples import part_samples, use_fixtures
from scenario_tools import SHIPPED

from windtunnel.engine.find import VARIABLE, find_engine

REPLAYS = f'{ECHO}[wire]\nkind = "pcap"\nreplay = "frames.pcap"\n[server]\n'
DIRECTORY, PIPE = object(), object()


def refused(directory: Path, words: list[str]) -> str:
    """What the command says, in this process, which is quicker."""
    done = in_process(*words, cwd=directory, **{VARIABLE: str(find_engine())})
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "Traceback" not in said, said
    return said


def put(file: Path, content: object) -> None:
    """None: nothing is there."""
    if content is DIRECTORY:
        file.mkdir()
    elif content is PIPE:
        os.mkfifo(file)
    elif content is not None:
        file.write_bytes(content)


def pcap(length: int, bytes_there: int) -> bytes:
    return struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1, 0, 0, length, length) + bytes(bytes_there)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (DIRECTORY, "is a directory"),
        (bytes(range(256)) * 8, ":2: byte 0x80 is not UTF-8"),
        (b'title = "t"\nname = "caf\xe9"\n', ":2: byte 0xe9 is not UTF-8"),
        pytest.param(b"#" * (100 << 20), "larger than 64KiB", id="100 MiB"),
        (b"", "workload is missing"),
        (b"\xff\xfe[\0w\0", ":1: expected ']' at the end"),
        (b"\xff\xfe[", ":1: its mark says UTF-16"),
        (b'"\\u001b[31m" = 1\n' + ECHO.encode(), r'unknown key "\u001b[31m"'),
        (b'title = "\\u001b]0;mine\\u0007"\n' + ECHO.encode(), r"title: holds the control character '\x1b'"),
    ],
)
def test_a_file_that_is_no_scenario(tmp_path, content, words):
    put(tmp_path / "hostile.toml", content)
    said = refused(tmp_path, ["run", str(tmp_path / "hostile.toml"), "--out", str(tmp_path / "run")])
    assert words in said and "hostile.toml" in said and "remedy" in said and "\x1b" not in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pcap(60, 59), "is truncated in frame 1"),
        (pcap(2**32 - 1, 60), "is truncated in frame 1"),
        (pcap(60, 60)[:24], "contains no frame"),
        (pcap(1515, 1515), "longer than the MTU"),
        (b"GIF89a" + bytes(100), "is not a capture"),
        (b"", "is not a capture"),
        (PIPE, "not a regular file"),
        (DIRECTORY, "is a directory"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_no_capture(tmp_path, content, words):
    put(tmp_path / "frames.pcap", content)
    said = refused(tmp_path, arguments(tmp_path, content=REPLAYS))
    assert words in said and "remedy" in said
    assert not (tmp_path / "run").exists()


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
"""
"""Each file's owner may have one, and who opens the file then waits for /proc/sys/fs/lease-break-time, unless they say O_NONBLOCK."""
KEYS = '[[workload]]\nhandler = "kv"\noptions = { distribution = "file", file = "keys.csv" }\n'


@pytest.mark.parametrize(
    ("scenario", "file"),
    [
        ("pcap-replay.toml", "frames.pcap"),
        ("pcap-times.toml", "frames.pcap"),
        ("keys.toml", "keys.csv"),
        *(case for cases in part_samples("OPENED_FILES") for case in cases),
    ],
)
def test_a_file_whose_owner_has_a_lease_is_not_waited_for(tmp_path, scenario, file, request):
    use_fixtures(scenario.removesuffix(".toml"), request)
    (tmp_path / "keys.toml").write_text(KEYS)
    (tmp_path / "keys.csv").write_text("1 1\n2 1\n")
    for shipped in (*SHIPPED.glob(f"{Path(scenario).stem}.*"), SHIPPED / file):
        if shipped.exists():
            shutil.copy(shipped, tmp_path)
    words = [sys.executable, "-c", LEASE, tmp_path / file]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        assert "resource temporarily unavailable" in refused(tmp_path, ["check", scenario]).lower()
        holder.communicate()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("", "not a key and its value"),
        ("server.batch.app_rx", "not a key and its value"),
        ("nonsense=1", 'unknown key "nonsense"'),
        ("workload.9.request=1", "the list has 1 entry"),
        ("duration=-1s", "not a duration"),
        ("client.inflight=8", "a full batch can never be collected"),
        ("client.batch.app_tx=1025", "a whole number from 1 to 1024"),
        ("server.ring_size=3", "2 and 4 are"),
        ("server.mempool.size=600", "the traffic can hold"),
        ("server.cores=[4000]", "CPU 4000 does not exist"),
        ("workload.0.handler=./absent.so", "absent.so"),
        ("wire.kind=pcap", "wire.replay is missing"),
    ],
)
def test_an_invalid_set(tmp_path, change, words):
    said = refused(tmp_path, arguments(tmp_path, change))
    assert words in said and "remedy" in said
    assert not (tmp_path / "run").exists()


def test_a_file_name_that_is_not_utf_8(tmp_path):
    scenario, out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml")), Path(os.fsdecode(b"\xfe"))
    scenario.write_text("")
    echo = tmp_path / "echo.toml"
    echo.write_text(ECHO)
    for words in (["check", scenario], ["run", echo, "--trace", "--out", tmp_path / out], ["init", "echo", scenario]):
        assert "its name is not UTF-8" in refused(tmp_path, words)


@pytest.mark.parametrize(
    ("socket", "words"),
    [
        ("file", "something else has this name"),
        ("directory", "something else has this name"),
        ("absent/wt.sock", "its directory: No such file or directory"),
        ("x" * 110, "longer than the 107 bytes"),
    ],
)
def test_an_invalid_memif_socket(tmp_path, socket, words):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "directory").mkdir()
    code, said = run(
        arguments(tmp_path, f"wire.socket={socket}", content=f'{ECHO}[wire]\nkind = "memif"\n', more=("-q",))
    )
    assert code == 2 and words in said
    assert (tmp_path / "file").read_text() == "precious"
    if (tmp_path / "run").exists():
        assert words in reasons(tmp_path / "run")[0]
