"""The topology of recorded hosts, read from the files that their kernels have."""

import os
from pathlib import Path

import pytest
from recorded_hosts import HOSTS, topology_of

from windtunnel.host.cpu_topology import alike, read_cpu_topology
from windtunnel.host.cpus import read_cpus


@pytest.mark.parametrize(
    ("name", "cores", "clusters", "l3s", "nodes", "efficient"),
    [
        ("vm-2", 2, 2, 1, 1, 0),
        ("vm-16", 16, 16, 1, 1, 0),
        ("hybrid", 16, 10, 1, 1, 8),
        ("two-sockets", 128, 128, 2, 2, 0),
        ("eight-l3s", 64, 64, 8, 1, 0),
    ],
)
def test_a_recorded_host_is_read(name, cores, clusters, l3s, nodes, efficient):
    topology = topology_of(name)
    levels = (topology.cores, topology.clusters, topology.l3s)
    assert [len(level) for level in levels] == [cores, clusters, l3s]
    assert (len(topology.nodes), len(topology.efficient)) == (nodes, efficient)
    for level in levels:
        assert sorted(cpu for cpus in level for cpu in cpus) == HOSTS[name].cpus


def test_files_are_read_as_they_lie_below_the_root(tmp_path):
    assert read_cpu_topology(HOSTS["hybrid"].written(tmp_path), range(24)) == topology_of("hybrid")


def test_a_cpu_knows_what_it_shares():
    topology = topology_of("two-sockets")
    assert topology.with_siblings([3, 130]) == {3, 131, 2, 130}
    assert topology.l3_of[63] == topology.l3_of[128] != topology.l3_of[64]
    assert (topology.node_of[191], topology.node_of[192]) == (0, 1)


def test_small_cores_share_a_cluster_and_no_core():
    topology = topology_of("hybrid")
    assert topology.cluster_of[16] == topology.cluster_of[19] != topology.cluster_of[20]
    assert topology.with_siblings([16]) == {16}
    assert topology.with_siblings([14]) == {14, 15}


def test_cpus_that_are_offline_are_in_no_group():
    topology = read_cpu_topology(HOSTS["eight-l3s"].root, range(64))
    assert topology.cores == [[cpu] for cpu in range(64)]
    assert topology.l3s[0] == list(range(8))


def files(root: Path, *named: tuple[str, str]) -> Path:
    for name, content in named:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def test_what_the_kernel_hides_is_alike(tmp_path):
    assert read_cpu_topology(tmp_path, [0, 1, 2]) == alike([0, 1, 2])


def test_without_caches_a_socket_is_one_l3(tmp_path):
    sockets = [
        (f"sys/devices/system/cpu/cpu{cpu}/topology/core_siblings_list", f"{cpu & 2}-{cpu | 1}") for cpu in range(4)
    ]
    assert read_cpu_topology(files(tmp_path, *sockets), range(4)).l3s == [[0, 1], [2, 3]]


def test_an_arm_has_cores_with_less_capacity(tmp_path):
    capacity = [(f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity", "1024" if cpu > 3 else "446") for cpu in range(6)]
    assert read_cpu_topology(files(tmp_path, *capacity), range(6)).efficient == [0, 1, 2, 3]


@pytest.mark.parametrize("hostile", ["", "garbage", "9-1", "4294967296", "-1", "0-1,0-1"])
def test_a_strange_list_leaves_each_cpu_in_one_group(tmp_path, hostile):
    names = [f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list" for cpu in (0, 1)]
    topology = read_cpu_topology(files(tmp_path, *((name, hostile) for name in names)), [0, 1])
    for level in (topology.cores, topology.clusters, topology.l3s):
        assert sorted(cpu for cpus in level for cpu in cpus) == [0, 1]


def test_a_sibling_that_this_process_may_not_use_shares_the_core_too(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    cpus = tmp_path / "sys/devices/system/cpu"
    for cpu in (0, 1):
        (cpus / f"cpu{cpu}/topology").mkdir(parents=True)
        (cpus / f"cpu{cpu}/topology/thread_siblings_list").write_text("0-1\n")
    (cpus / "online").write_text("0-1\n")
    read = read_cpus(tmp_path)
    assert (read.allowed, read.topology.cores) == ([0], [[0, 1]])
