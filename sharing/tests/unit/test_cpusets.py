"""Cpusets: a thread in one cannot leave its CPUs, and is as it was when it is put back."""

import os
import shutil
from contextlib import closing

import pytest
from pool_tools import Turns
from sharing_tools import CPUS, needs_rights, needs_two_cpus, tenant, until

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.cpusets import KEY, Cpusets
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.pools.shield import own_group


def test_without_a_hierarchy_none_can_be_had():
    with pytest.raises(UserError, match="this host has no cpusets of cgroup v1") as refused, Cpusets().swept():
        Cpusets().group((0,))
    assert "AllowedCPUs=" in refused.value.remedy


def test_where_none_can_be_made_nothing_is_left(tmp_path):
    (tmp_path / "cpuset.cpus").write_text("0-1\n")
    (tmp_path / "cpuset.mems").mkdir()
    cpusets = Cpusets(tmp_path)
    with pytest.raises(UserError, match="no cpuset can be made: Is a directory"):
        cpusets.group((0,))


def test_a_base_that_somebody_has_removed_is_made_again(tmp_path):
    for name in ("cpuset.cpus", "cpuset.mems"):
        (tmp_path / name).write_text("0\n")
    cpusets = Cpusets(tmp_path)
    shutil.rmtree(own_group(tmp_path))
    assert cpusets.group((0,)) == {KEY: f"/{own_group(tmp_path).name}/0"}
    assert (own_group(tmp_path) / "0" / "cpuset.mems").read_text() == "0\n"


@pytest.fixture
def carrier(tmp_path):
    """One that confines, with a journal."""
    mount = threads.mounts().get(KEY)
    if mount is None:
        pytest.skip("this host has no cpusets of cgroup v1")
    cpusets = Cpusets(mount)
    with cpusets.swept(), closing(Journal(tmp_path / "a.journal")) as journal:
        carrier = Carrier(journal, Turns, 100_000)
        carrier.confines_by(cpusets)
        yield carrier
        carrier.close()
    assert not own_group(mount).exists()


@pytest.mark.slow
@needs_rights
@needs_two_cpus
@pytest.mark.parametrize("own", [CPUS, CPUS[-1:], CPUS[:1]])
def test_a_confined_thread_stays_moves_and_is_put_back(carrier, own):
    with tenant() as one:
        os.sched_setaffinity(one.pid, own)
        before = threads.read(one.pid)
        for cpu, other in ((CPUS[-1], CPUS[0]), (CPUS[0], CPUS[-1])):
            carrier.carry(Arrangement({cpu: {one.pid: 128}}), {})
            if cpu == CPUS[-1]:
                carrier.confine(one.pid, (cpu,))
            assert threads.read(one.pid)["affinity"] == (cpu,)
            with pytest.raises(OSError, match="Invalid argument"):
                os.sched_setaffinity(one.pid, {other})
        carrier.carry(Arrangement(), {})
        assert threads.read(one.pid) == before
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}), {})
        os.sched_setaffinity(one.pid, CPUS[:1])  # who was put back is free
        carrier.close()
        until(lambda: threads.read(one.pid) | {"affinity": before["affinity"]} == before)


@pytest.mark.slow
@needs_rights
def test_a_move_between_cpusets_leaves_the_affinity_where_the_kernel_does_not(monkeypatch):
    with tenant() as one:
        os.sched_setaffinity(one.pid, CPUS[:1])
        moved = []

        def move(tid, hierarchy, path):  # as Linux before 6.2 does
            moved.append((hierarchy, path))
            os.sched_setaffinity(tid, CPUS)

        monkeypatch.setattr(threads, "move", move)
        threads.write(one.pid, {"cgroup cpuset": "/here"})
        assert (moved, os.sched_getaffinity(one.pid)) == ([("cpuset", "/here")], {CPUS[0]})
