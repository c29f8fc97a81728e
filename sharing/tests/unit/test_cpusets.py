"""Cpusets: a thread in one cannot leave its CPUs, and is as it was when it is put back."""

import os
import shutil
import stat
from contextlib import closing

import pytest
from pool_tools import Turns
from sharing_tools import CPUS, needs_rights, needs_two_cpus, starting_tenant, tenant, until

from windtunnel.errors import UserError
from windtunnel_sharing import journal, left_behind, threads
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
    assert {stat.S_IMODE(group.stat().st_mode) for group in (own_group(tmp_path), own_group(tmp_path) / "0")} == {0o700}


@pytest.fixture
def box():
    """A cpuset as a container has one: what sets its CPUs, and its path."""
    mount = threads.mounts().get(KEY)
    if mount is None:
        pytest.skip("this host has no cpusets of cgroup v1")
    group = mount / f"windtunnel-test-{os.getpid()}"
    group.mkdir()
    (group / "cpuset.mems").write_text((mount / "cpuset.mems").read_text())

    def permit(*cpus: int) -> None:
        (group / "cpuset.cpus").write_text(",".join(map(str, cpus)))

    yield permit, f"/{group.name}"
    until(lambda: not (group / "tasks").read_text())
    group.rmdir()


@pytest.mark.slow
@needs_rights
@needs_two_cpus
@pytest.mark.parametrize("changes", ["meanwhile", "later"])
@pytest.mark.parametrize("by", ["put back", "restored"])
def test_who_had_all_cpus_of_a_cpuset_has_all_of_it_when_it_changes(mine, box, by, changes):
    """And so has what it has forked. The kernel tells nobody which CPUs a thread has asked for."""
    permit, group = box
    permit(CPUS[-1])
    with starting_tenant() as (process, start):
        threads.move(process.pid, KEY, group)
        mine.change(process.pid, affinity=(CPUS[-1],), nice=3)
        forked = start("child")
        if changes == "meanwhile":
            permit(*CPUS)
            assert os.sched_getaffinity(process.pid) == {CPUS[-1]}
        if by == "put back":
            assert mine.put_back(process.pid) == []
        else:
            contents = journal.read(mine.path)
            assert left_behind.restore_contents(contents) == [] and not contents.entries
        permit(*CPUS)
        assert os.sched_getaffinity(process.pid) == os.sched_getaffinity(forked) == set(CPUS)


@pytest.mark.slow
@needs_rights
@needs_two_cpus
def test_who_had_asked_for_cpus_of_a_cpuset_has_these_when_it_changes(mine, box, one):
    permit, group = box
    permit(*CPUS)
    threads.move(one.pid, KEY, group)
    os.sched_setaffinity(one.pid, CPUS[:1])
    mine.change(one.pid, affinity=(CPUS[-1],))
    permit(CPUS[-1])
    (said,) = mine.put_back(one.pid)
    assert said == f"thread {one.pid}: its cpuset has none of its CPUs ({CPUS[0]},) any more: it is on all of that now"
    assert os.sched_getaffinity(one.pid) == {CPUS[-1]} and one.pid not in mine.tids
    permit(*CPUS)
    os.sched_setaffinity(one.pid, CPUS[:1])
    mine.change(one.pid, affinity=(CPUS[-1],))
    assert mine.put_back(one.pid) == [] and os.sched_getaffinity(one.pid) == {CPUS[0]}


@pytest.mark.slow
@needs_rights
@needs_two_cpus
def test_what_the_kernel_makes_of_cpus_of_ours_is_no_choice_of_the_thread(mine, box, one):
    """Who was on a CPU that its cpuset has lost is on all others of it."""
    permit, group = box
    permit(*CPUS)
    threads.move(one.pid, KEY, group)
    os.sched_setaffinity(one.pid, CPUS[:1])
    mine.change(one.pid, affinity=(CPUS[-1],))
    permit(CPUS[0])
    assert os.sched_getaffinity(one.pid) == {CPUS[0]}
    assert mine.put_back(one.pid) == []
    permit(*CPUS)
    assert os.sched_getaffinity(one.pid) == {CPUS[0]}


@pytest.mark.slow
@needs_rights
@needs_two_cpus
def test_who_leaves_a_cpuset_of_ours_field_by_field_has_all_cpus(mine, box, one, monkeypatch):
    permit, group = box
    permit(CPUS[-1])
    before, write = threads.read(one.pid), threads.write
    mine.change(one.pid, cgroups={KEY: group}, affinity=(CPUS[-1],))

    def one_at_once(tid, fields):
        if len(fields) > 1:
            raise PermissionError
        write(tid, fields)

    with monkeypatch.context() as refusing:
        refusing.setattr(threads, "write", one_at_once)
        assert mine.put_back(one.pid) == []
    assert threads.read(one.pid) == before


@pytest.mark.parametrize(
    ("groups", "files", "inside"),
    [
        ({"cgroup cpu,cpuset": "/a"}, {"v1/a/cpuset.effective_cpus": "1,3-4"}, (1, 3)),
        ({"cgroup cpu,cpuset": "/a"}, {"v1/a/cpuset.effective_cpus": "4"}, (4,)),
        ({"cgroup ": "/a/b"}, {"v2/a/cpuset.cpus.effective": "1"}, (1,)),
        ({"cgroup cpu": "/a", "cgroup ": "/a"}, {"v1/a/cpuset.effective_cpus": "1", "v2/other": ""}, (0, 1, 3)),
        ({"cgroup ": "/../a"}, {"a/cpuset.cpus.effective": "1"}, (0, 1, 3)),
        ({}, {}, (0, 1, 3)),
    ],
    ids=["v1", "none of them", "v2", "another hierarchy", "not to be seen", "none"],
)
def test_a_thread_has_the_cpus_that_its_cpuset_permits(tmp_path, monkeypatch, groups, files, inside):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "online").write_text("0-3\n")
    mounted = {"cpu,cpuset": tmp_path / "v1", "cpu": tmp_path / "v1", "": tmp_path / "v2"}
    monkeypatch.setattr(threads, "mounts", lambda: mounted)
    monkeypatch.setattr(threads, "CPUS", tmp_path)
    assert threads.permitted((0, 1, 3), groups) == inside


def test_without_sys_as_many_cpus_are_counted_as_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "CPUS", tmp_path)
    assert threads.permitted(range(4096), {}) == tuple(range(os.cpu_count()))


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
