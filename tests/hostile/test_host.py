"""A host that gives a run too little: CPUs, a terminal, a reader, room on a disk, rights. It ends in words and leaves nothing behind."""

import os
import pty
import resource
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hostile_run import ECHO, arguments, environment, reasons, record, run, start
from other_users import python, user
from real_runs import execute, scenario
from sharing_tools import until

from windtunnel.scenario.host import here

NOBODY = 65534


def test_an_existing_run_directory_is_not_changed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("data")
    code, said = run(arguments(tmp_path))
    assert code == 2 and "exists already" in said
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["precious"]


def test_a_run_directory_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    code, said = run(arguments(tmp_path, out="file/run"))
    assert code == 2 and "Not a directory" in said


def test_a_cpu_outside_the_affinity(tmp_path):
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("needs two CPUs")
    os.sched_setaffinity(0, {first})
    try:
        code, said = run(arguments(tmp_path, f"server.cores=[{others[-1]}]"))
        assert code == 2 and f"CPU {others[-1]} does not exist, or is not allowed" in said and f"one of {first}" in said
        code, _ = run(arguments(tmp_path))
    finally:
        os.sched_setaffinity(0, {first, *others})
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


# --- terminals, pipes and limits


def limited(size: int):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def full() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        pytest.param({"env": {"TERM": "dumb"}}, 0, "valid", id="no terminal"),
        pytest.param({"env": {"COLUMNS": "40"}}, 0, "valid", id="40 columns"),
        pytest.param({"env": {"COLUMNS": "1", "LINES": "1"}}, 0, "", id="one column"),
        pytest.param({"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}}, 0, "valid", id="C"),
        pytest.param({"env": {"PYTHONIOENCODING": "ascii:strict"}}, 0, "valid", id="ASCII"),
        pytest.param({"preexec_fn": lambda: os.close(1)}, 0, "", id="output closed"),
        # progress goes elsewhere, and the run was kept before its tables
        pytest.param(
            {"preexec_fn": full}, 1, "the output cannot be written: No space left on device", id="output full"
        ),
        pytest.param(limited(2000), 2, "run.json: cannot be written: File too large", id="files of 2 kB"),
    ],
)
def test_a_run_with_a_limit_around_it(tmp_path, how, code, words):
    how = how | {"env": environment(**how.get("env", {}))}
    found, said = run(arguments(tmp_path), **how)
    assert found == code and words in said.replace("\n", ""), said
    assert code == 2 or (reasons(tmp_path / "run"), record(tmp_path / "run")["verdict"]["valid"]) == ([], True)


def test_a_file_size_limit_of_the_engine(tmp_path):
    """EAL makes files as large as its memory, in its runtime directory."""
    code, said = run(arguments(tmp_path, more=("-q",)), **limited(64 << 10))
    assert code == 2 and "EAL does not start" in said
    assert [reason.split(":")[0] for reason in reasons(tmp_path / "run")] == ["engine refused"]


@pytest.mark.parametrize("both", [False, True], ids=["stderr", "2>&1 | head -1"])
def test_a_reader_that_goes_away_leaves_no_process(tmp_path, both):
    process = start(arguments(tmp_path, "duration=20s"), **({"stderr": subprocess.STDOUT} if both else {}))
    stream = process.stdout if both else process.stderr
    assert stream.readline()
    stream.close()
    assert process.wait(60) == 1
    # which looks for its engine, and for what EAL leaves; on a busy host no packet may have been on its way yet
    assert reasons(tmp_path / "run")[0] == "stopped before the end: the reader of its progress has left"


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
        # whoever still reads in it, as a program that lists the mounts, soon ends
        until(lambda: subprocess.run(["umount", place], check=False).returncode == 0, lambda: f"{place} is busy")


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


@pytest.mark.parametrize(
    ("closed", "content", "code", "words"),
    [
        ("nothing", ECHO, 0, "valid"),
        (
            "packet sockets",
            f'{ECHO}[wire]\nkind = "af_packet"\n[server]\ninterface = "lo"\n',
            2,
            'hostile.toml:4: the wire "af_packet" opens',
        ),
        ("the directory", ECHO, 2, "Permission denied"),
        ("the runtime directory", ECHO, 2, "closed/dpdk: Permission denied"),
    ],
)
def test_an_ordinary_user(tmp_path, ordinary, closed, content, code, words):
    place, runtime = opened(tmp_path), tmp_path / "closed"
    told = arguments(place, content=content)
    how = dict(ordinary)
    if closed == "the directory":
        place.chmod(0o555)
    if closed == "the runtime directory":
        runtime.mkdir(mode=0o555)
        how["env"] = how["env"] | {"XDG_RUNTIME_DIR": str(runtime)}
    found, said = run(told, **how)
    assert found == code and words in said, said
    assert (place / "run").exists() == (closed in ("nothing", "the runtime directory"))


def test_host_shows_what_this_process_may_use():
    assert here().cpus == sorted(os.sched_getaffinity(0))
