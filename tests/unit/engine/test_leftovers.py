"""What an engine leaves behind is removed, and nothing of anybody else."""

import errno
import json
import os
import socket
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
