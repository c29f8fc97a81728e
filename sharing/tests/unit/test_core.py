"""The upkeep of the daemon, without a machine."""

import pytest
from journal_tools import LOOKS, Steps, raises_for
from pool_tools import Pools, Turns

from windtunnel.errors import UserError
from windtunnel_sharing.daemon import core, roster
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.core import Chosen, Core
from windtunnel_sharing.daemon.events import Events
from windtunnel_sharing.daemon.keys import Serve, TenantKeys
from windtunnel_sharing.daemon.roster import Tenant
from windtunnel_sharing.native import ThreadRefused
from windtunnel_sharing.pools.plan import Arrangement, Machine
from windtunnel_sharing.rounds import Budgets
from windtunnel_sharing.threads import CannotChange


class Holds:
    """A carrier whose threads are where a test says; `refuses` is why it cannot confine one."""

    def __init__(self, now, refuses=None):
        self.now, self.refuses, self.did = now, refuses, []

    def pin(self, tid, cpus):
        self.did.append(("pin", tid, cpus))

    def confine(self, tid, cpus):
        if self.refuses:
            raise UserError(self.refuses)
        self.did.append(("confine", tid, cpus))


def looked(monkeypatch, found, refuses=None, strays="put back", step_ns=250_000_000, ended=False):
    """What is done and told when thread 100 is found on these CPUs in turn; it belongs on CPU 2. `ended`: another process has its number."""
    monkeypatch.setattr(Tenant, "has", lambda self, tid: not ended)
    pools = Pools((0, 1, 2), a={})
    holds = Holds(Arrangement({2: {100: 128}}), refuses)
    upkeep = Core(Serve(strays=strays), pools, holds, Chosen("turns", Turns), "none")
    monkeypatch.setattr(core.time, "monotonic_ns", lambda: upkeep_ns[0])
    upkeep_ns, before = [0], pools.events.last
    for cpus in found:
        upkeep_ns[0] += step_ns
        monkeypatch.setattr(core, "_affinity", lambda tid, cpus=cpus: cpus)
        upkeep.put_strays_right()
    told = [event["event"] for event in pools.events.since(before)]
    return [done for done, *_ in holds.did], told, upkeep.metrics.text().decode()


def test_whoever_has_the_number_of_a_thread_that_ended_is_left_alone(monkeypatch):
    assert looked(monkeypatch, [(0,), (1,), (0,)], ended=True)[:2] == ([], [])


def test_who_strays_once_is_put_right_and_again_is_confined(monkeypatch):
    did, told, text = looked(monkeypatch, [(0,), (2,), (0,), (2,)])
    assert (did, told) == (["pin", "confine"], ["strayed", "strayed", "confined"])
    assert "windtunnel_share_confined_total 1.0" in text and "windtunnel_share_strays_total 2.0" in text


def test_who_strays_without_end_is_confined_at_the_second_look_and_told_once(monkeypatch):
    did, told, _ = looked(monkeypatch, [(0,)] * 4)
    assert (did, told) == (["pin", "confine", "confine", "confine"], ["strayed", "confined"])


def test_who_strays_once_a_minute_is_put_right(monkeypatch):
    did, told, _ = looked(monkeypatch, [(0,), (2,)] * 3, step_ns=30_000_000_000)
    assert (did, told) == (["pin"] * 3, ["strayed"] * 3)


def test_who_cannot_be_confined_is_put_right_and_told_once(monkeypatch):
    did, told, text = looked(monkeypatch, [(0,)] * 4, refuses="no cpusets")
    assert (did, told) == (["pin"] * 4, ["strayed", "not confined"])
    assert "windtunnel_share_confined_total 0.0" in text


def test_who_may_stray_is_left(monkeypatch):
    assert looked(monkeypatch, [(0,)] * 4, strays="leave")[:2] == ([], ["strayed"])


@pytest.mark.parametrize("error", LOOKS, ids=repr)
def test_a_stray_that_cannot_be_looked_at_keeps_no_other_from_its_cpus(monkeypatch, capsys, error):
    monkeypatch.setattr(core, "_affinity", lambda tid: (0,))
    has = raises_for(100, error, lambda tid: True)
    monkeypatch.setattr(Tenant, "has", lambda self, tid: has(tid))
    pools = Pools((0, 1, 2), a={"threads": 2}, b={})
    holds = Holds(Arrangement({2: dict.fromkeys((100, 101, 200), 1)}))
    Core(Serve(), pools, holds, Chosen("turns", Turns), "none").put_strays_right()
    assert [tid for _, tid, _ in holds.did] == [200, 101]


@pytest.mark.parametrize("error", LOOKS, ids=repr)
def test_a_tenant_that_cannot_be_looked_at_keeps_no_other_from_its_look(monkeypatch, capsys, error):
    pools, looked = Pools((0, 1, 2), a={}, b={}), []
    look = raises_for("a", error, looked.append)
    pools.look = lambda tenant: look(tenant.name)
    pools.carrier = carrier = Idle()
    (event,), _ = upkept(monkeypatch, pools, carrier)
    assert looked == ["b"] and event["event"] == ("trouble" if isinstance(error, OSError) else "quarantined")


def test_of_thousands_that_stray_some_are_put_right_at_once_and_each_in_its_turn(monkeypatch):
    """Nobody is served meanwhile. A tenant of thousands does not keep another one's from its turn."""
    monkeypatch.setattr(core, "MOST", 4)
    monkeypatch.setattr(core, "_affinity", lambda tid: (0,))
    monkeypatch.setattr(Tenant, "has", lambda self, tid: True)
    pools = Pools((0, 1, 2), a={"threads": 5}, b={})
    holds = Holds(Arrangement({2: dict.fromkeys([*range(100, 105), 200], 1)}))
    upkeep = Core(Serve(), pools, holds, Chosen("turns", Turns), "none", Budgets(strays=Steps(2)))
    passes = []
    for _ in range(4):
        upkeep.put_strays_right()
        passes.append([tid for _, tid, _ in holds.did])
        assert {how for how, *_ in holds.did} == {"confine"}, "they would stray again before it is their turn"
        holds.did.clear()
    assert passes == [[100, 200], [101, 200], [102, 200], [103, 200]]


def test_of_tenants_some_are_looked_at_at_once_and_each_in_its_turn(monkeypatch):
    """What is not looked at is not nobody's: nothing of it is let go."""
    pools, carrier, looked, let_go = Pools((0, 1, 2), a={}, b={}, c={}), Idle(), [], []
    pools.look = lambda tenant: looked.append(tenant.name)
    carrier.release = let_go.append
    budgets = Budgets(looks=Steps(2))
    upkeep = Core(Serve(), pools, carrier, Chosen("turns", Turns), "none", budgets)
    assert [upkeep.upkeep() for _ in range(2)] == [True, True]
    budgets.looks.most = 3
    assert not upkeep.upkeep()
    assert looked == ["a", "b", "c", "a", "b", "c", "a"] and let_go == [False, False, True]


def test_as_many_new_threads_are_taken_in_as_fit_into_a_round(monkeypatch):
    """By what the last ones took: to move one may take the kernel a tenth of a second."""
    pools, now, taken_in = Pools((0, 1, 2), a={}, b={}), [0.0], []
    budgets = Budgets(taken_in_s=1.0)

    def look(tenant):
        taken_in.append(pools.room)
        pools.room = 0

    def settle():
        now[0] += 0.1 * taken_in[-2]

    pools.look, pools.settle = look, settle
    upkeep = Core(Serve(), pools, Idle(), Chosen("turns", Turns), "none", budgets)
    monkeypatch.setattr(core.time, "monotonic", lambda: now[0])
    for _ in range(3):
        upkeep.upkeep()
    assert taken_in == [core.MOST_NEW, 0, 10, 0, 20, 0]


class Idle(Holds):
    """A carrier that has everything carried out, with slicers that answer as a test says."""

    def __init__(self, slicers=()):
        super().__init__(Arrangement({cpu: {} for cpu in slicers}))
        self.slicers = dict(slicers)
        self.moved_at_ns = 0

    def carry(self, to, caps):
        self.now = to
        return frozenset()

    def warm(self, cpu):
        pass

    def release(self, own):
        pass

    def bring_back(self):
        return False

    def broken(self, cpu, why):
        self.did.append(("broken", cpu, why))


class Fails:
    """A slicer whose reading fails."""

    def __init__(self, error):
        self.error = error

    def read(self):
        raise self.error


def upkept(monkeypatch, pools, carrier):
    """The events of one upkeep, and whether more is due."""
    upkeep = Core(Serve(), pools, carrier, Chosen("turns", Turns), "none")
    monkeypatch.setattr(core.time, "monotonic_ns", lambda: upkeep._read_at + 2 * core.READING_NS)
    before = pools.events.last
    more = upkeep.upkeep()
    return [event for event in pools.events.since(before) if event["event"] != "removed"], more


def test_a_tenant_at_which_the_upkeep_fails_is_removed_and_the_others_are_looked_after(monkeypatch, capsys):
    pools, looked = Pools((0, 1, 2), bad={}, good={}), []

    def look(tenant):
        looked.append(tenant.name)
        if tenant.name == "bad":
            raise KeyError("unforeseen")

    pools.look = look
    pools.carrier = carrier = Idle()
    (event,), _ = upkept(monkeypatch, pools, carrier)
    assert (event["event"], event["tenant"], event["why"]) == ("quarantined", "bad", "KeyError: 'unforeseen'")
    assert looked == ["bad", "good"] and list(pools.tenants) == ["good"] and "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [ValueError("zip"), KeyError(3), OSError(5, "io"), UserError("it has ended")], ids=repr
)
def test_a_slicer_whose_reading_fails_is_replaced(monkeypatch, error):
    pools = Pools((0, 1, 2), a={})
    carrier = Idle({2: Fails(error)})
    carrier.now = Arrangement({2: {100: 128}, 1: {}})  # the slicer of CPU 1 could not be started
    upkept(monkeypatch, pools, carrier)
    assert [(what, cpu) for what, cpu, _ in carrier.did] == [("broken", 2)]


@pytest.mark.parametrize(("pause_ns", "left_out"), [(core.READING_NS, True), (20 * core.AGAIN_NS, False)])
def test_who_ends_a_slicer_twice_is_left_out(monkeypatch, pause_ns, left_out):
    """Once it may be on its way into the shield."""
    pools, now = Pools((0, 1, 2), a={}, b={}), [0]
    pools.look = lambda tenant: None
    pools.carrier = carrier = Idle()
    upkeep = Core(Serve(), pools, carrier, Chosen("turns", Turns), "none")
    monkeypatch.setattr(core.time, "monotonic_ns", lambda: now[0])
    before = pools.events.last
    for now[0] in (1, 1 + pause_ns):
        carrier.on_replaced(1, ThreadRefused(200, "thread 200 cannot be given SCHED_FIFO", "a real-time budget"))
        upkeep.upkeep()
        assert pools.tenants["a"].left_out is None
    upkeep._unfit.append(CannotChange(4711, "of nobody any more"))
    upkeep.upkeep()
    told = [(event["event"], event.get("tenant")) for event in pools.events.since(before)]
    assert told == [("slicer replaced", None)] * 2 + [("left out", "b")] * left_out


def test_five_hundred_tenants_are_carried_out_once_and_looked_at_once(monkeypatch):
    pools = Pools((0, 1, 2))
    upkeep = Core(Serve(), pools, Idle(), Chosen("turns", Turns), "none")
    keys = [TenantKeys(name=f"t{n}", pid=1, weight=1) for n in range(500)]
    upkeep.take_in_all((each, None, None) for each in keys)
    assert len(pools.carrier.carried) == 1 and len(pools.tenants) == 500
    looked = []
    pools.look = lambda tenant: looked.append(tenant.name)
    carried = len(pools.carrier.carried)
    upkeep.upkeep()
    assert sorted(looked) == sorted(each.name for each in keys) and len(pools.carrier.carried) == carried
    with pytest.raises(UserError, match='tenant t7: there is a tenant "t7"'):
        upkeep.take_in_all([(keys[7], None, None)])
    with pytest.raises(UserError, match='tenant of: of: no user "nobody-at-all"'):
        upkeep.take_in_all([(TenantKeys(name="of", pid=1, user="nobody-at-all"), None, None)])


@pytest.mark.parametrize("error", LOOKS, ids=repr)
def test_a_tenant_of_the_file_that_cannot_be_looked_at_keeps_no_other_from_the_start(monkeypatch, capsys, error):
    monkeypatch.setattr(roster, "find", lambda keys, base: raises_for("bad", error, lambda name: None)(keys.name))
    sharing = Sharing(Machine((0, 1), 1), Idle(), Events())
    upkeep = Core(Serve(), sharing, sharing.carrier, Chosen("turns", Turns), "none")
    upkeep.take_in_all((TenantKeys(name=name, pid=1), None, None) for name in ("bad", "good"))
    assert list(sharing.tenants) == ["bad", "good"] and sharing.tenants["bad"].trouble
    assert [(event["event"], event["tenant"]) for event in sharing.events.since(0)] == [
        ("trouble", "bad"),
        ("added", "bad"),
        ("added", "good"),
    ]


def test_what_a_look_failed_at_is_told_once_until_it_is_something_else(monkeypatch):
    pools, fails = Pools((0, 1, 2), a={}, b={}), {"a": "one", "b": "two"}

    def look(tenant):
        if tenant.name in fails:
            raise UserError(fails[tenant.name])

    pools.look, pools.carrier = look, Idle()
    upkeep, told = Core(Serve(), pools, pools.carrier, Chosen("turns", Turns), "none"), []
    for fails["a"] in ("one", "one", "other"):
        before = pools.events.last
        upkeep.upkeep()
        told.append([(event["tenant"], event["why"]) for event in pools.events.since(before)])
    assert told == [[("a", "one"), ("b", "two")], [], [("a", "other")]]
    del fails["b"]
    upkeep.upkeep()
    assert [tenant.trouble for tenant in pools.tenants.values()] == ["other", ""]


@pytest.mark.parametrize("left", [False, True])
def test_the_upkeep_lets_go_who_is_nobodys_after_new_threads_are_taken_in(monkeypatch, left):
    pools, carrier = Pools((0, 1, 2), a={}), Idle()
    pools.look = lambda tenant: pools.stir()
    pools.carrier = carrier
    carrier.carry = lambda to, caps: carrier.did.append("taken in") or frozenset()
    given = {tid: {"nice": 3, "cgroup cpu": "/"} for tid in range(77, 177)}

    def release(own):
        carrier.did.append("released")
        carrier.on_released(given)
        carrier.on_stays([f"thread {tid} stays" for tid in given])
        return left

    carrier.release = release
    (event, stays), more = upkept(monkeypatch, pools, carrier)
    assert carrier.did == ["taken in", "released"] and more is left
    assert (event["event"], event["count"], event["tids"][0]) == ("released", 100, 77) and len(event["tids"]) < 20
    assert event["given"] == "nice 3, cgroup cpu /"
    assert (stays["event"], stays["count"]) == ("stays changed", 100) and len(stays["why"]) < 400
    assert stays["why"].startswith("thread 77 stays; thread 78 stays")


def test_a_tenant_that_has_more_threads_than_are_taken_in_at_once_is_looked_at_again_soon(monkeypatch):
    pools = Pools((0, 1, 2), a={}, b={})
    pools.look = lambda tenant: None
    let_go = []
    for behind in (0, 1):
        pools.tenants["a"].behind = behind
        carrier = Idle()
        carrier.release = let_go.append
        assert upkept(monkeypatch, pools, carrier) == ([], bool(behind))
    assert let_go == [True, False], "those that are taken in next are not let go before"


def test_whoever_has_left_the_shield_is_carried_out_again(monkeypatch):
    pools, carrier = Pools((0, 1, 2), a={}), Idle()
    pools.look = lambda tenant: None
    carried = len(pools.carrier.carried)
    for left in (False, True):
        carrier.bring_back = lambda left=left: left
        upkept(monkeypatch, pools, carrier)
        assert len(pools.carrier.carried) - carried == left


def test_what_fails_in_carrying_out_is_told_and_tried_again(monkeypatch):
    pools = Pools((0, 1, 2), a={})
    carrier = Idle()
    pools.look = lambda tenant: None
    pools.carrier.carry = lambda to, caps: 1 / 0
    pools.stir()
    (event,), _ = upkept(monkeypatch, pools, carrier)
    assert event["event"] == "trouble" and event["why"].startswith("ZeroDivisionError")
    del pools.carrier.carry
    pools.settle()
    assert pools.carrier.carried


@pytest.mark.parametrize("by", [{"command": "x"}, {"unit": "x.service"}, {"pid": 1, "qmp": "x.qmp"}], ids=str)
def test_absent_tenants_are_sought_one_at_a_time_and_for_a_part_of_the_time(monkeypatch, by):
    """For each the processes of all users are looked at, or a guest is asked that says nothing: with many of them nobody was served."""
    pools, now, sought = Pools((0, 1, 2), a={}), [0], []
    for name in "bcd":
        pools.join(name)
        pools.tenants[name].found, pools.tenants[name].keys = None, TenantKeys(name=name, **by)

    def look(tenant):
        sought.append(tenant.name)
        now[0] += 5 if tenant.is_sought else 0

    monkeypatch.setattr(core.time, "monotonic_ns", lambda: now[0])
    pools.look = look
    upkeep = Core(Serve(), pools, Idle(), Chosen("turns", Turns), "none")
    for now[0] in (100, 120, 151, 202, 253):
        upkeep.upkeep()
    assert sought.count("a") == 5 and [name for name in sought if name != "a"] == ["c", "d", "b", "c"]
