"""What an engine leaves behind is removed, and nothing of anybody else."""

import socket
from pathlib import Path

from flying import SERVER
from sample_plan import make_plan

from windtunnel.engine import leftovers


def test_leftovers_are_removed_and_nothing_else(tmp_path, monkeypatch):
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


def test_hugetlbfs_mounts(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text("proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n")
    assert leftovers.hugetlbfs_mounts(mounts) == [Path("/dev/hugepages")]
