"""The shield's files, for cgroups v1 and v2, on trees made for it: what the kernel would have read."""

import errno
import os
import shutil
import stat
import subprocess

import pytest
from sharing_tools import until

from windtunnel.errors import UserError
from windtunnel_sharing.pools import shield as shields
from windtunnel_sharing.pools.cgroups import Hierarchy, Nowhere, find
from windtunnel_sharing.pools.shield import PREFIX, Cap, NoRealTime, Shield, bandwidth, clean, own_group
from windtunnel_sharing.threads import PROC, Process

V1 = ("cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us", "tasks")
V2 = ("cpu.weight", "cpu.max", "cgroup.procs", "cgroup.subtree_control")


class Moved:
    def __init__(self):
        self.to = {}

    def change(self, tid, cgroups=None):
        self.to[tid] = cgroups


def shield(tmp_path, version):
    (tmp_path / "cgroup.subtree_control").write_text("memory")
    made = Shield(Hierarchy(version, tmp_path, "cpu" if version == 1 else ""))
    moved = Moved()
    made.enters_through(moved)
    return made, moved


@pytest.mark.parametrize(("version", "file", "value"), [(1, "cpu.shares", "262144"), (2, "cpu.weight", "10000")])
def test_the_shield_has_the_greatest_weight(tmp_path, version, file, value):
    made, moved = shield(tmp_path, version)
    made.hold({7: "a", 8: "b"}, {})
    assert (made.path / file).read_text() == value
    key = "cpu" if version == 1 else ""
    assert moved.to == {7: {key: f"/{made.path.name}"}, 8: {key: f"/{made.path.name}"}}
    assert (tmp_path / "cgroup.subtree_control").read_text() == ("memory" if version == 1 else "+cpu")


@pytest.mark.parametrize("version", [1, 2])
def test_with_a_cap_each_has_a_group_of_its_weight(tmp_path, version):
    made, moved = shield(tmp_path, version)
    (made.path / "cgroup.subtree_control").write_text("")
    made.hold({7: "a", 8: "b"}, {"a": Cap(64, 32), "b": Cap(192, None)})
    a, b = made.path / "tenant-a", made.path / "tenant-b"
    if version == 1:
        assert [(g / "cpu.shares").read_text() for g in (a, b)] == ["256", "768"]
        assert [(g / "cpu.cfs_quota_us").read_text() for g in (a, b)] == ["1000", "-1"]
        assert (a / "cpu.cfs_period_us").read_text() == "8000"
    else:
        assert [(g / "cpu.weight").read_text() for g in (a, b)] == ["256", "768"]
        assert [(g / "cpu.max").read_text() for g in (a, b)] == ["1000 8000", "max 100000"]
    assert list(moved.to[7].values()) == [f"/{made.path.name}/tenant-a"]
    assert {stat.S_IMODE(group.stat().st_mode) for group in (made.path, a, b)} == {0o700}, "nobody else holds its lock"


@pytest.mark.parametrize("cap", [1, 3, 32, 255, 256, 257, 1024])
def test_a_quota_is_what_the_cap_says_and_the_kernel_takes(cap):
    quota, period = bandwidth(cap)
    assert 1000 <= quota
    assert 1000 <= period <= 1_000_000
    assert quota / period == pytest.approx(cap / 256, rel=0.002)


MOUNTS = {
    "v1": ("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n", "4:cpu,cpuacct:/\n0::/\n"),
    "none": ("proc /proc proc rw 0 0\n", "0::/\n"),
}


def made_proc(tmp_path, mounts, cgroup):
    (tmp_path / "mounts").write_text(mounts)
    (tmp_path / "cgroup").write_text(cgroup)
    return tmp_path


def test_v1_and_hybrid_are_found(tmp_path):
    mounts, cgroup = MOUNTS["v1"]
    found = find(made_proc(tmp_path, mounts + f"cgroup2 {tmp_path} cgroup2 rw 0 0\n", cgroup))
    assert (found.version, str(found.mount), found.key) == (1, "/sys/fs/cgroup/cpu", "cpu,cpuacct")


@pytest.mark.parametrize(("controllers", "version"), [("cpuset cpu io", 2), ("hugetlb", None)])
def test_v2_is_found_where_it_has_the_controller(tmp_path, controllers, version):
    (tmp_path / "cgroup.controllers").write_text(controllers)
    found = find(made_proc(tmp_path, f"cgroup2 {tmp_path} cgroup2 rw 0 0\n", "0::/\n"))
    assert getattr(found, "version", None) == version


def test_no_cgroups_are_said(tmp_path):
    assert find(made_proc(tmp_path, *MOUNTS["none"])) == Nowhere("no cgroup hierarchy is mounted")


def test_where_none_can_be_made_it_says_so(tmp_path):
    with pytest.raises(UserError, match="cannot make a shield"):
        Shield(Hierarchy(1, tmp_path / "nowhere", "cpu"))


@pytest.mark.slow
def test_only_the_shields_of_those_who_ended_are_removed(tmp_path):
    """One that is empty at the moment stays: a second daemon starts while the first one has no tenants."""
    with subprocess.Popen(["sleep", "60"]) as process:
        ended = own_group(tmp_path).with_name(f"{PREFIX}{process.pid}-{Process.of(process.pid).started}")
        process.kill()
        until(lambda: (PROC / str(process.pid) / "stat").read_text().split()[2] == "Z")
        mine, me = own_group(tmp_path), Process.of(os.getpid())
        reused = mine.with_name(f"{PREFIX}{me.pid}-{me.started - 1}")
        others = mine.with_name(f"{PREFIX}of-{process.pid}-1")
        for group in (ended, mine, reused, others):
            group.mkdir()
        assert set(clean(Hierarchy(1, tmp_path, "cpu"))) == {ended, reused}
    assert set(tmp_path.iterdir()) == {mine, others}


@pytest.fixture
def kernel(monkeypatch):
    """The files of a cgroup go with its directory."""
    monkeypatch.setattr(shields, "_remove", lambda group: shutil.rmtree(group, ignore_errors=True))


def real_time(tmp_path, everything="950000", **others):
    """A tree of v1 whose root has a real-time budget, of which others have some."""
    (tmp_path / "cpu.rt_runtime_us").write_text(everything)
    (tmp_path / "cpu.rt_period_us").write_text("1000000")
    for name, taken in others.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpu.rt_runtime_us").write_text(taken)
    return Hierarchy(1, tmp_path, "cpu")


@pytest.mark.parametrize(("everything", "given"), [("950000", "940000"), ("-1", "-1"), ("1000000", "990000")])
def test_fifo_members_have_all_of_the_real_time_budget_but_a_rest(tmp_path, everything, given):
    made = Shield(real_time(tmp_path, everything), raises=True)
    assert (made.path / "cpu.rt_runtime_us").read_text() == given


def test_a_slicer_that_raises_nobody_takes_no_real_time_budget(tmp_path):
    made = Shield(real_time(tmp_path))
    assert not (made.path / "cpu.rt_runtime_us").exists()


def test_without_enough_real_time_budget_the_shield_is_refused_and_leaves_nothing(tmp_path, monkeypatch, kernel):
    monkeypatch.setattr(shields, "DYING_S", 0.05)
    with pytest.raises(NoRealTime, match="real-time runtime"):
        Shield(real_time(tmp_path, other="200000"), raises=True)
    assert not own_group(tmp_path).exists()


def test_the_budget_of_a_group_that_dies_is_waited_for(tmp_path, monkeypatch):
    write, refused = shields._write, []

    def written(path, value):
        if path.name == "cpu.rt_runtime_us" and len(refused) < 3:
            refused.append(value)
            raise OSError(errno.EINVAL, "the group that was removed has it still")
        write(path, value)

    monkeypatch.setattr(shields, "_write", written)
    made = Shield(real_time(tmp_path), raises=True)
    assert (made.path / "cpu.rt_runtime_us").read_text() == "940000" and len(refused) == 3


def test_a_shield_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch, kernel):
    def refused(path, value):
        raise OSError(errno.EACCES, "read-only")

    monkeypatch.setattr(shields, "_write", refused)
    with pytest.raises(UserError, match="cannot make a shield"):
        Shield(Hierarchy(1, tmp_path, "cpu"))
    assert not own_group(tmp_path).exists()


@pytest.mark.parametrize("version", [1, 2])
def test_a_tenant_may_be_called_as_a_file_of_its_cgroup_is(tmp_path, version):
    made, moved = shield(tmp_path, version)
    files = V1 if version == 1 else V2
    for file in files:
        (made.path / file).write_text("")
    made.hold(dict(enumerate(files)), dict.fromkeys(files, Cap(64, 32)))
    assert moved.to.keys() == set(range(len(files)))


@pytest.mark.parametrize("version", [1, 2])
def test_groups_that_somebody_has_removed_while_they_were_empty_are_made_again(tmp_path, version, monkeypatch):
    made, moved = shield(tmp_path, version)
    for _ in range(2):
        shutil.rmtree(made.path)
        moved.to.clear()
        made.hold({7: "a"}, {})
        assert moved.to.keys() == {7}
    assert (made.path / ("cpu.shares" if version == 1 else "cpu.weight")).read_text() in ("262144", "10000")
    (made.path / "cgroup.subtree_control").write_text("")
    cap = {"a": Cap(64, 32)}
    made.hold({7: "a"}, cap)
    limit = made.path / "tenant-a" / ("cpu.cfs_quota_us" if version == 1 else "cpu.max")
    before = limit.read_text()
    for removed in (limit.parent, made.path):
        shutil.rmtree(removed)
        moved.to.clear()
        if removed == made.path:  # the kernel makes this file in each group
            monkeypatch.setattr(shields, "_enable", lambda group: None)
        made.hold({7: "a"}, cap)
        assert limit.read_text() == before
        assert list(moved.to[7].values()) == [f"/{made.path.name}/tenant-a"]


def test_a_group_in_which_somebody_stays_stops_nobody_and_is_removed_later(tmp_path, monkeypatch):
    """Whose tenant has left: a thread could not be put back, or was forked there."""
    made, moved = shield(tmp_path, 1)
    busy = {"tenant-b"}

    def remove(group):
        if group.name in busy:
            raise OSError(errno.EBUSY, "somebody is in it")
        shutil.rmtree(group)

    monkeypatch.setattr(shields, "_remove", remove)
    made.hold({7: "a", 8: "b"}, {"a": Cap(64, 32), "b": Cap(64, 32)})
    for weight in (65, 66):
        made.hold({7: "a"}, {"a": Cap(weight, 32)})
        assert (made.path / "tenant-a/cpu.shares").read_text() == str(4 * weight) and (made.path / "tenant-b").exists()
    made.hold({7: "a", 8: "b"}, {"a": Cap(66, 32), "b": Cap(9, 32)})  # it comes again
    made.tidy()
    assert (made.path / "tenant-b/cpu.shares").read_text() == "36" and list(moved.to[8].values()) == [
        f"/{made.path.name}/tenant-b"
    ]
    made.hold({7: "a"}, {"a": Cap(66, 32)})
    busy.clear()
    made.tidy()
    assert [path.name for path in made.path.iterdir() if path.is_dir()] == ["tenant-a"]


def test_a_shield_that_is_made_again_has_its_real_time_budget(tmp_path, kernel):
    made = Shield(real_time(tmp_path), raises=True)
    made.enters_through(Moved())
    shutil.rmtree(made.path)
    made.hold({7: "a"}, {})
    assert (made.path / "cpu.rt_runtime_us").read_text() == "940000"


def test_caps_are_refused_where_they_would_not_hold(tmp_path):
    made = Shield(real_time(tmp_path), raises=True)
    made.enters_through(Moved())
    made.hold({7: "a"}, {"a": Cap(64, None)})
    with pytest.raises(UserError, match="SCHED_FIFO"):
        made.hold({7: "a"}, {"a": Cap(64, 32)})
