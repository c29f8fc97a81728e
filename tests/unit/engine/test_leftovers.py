"""What an engine leaves behind is removed, and nothing of anybody else."""

import errno
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_runs import SERVER
from sample_plan import make_plan

from windtunnel.engine import leftovers, xdp


def test_only_leftovers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    huge = tmp_path / "huge"
    memif = tmp_path / "memif.sock"
    plan = make_plan(SERVER, kind="memif", socket=str(memif))
    ours, foreign = tmp_path / "dpdk" / plan.eal.file_prefix, tmp_path / "dpdk" / "testpmd"
    for directory in (ours, foreign, huge):
        directory.mkdir(parents=True)
        (directory / "config").touch()
    (huge / f"{plan.eal.file_prefix}map_0").touch()
    (huge / "testpmdmap_0").touch()
    monkeypatch.setattr(leftovers, "hugetlbfs_mounts", lambda: [huge])
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(memif))
    leftovers.remove(plan)
    assert not ours.exists() and not memif.exists()
    assert foreign.exists()
    assert sorted(file.name for file in huge.iterdir()) == ["config", "testpmdmap_0"]
    memif.write_text("somebody's file")
    leftovers.remove(plan)
    assert memif.exists()


def test_a_socket_with_a_server_stays_even_if_it_hangs(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    memif = tmp_path / "memif.sock"
    plan = make_plan(SERVER, kind="memif", socket=str(memif))
    waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(5)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(memif))
        server.listen(0)
        for client in waiting:  # nobody accepts them: soon there is no place for another
            client.setblocking(False)
            leftovers.remove(plan)
            assert memif.exists()
            full = client.connect_ex(str(memif)) == errno.EAGAIN
        assert full
    for client in waiting:
        client.close()
    leftovers.remove(plan)
    assert not memif.exists()


@pytest.mark.parametrize(("name", "taken"), [("xsk_def_prog", True), ("my_filter", False), (None, False)])
def test_only_the_drivers_xdp_program_is_removed(tmp_path, monkeypatch, name, taken):
    link = [{"ifname": "wt0"} | ({"xdp": {"mode": 1, "prog": {"id": 7, "name": name}}} if name else {})]
    (tmp_path / "link.json").write_text(json.dumps(link))
    ip = tmp_path / "ip"
    ip.write_text(f'#!/bin/sh\ncase "$1" in -json) cat {tmp_path}/link.json;; *) echo "$@" >{tmp_path}/did;; esac\n')
    ip.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    xdp.remove_default_program("wt0")
    did = tmp_path / "did"
    assert (did.read_text().split() if did.exists() else None) == (
        ["link", "set", "dev", "wt0", "xdp", "off"] if taken else None
    )
    assert xdp.program("wt0") == (f"{name} (id 7)" if name else None)


def test_without_ip_no_xdp_program_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert xdp.program("lo") is None
    xdp.remove_default_program("lo")


def test_hugetlbfs_mounts(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text("proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n")
    assert leftovers.hugetlbfs_mounts(mounts) == [Path("/dev/hugepages")]


HOLDS = """
import fcntl, sys, time
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 8, 32)  # as EAL, a part of it
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def runtime(monkeypatch) -> Iterator[Path]:
    """A runtime directory in which everything began long ago, of a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="wt") as directory:
        for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, directory)
        monkeypatch.setattr(leftovers, "QUIET_S", -1.0)
        (Path(directory) / "dpdk").mkdir()
        yield Path(directory)


def engine_directory(runtime: Path, name: str, *files: str) -> Path:
    directory = runtime / "dpdk" / name
    directory.mkdir()
    for file in files:
        (directory / file).write_bytes(bytes(64))
    return directory


def telemetry(directory: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind(str(directory / "dpdk_telemetry.v2"))
    made.listen()
    return made


def test_what_the_dead_left_is_removed_and_nothing_of_the_living(runtime):
    dead = [
        engine_directory(runtime, "wt-0a1b2c3d", "config"),
        engine_directory(runtime, "wt-0a1b2c3e-client"),
        engine_directory(runtime, "wt-copies-0a1b2c3f"),
        runtime / "wt-0a1b2c3d.sock",
    ]
    for path in (dead[1] / "dpdk_telemetry.v2", dead[3]):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as ended:
            ended.bind(str(path))
    locked = engine_directory(runtime, "wt-11111111", "config")
    responds = engine_directory(runtime, "wt-22222222")
    listened = runtime / "wt-22222222.sock"
    foreign = [engine_directory(runtime, name, "config") for name in ("rte", "wt-test-31061", "wt-1", "wt-0a1b2c3dx")]
    link = runtime / "dpdk" / "wt-33333333"
    link.symlink_to(foreign[0])
    with (
        subprocess.Popen([sys.executable, "-c", HOLDS, locked / "config"], stdout=subprocess.PIPE) as holder,
        telemetry(responds),
        socket.socket(socket.AF_UNIX) as stream,
    ):
        assert holder.stdout.readline() == b"held\n"
        stream.bind(str(listened))
        stream.listen()
        assert sorted(leftovers.of_the_dead()) == sorted(dead)
        leftovers.remove_of_the_dead()
        assert not any(map(os.path.lexists, dead))
        assert all(path.exists() for path in (locked, responds, listened, link, *foreign))
        holder.kill()
    assert sorted(leftovers.of_the_dead()) == sorted([locked, responds, listened])


def test_who_has_just_started_is_not_dead(runtime, monkeypatch):
    monkeypatch.setattr(leftovers, "QUIET_S", 60.0)
    engine_directory(runtime, "wt-0a1b2c3d", "config")
    assert leftovers.of_the_dead() == []


@pytest.mark.parametrize(
    "kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM], ids=lambda kind: kind.name
)
def test_a_socket_of_any_program_that_lives_stays(tmp_path, monkeypatch, kind):
    """A scenario may name it: docker's was removed."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(str(path))
        if kind is not socket.SOCK_DGRAM:
            server.listen()
        leftovers.remove(make_plan(SERVER, kind="memif", socket=str(path)))
        assert path.exists()
