"""Bad files, bad words, bad terminals, full disks, missing rights: each ends in words and leaves nothing behind."""

import os
import pty
import resource
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hostile_run import ECHO, arguments, ended, environment, reasons, record, run, start
from other_users import python, user
from real_runs import execute, scenario

from windtunnel.cli import main
from windtunnel.scenario.host import here

NOBODY = 65534


@pytest.fixture
def refused(monkeypatch, capfd):
    """Runs the command in this process, which is quicker: for what does not come to a run."""

    def run_here(words: list[str]) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["windtunnel", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, "".join(capfd.readouterr())

    return run_here


def no_directory(directory: Path) -> bool:
    return not (directory / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.toml", None, "no such file"),
        ("directory.toml", "", "is a directory"),
        ("binary.toml", bytes(range(256)) * 8, ":2: byte 0x80 is not UTF-8"),
        ("latin.toml", b'title = "t"\nname = "caf\xe9"\n', ":2: byte 0xe9 is not UTF-8"),
        pytest.param("large.toml", b"#" * (100 << 20), "larger than 64KiB", id="100 MiB"),
        ("empty.toml", b"", "workload is missing"),
        ("bom.toml", b"\xff\xfe[\0w\0", ":1: byte 0xff is not UTF-8"),
    ],
)
def test_a_file_that_is_not_a_scenario(tmp_path, refused, name, content, words):
    file = tmp_path / name
    if content == "":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    code, said = refused(["run", str(file), "--out", str(tmp_path / "run")])
    assert code == 2 and words in said and name in said and "remedy" in said
    assert no_directory(tmp_path)


def test_a_file_name_that_is_not_utf_8(tmp_path, refused):
    scenario, out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml")), Path(os.fsdecode(b"\xfe"))
    scenario.write_text("")
    echo = tmp_path / "echo.toml"
    echo.write_text(ECHO)
    for words in (["check", scenario], ["run", echo, "--trace", "--out", tmp_path / out], ["init", "echo", scenario]):
        code, said = refused(list(map(str, words)))
        assert code == 2 and "its name is not UTF-8" in said


def test_terminal_escapes_in_a_file_are_shown_as_text(tmp_path, refused):
    echo = tmp_path / "echo.toml"
    echo.write_text('"\\u001b[31m" = 1\n' + ECHO)
    code, said = refused(["check", str(echo)])
    assert code == 2 and r'unknown key "\x1b[31m"' in said and "\x1b" not in said
    echo.write_text('title = "\\u001b]0;mine\\u0007"\n' + ECHO)
    assert r"title: holds the control character '\x1b'" in refused(["check", str(echo)])[1]


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
def test_an_invalid_set(tmp_path, refused, change, words):
    code, said = refused(arguments(tmp_path, change))
    assert code == 2 and words in said and "remedy" in said
    assert no_directory(tmp_path)


def pcap(length: int, bytes_there: int) -> bytes:
    return struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1, 0, 0, length, length) + bytes(bytes_there)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pcap(60, 59), "is truncated in frame 1"),
        (pcap(2**32 - 1, 60), "is truncated in frame 1"),
        (pcap(60, 60)[:24], "contains no frame"),
        (pcap(1515, 1515), "longer than the MTU"),
        (b"GIF89a" + bytes(100), "is not a capture"),
        (b"", "is not a capture"),
        ("pipe", "is not a capture"),
        ("directory", "is a directory"),
        (None, "no such file"),
    ],
)
def test_a_capture_that_cannot_be_replayed(tmp_path, refused, content, words):
    file = tmp_path / "frames.pcap"
    if content == "pipe":
        os.mkfifo(file)
    elif content == "directory":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    toml = f'{ECHO}[wire]\nkind = "pcap"\nreplay = "frames.pcap"\n[server]\n'
    code, said = refused(arguments(tmp_path, content=toml))
    assert code == 2 and words in said and "remedy" in said
    assert no_directory(tmp_path)


def test_an_existing_run_directory_is_not_changed(tmp_path, refused):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("data")
    code, said = refused(arguments(tmp_path))
    assert code == 2 and "exists already" in said
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["precious"]


def test_a_run_directory_below_a_file(tmp_path, refused):
    (tmp_path / "file").write_text("")
    code, said = refused(arguments(tmp_path, out="file/run"))
    assert code == 2 and "Not a directory" in said


def test_a_cpu_outside_the_affinity(tmp_path):
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("needs two CPUs")
    only_first = {"preexec_fn": lambda: os.sched_setaffinity(0, {first})}
    code, said = run(arguments(tmp_path, f"server.cores=[{others[-1]}]"), **only_first)
    assert code == 2 and f"CPU {others[-1]} does not exist, or is not allowed" in said and f"one of {first}" in said
    code, _ = run(arguments(tmp_path), **only_first)
    assert code == 0
    assert {worker["cpu"] for worker in record(tmp_path / "run")["engines"][0]["plan"]["workers"]} == {first}


def test_a_core_that_disappears_after_planning(tmp_path):
    def elsewhere(spec):
        [plan] = spec.plans
        cpus = [worker.cpu for worker in plan.workers]
        placed = next(word for word in plan.eal.args if "@" in word)
        args = [placed.replace(f"@{cpus[0]}", "@4000") if word == placed else word for word in plan.eal.args]
        return [plan.model_copy(update={"eal": plan.eal.model_copy(update={"args": args})})]

    [reason] = execute(tmp_path, scenario(), change=elsewhere).run.record.verdict.reasons
    assert reason.startswith("engine refused: DPDK's EAL does not start")


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


# --- terminals and pipes


def test_a_reader_that_closes_the_pipe_after_a_line(tmp_path):
    spec = start(arguments(tmp_path, "duration=20s"))
    assert spec.stderr.readline()
    spec.stderr.close()
    spec.stderr = None
    code, said = ended(spec)
    assert code == 1 and "stopped before the end" in said
    assert reasons(tmp_path / "run") == ["stopped before the end: the reader of its progress has left"]


def test_an_output_that_is_full(tmp_path):
    with open("/dev/full", "w") as full:
        code, said = run(arguments(tmp_path), stdout=full)
    assert code == 1 and "the output cannot be written: No space left on device" in said
    assert (
        record(tmp_path / "run")["verdict"]["valid"] is True
    )  # progress goes elsewhere, and the run was kept before its tables


def test_an_output_that_is_closed(tmp_path):
    code, _ = run(arguments(tmp_path), preexec_fn=lambda: os.close(1))
    assert code == 0 and reasons(tmp_path / "run") == []


@pytest.mark.parametrize(
    "variables",
    [
        {"TERM": "dumb"},
        {"COLUMNS": "40"},
        {"COLUMNS": "1", "LINES": "1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ],
)
def test_limited_terminals(tmp_path, variables):
    code, said = run(arguments(tmp_path), env=environment(**variables))
    assert code == 0 and "valid" in said.replace("\n", "") or variables.get("COLUMNS") == "1"
    assert reasons(tmp_path / "run") == []


@pytest.mark.parametrize(
    "variables", [{"TERM": "dumb"}, {"TERM": "xterm", "COLUMNS": "40", "LINES": "8"}, {"TERM": ""}]
)
def test_a_limited_pseudo_terminal(tmp_path, variables):
    ours, theirs = pty.openpty()
    spec = start(arguments(tmp_path), stdout=theirs, stderr=theirs, stdin=theirs, env=environment(**variables))
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:
        pass  # the other end of a terminal is closed with an error
    os.close(ours)
    assert spec.wait() == 0 and b"Traceback" not in said
    assert reasons(tmp_path / "run") == []


# --- disks


def limited(size: int):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def test_a_file_size_limit(tmp_path):
    code, said = run(arguments(tmp_path, more=("-q",)), **limited(2000))
    assert code == 2 and "run.json: cannot be written: File too large" in said


def test_a_file_size_limit_of_the_engine(tmp_path):
    """EAL makes files as large as its memory, in its runtime directory."""
    code, said = run(arguments(tmp_path, more=("-q",)), **limited(64 << 10))
    assert code == 2 and "EAL does not start" in said
    assert [reason.split(":")[0] for reason in reasons(tmp_path / "run")] == ["engine refused"]


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a file system of a size; `small_disk("2M")` is its directory."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: str) -> Path:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, text=True, check=False
        )
        if made.returncode:
            pytest.skip(f"needs root to mount: {made.stderr.strip()}")
        return place

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", place], check=True)


@pytest.mark.root
def test_a_disk_that_fills_while_it_runs(tmp_path, small_disk):
    disk = small_disk("256k")
    code, said = run(arguments(tmp_path, "duration=20s", "window=1ms", out="disk/run", more=("--no-report",)))
    assert code == 1 and "No space left on device" in said
    assert (disk / "run" / "windows.jsonl").read_text().endswith("}\n")
    assert not (disk / "run" / "run.json").exists() or record(disk / "run")["verdict"]["valid"] is False


@pytest.mark.root
def test_a_disk_that_fills_with_the_recording(tmp_path, small_disk):
    disk = small_disk("4M")
    words = arguments(tmp_path, "duration=1s", "record=all.pcap", out="disk/run", more=("--no-report",))
    code, said = run(words, env=environment(COLUMNS="400"))
    # run.json holds the verdict only where there was room for it
    assert code in (1, 2) and "No space left on device" in said
    assert record(disk / "run")["verdict"]["valid"] is False
    data, at = (disk / "run" / "all.pcap").read_bytes(), 24
    while at < len(data):
        at += 16 + struct.unpack_from("=8xI", data, at)[0]
    assert at == len(data) > 1 << 20  # it ends at a whole frame


@pytest.mark.root
def test_a_disk_that_is_full_from_the_start(tmp_path, small_disk):
    disk = small_disk("64k")
    with open(disk / "filler", "wb", buffering=0) as filler:
        while filler.write(bytes(4096)) == 4096:
            if shutil.disk_usage(disk).free == 0:
                break
    code, said = run(arguments(tmp_path, out="disk/run"))
    assert code == 2 and "No space left on device" in said and "free some space" in said


# --- rights


@pytest.fixture
def ordinary():
    """How to start a command as a user who may do nothing; /tmp is where he may write."""
    if os.geteuid() != 0:
        return {"env": environment()}
    if (path := python(NOBODY)) is None:
        pytest.skip("an ordinary user cannot run this Python, or not read this checkout")
    return user(NOBODY) | {"python": path}


def opened(directory: Path) -> Path:
    """A directory that everybody can reach and write."""
    place = directory / "open"
    place.mkdir()
    for each in (place, *place.parents[:4]):
        if each != Path("/tmp"):
            each.chmod(0o777 if each == place else 0o755)
    return place


def test_an_ordinary_user_runs(tmp_path, ordinary):
    place = opened(tmp_path)
    code, said = run(arguments(place), **ordinary)
    assert code == 0, said


def test_an_ordinary_user_has_no_packet_sockets(tmp_path, ordinary):
    place = opened(tmp_path)
    toml = f'{ECHO}[wire]\nkind = "af_packet"\n[server]\ninterface = "lo"\n'
    code, said = run(arguments(place, content=toml), **ordinary)
    assert code == 2 and "needs root" in said and "hostile.toml:4" in said
    assert no_directory(place)


def test_an_ordinary_user_in_a_directory_without_write_permission(tmp_path, ordinary):
    place = opened(tmp_path)
    words = arguments(place)
    place.chmod(0o555)
    code, said = run(words, **ordinary)
    assert code == 2 and "Permission denied" in said


def test_an_ordinary_user_without_a_runtime_directory(tmp_path, ordinary):
    place = opened(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    how = ordinary | {"env": ordinary["env"] | {"XDG_RUNTIME_DIR": str(closed)}}
    code, said = run(arguments(place, more=("-q",)), **how)
    assert code == 2 and "EAL does not start" in said


def test_host_shows_what_this_process_may_use():
    assert here().cpus == sorted(os.sched_getaffinity(0))
