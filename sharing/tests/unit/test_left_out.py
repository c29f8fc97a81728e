"""A tenant that the kernel does not let us share is named and left out; the others are shared all the same."""

import os
from contextlib import closing, contextmanager

import pytest
from daemon_tools import daemon, tenant_toml, write
from pool_tools import Pools, Remembers, Turns
from sharing_tools import CPUS, needs_rights, needs_two_cpus, tenant

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.daemon import allocation, core, roster
from windtunnel_sharing.daemon.allocation import Change
from windtunnel_sharing.daemon.core import Chosen, Core
from windtunnel_sharing.daemon.keys import Serve, TenantKeys
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.threads import CannotChange


class Cannot(Remembers):
    """Carries everything out but what has one of these threads."""

    def __init__(self):
        super().__init__()
        self.tids = set()
        self.resliced = []

    def carry(self, to, caps):
        self._refuse({tid for members in to.turns.values() for tid in members} | set(to.be))
        return super().carry(to, caps)

    def reslice(self, kind, slice_ns):
        self._refuse({tid for members in self.now.turns.values() for tid in members} | set(self.now.be))
        self.resliced.append(slice_ns)

    def _refuse(self, tids):
        if bad := tids & self.tids:
            raise CannotChange(min(bad), f"thread {min(bad)} cannot be given this", "another cpuset")


@pytest.fixture
def pools(monkeypatch):
    """Two tenants, whose threads are 100 and 200; b cannot be changed from now on. `now` is the time."""
    pools = Pools((0, 1, 2), a={"weight": 100}, b={"weight": 100})
    pools.carrier, pools.now = Cannot(), 0.0
    pools.carrier.tids = {200}
    for module in (allocation, roster):
        monkeypatch.setattr(module.time, "monotonic", lambda: pools.now)
    monkeypatch.setattr(roster.Tenant, "look", lambda self, *_: False)
    pools.told = lambda: [(event["event"], event["tenant"]) for event in pools.events.since(pools.begin)]
    pools.begin = pools.events.last
    return pools


def carried(pools):
    return {tid for members in pools.carrier.now.turns.values() for tid in members}


def test_who_cannot_be_changed_is_left_out_and_the_others_are_carried_out(pools):
    pools.ask([Change("a", {"weight": 120})], "test")
    pools.settle()
    assert carried(pools) == {100} and pools.told() == [("left out", "b"), ("changed", "a")]
    (event, _) = pools.events.since(pools.begin)
    assert event["why"] == "thread 200 cannot be given this" and event["remedy"] == "another cpuset"
    pools.ask([Change("b", {"weight": 120})], "test")
    pools.settle()
    assert carried(pools) == {100} and pools.tenants["b"].wish.weight == 120


def test_who_was_left_out_is_tried_again_later_each_time_and_has_kept_its_place(pools):
    pools.join("c", weight=200)
    with pytest.raises(UserError, match="ls has at most 2"):
        pools.ask([Change("a", {"weight": 213})], "test")
    pools.begin = pools.events.last
    tries = []
    for pools.now in range(100):
        before = len(pools.told())
        pools.look(pools.tenants["b"])
        pools.settle()
        if len(pools.told()) > before:
            tries.append(pools.now)
    assert tries == [10, 30, 70] and set(pools.told()) == {("left out", "b")} and carried(pools) == {100, 300}
    pools.carrier.tids, pools.now = set(), 1000
    pools.look(pools.tenants["b"])
    pools.settle()
    assert carried(pools) == {100, 200, 300} and pools.told()[-1] == ("back in", "b")


def test_many_that_were_left_out_are_not_all_tried_at_once(pools):
    pools.carrier.tids = {100, 200}
    pools.stir()
    pools.settle()
    pools.now = 50.0
    for each in pools.tenants.values():
        pools.look(each)
    assert [each.left_out is None for each in pools.tenants.values()] == [True, False]


def test_who_is_added_and_cannot_be_changed_is_refused(pools):
    upkeep = Core(Serve(), pools, pools.carrier, Chosen("turns", Turns), "none")
    pools.carrier.tids = {1}
    appear = pools._appear

    def appear_with_a_thread(tenant):
        appear(tenant)
        tenant.tids = (1,)

    pools._appear = appear_with_a_thread
    with pytest.raises(CannotChange, match="thread 1 cannot be given this"):
        upkeep.take_in(TenantKeys(name="c", pid=1, weight=1))
    assert carried(pools) == {100, 200} and list(pools.tenants) == ["a", "b"]


def test_another_slice_is_for_all_others(pools, monkeypatch):
    monkeypatch.setattr(core, "_chosen", lambda name, slice_ns, cpu: Chosen(Turns, slice_ns))
    upkeep = Core(Serve(), pools, pools.carrier, Chosen(Turns, 100_000), "none")
    pools.carrier.tids = set()
    pools.stir()
    pools.settle()
    pools.carrier.tids = {200}
    upkeep.reslice(slice_ns=200_000)
    assert upkeep.chosen.slice_ns == 200_000
    assert pools.carrier.resliced == [200_000] and carried(pools) == {100}


def test_who_has_lost_threads_and_has_a_weight_for_more_stops_nobody(pools):
    """It gets what it can use, and has its place when they are there again."""
    pools.carrier.tids = set()
    pools.tenants["b"].tids = (200, 201)
    pools.ask([Change("b", {"weight": 400})], "test")
    pools.settle()
    pools.tenants["b"].tids = (200,)
    pools.ask([Change("a", {"weight": 112})], "test")
    pools.settle()
    assert pools.plan.loads() and sum(pools.plan.loads().values()) == 112 + 256
    with pytest.raises(UserError, match="ls has at most 2"):
        pools.ask([Change("a", {"weight": 113})], "test")
    with pytest.raises(UserError, match="its 1 thread can use 1"):
        pools.ask([Change("b", {"weight": 401, "most": 512})], "test")
    pools.tenants["b"].tids = (200, 201)
    pools.stir()
    pools.settle()
    assert sum(pools.plan.loads().values()) == 512


@contextmanager
def cpuset(cpus):
    """A cgroup of v1 of these CPUs."""
    mount = threads.mounts().get("cpuset")
    if mount is None:
        pytest.skip("this host has no cpusets of cgroup v1")
    group = mount / f"windtunnel-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpuset.cpus").write_text(",".join(map(str, cpus)))
        (group / "cpuset.mems").write_text((mount / "cpuset.mems").read_text())
        yield f"/{group.name}"
    finally:
        for tid in threads.within("cpuset", f"/{group.name}"):
            threads.move(tid, "cpuset", "/")
        group.rmdir()


@pytest.mark.slow
@needs_rights
@needs_two_cpus
def test_the_thread_is_named_whose_cpuset_has_none_of_the_cpus_and_no_slicer_is_replaced(tmp_path):
    with (
        cpuset(CPUS[:1]) as group,
        tenant() as one,
        tenant() as two,
        closing(Journal(tmp_path / "a.journal")) as journal,
    ):
        threads.move(two.pid, "cpuset", group)
        before, replaced = threads.read(two.pid), []
        carrier = Carrier(journal, Turns, 100_000)
        carrier.on_replaced = lambda *why: replaced.append(why)
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}), {})
        for arrangement in (
            Arrangement({CPUS[-1]: {one.pid: 128, two.pid: 128}}),
            Arrangement({CPUS[-1]: {one.pid: 128}}, {two.pid: frozenset(CPUS[-1:])}),
        ):
            with pytest.raises(CannotChange, match="Invalid argument; everything is as before") as refused:
                carrier.carry(arrangement, {})
            assert refused.value.tid == two.pid and "cpuset" in refused.value.remedy
            assert threads.read(two.pid) == before and os.sched_getaffinity(one.pid) == {CPUS[-1]}
        assert not replaced
        carrier.close()


@pytest.mark.slow
@needs_rights
@needs_two_cpus
def test_a_daemon_starts_without_such_a_tenant_and_changes_the_others(tmp_path):
    with cpuset(CPUS[:1]) as group, tenant() as one, tenant() as two:
        threads.move(two.pid, "cpuset", group)
        head = f"cpus = {CPUS[-1:]}\nbe_cpus = 0"
        with (
            daemon(write(tmp_path, tenant_toml("a", one.pid) + tenant_toml("b", two.pid), head)) as running,
            running.client() as client,
        ):
            assert client.ask("PATCH", "/v1/tenants/a", {"weight": 90})["loads"] == {str(CPUS[-1]): 90}
            (event,) = [event for event in client.get("/v1/events") if event["event"] == "left out"]
            assert event["tenant"] == "b" and "Invalid argument" in event["why"]
            assert "tenant b is left out: thread" in running.said()
            assert os.sched_getaffinity(one.pid) == {CPUS[-1]}
