"""An arrangement carried out on threads that live, and taken back whole where a slicer refuses on the way."""

import errno
import os
from contextlib import closing, contextmanager
from typing import ClassVar

import pytest
from journal_tools import Steps, raises_for
from pool_tools import Turns
from sharing_tools import (
    CPUS,
    first_thread_ends,
    needs_rights,
    needs_two_cpus,
    python_tenant,
    starting_tenant,
    tenant,
    until,
)

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools import apply, cgroups
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.pools.shield import Shield
from windtunnel_sharing.rounds import Budgets

pytestmark = [pytest.mark.slow, needs_rights, needs_two_cpus]


class Telling(Turns):
    """Says what it was told, and on which CPUs threads were then; `refuses` is the CPU on which it does nothing any more."""

    told: ClassVar[list[tuple[int, dict[int, int], dict[int, tuple[int, ...]]]]] = []
    watched: ClassVar[list[int]] = []
    refuses: ClassVar[int | None] = None

    def set_members(self, members):
        if self.cpu == Telling.refuses and members:
            raise UserError("it refuses")
        places = {tid: tuple(sorted(os.sched_getaffinity(tid))) for tid in Telling.watched}
        Telling.told.append((self.cpu, {member.tid: member.weight for member in members}, places))
        super().set_members(members)


@pytest.fixture
def carried(tmp_path):
    """A carrier with two threads on the last CPU, and both."""
    with tenant() as one, tenant() as two, closing(Journal(tmp_path / "a.journal")) as journal:
        carrier = Carrier(journal, Telling, 100_000)
        Telling.told, Telling.watched, Telling.refuses = [], [one.pid, two.pid], None
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128, two.pid: 128}}), {})
        Telling.told = []
        yield carrier, one.pid, two.pid
        Telling.refuses = None
        carrier.close()


def places(*tids):
    return [sorted(os.sched_getaffinity(tid)) for tid in tids]


def test_a_resize_moves_threads_before_any_slicer_is_told(carried):
    carrier, one, two = carried
    carrier.carry(Arrangement({CPUS[-1]: {one: 128}, CPUS[0]: {two: 200}}), {})
    moved = {one: (CPUS[-1],), two: (CPUS[0],)}
    assert Telling.told == [(CPUS[-1], {one: 128}, moved), (CPUS[0], {two: 200}, moved)]


def test_slicers_whose_members_are_the_same_are_not_told(carried):
    carrier, one, two = carried
    same = Arrangement({CPUS[-1]: {one: 128, two: 128}})
    carrier.carry(same, {})
    assert Telling.told == []
    carrier.carry(Arrangement({CPUS[-1]: {one: 128, two: 64}}), {})
    assert [told[:2] for told in Telling.told] == [(CPUS[-1], {one: 128, two: 64})]


@pytest.mark.parametrize("grows", [True, False])
def test_what_a_slicer_refuses_is_taken_back_and_the_next_try_holds(carried, grows):
    carrier, one, two = carried
    small = Arrangement({CPUS[-1]: {one: 128, two: 128}})
    large = Arrangement({CPUS[-1]: {one: 128}, CPUS[0]: {two: 200}})
    before, after = (small, large) if grows else (large, small)
    carrier.carry(before, {})
    Telling.refuses = CPUS[0] if grows else CPUS[-1]
    if grows:
        with pytest.raises(UserError, match="it refuses; everything is as before"):
            carrier.carry(after, {})
        assert places(one, two) == [[CPUS[-1]], [CPUS[-1]]]
    else:
        with pytest.raises(UserError, match="could not be undone"):  # the same slicer would have to
            carrier.carry(after, {})
    Telling.refuses = None
    for arrangement, there in ((after, CPUS[-1 if not grows else 0]), (before, CPUS[-1 if grows else 0])):
        carrier.carry(arrangement, {})
        assert places(one, two) == [[CPUS[-1]], [there]]
        members = {cpu: [member.tid for member in slicer.members] for cpu, slicer in carrier.slicers.items()}
        assert {tid: cpu for cpu, tids in members.items() for tid in tids} == {one: CPUS[-1], two: there}


def test_who_was_with_a_slicer_that_ended_is_taken_again(carried):
    carrier, one, two = carried
    told = []
    carrier.on_replaced = lambda cpu, why: told.append((cpu, why))
    carrier.broken(CPUS[-1], "it ended")
    assert told == [(CPUS[-1], "it ended")]
    assert places(one, two) == [CPUS, CPUS]
    carrier.carry(Arrangement({CPUS[-1]: {one: 128, two: 128}}), {})
    assert places(one, two) == [[CPUS[-1]], [CPUS[-1]]]


def test_who_has_ended_and_whose_number_another_has_is_left_out_and_the_slicer_stays(carried, monkeypatch):
    """It lives, by its number: a slicer that tells of it is not broken. Tenants that fork use all numbers up within seconds."""
    carrier, one, two = carried
    slicer, change = carrier.slicers[CPUS[-1]], Journal.change

    def changed(journal, tid, *how, **fields):
        if tid == 1:
            raise threads.Ended(tid)
        change(journal, tid, *how, **fields)

    monkeypatch.setattr(Journal, "change", changed)
    assert carrier.carry(Arrangement({CPUS[-1]: {one: 128, 1: 10, two: 64}}), {}) == {1}
    assert carrier.slicers[CPUS[-1]] is slicer and {one, two} == {member.tid for member in slicer.members}


class Looks(Turns):
    """Sees where members are when it gets them, and may refuse them then."""

    seen: ClassVar[list[dict[str, str]]] = []
    refuses: ClassVar[bool] = False

    def set_members(self, members):
        Looks.seen += [threads.cgroups_of(member.tid) for member in members]
        if Looks.refuses and len(members) > 1:
            raise UserError("it refuses")
        super().set_members(members)


def test_members_are_in_the_shield_before_a_slicer_has_them_and_out_of_it_where_it_refuses(tmp_path, monkeypatch):
    """It may make them SCHED_FIFO at once, for which other cgroups have no budget."""
    monkeypatch.setattr(Looks, "raises", True)
    monkeypatch.setattr(Looks, "seen", [])
    monkeypatch.setattr(Looks, "refuses", True)
    with (
        tenant() as one,
        tenant() as two,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal, Looks) as (carrier, shield, _),
    ):
        hierarchy, before = shield.occupants()[0], threads.read(two.pid)
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        assert [groups[hierarchy] for groups in Looks.seen] == [f"/{shield.path.name}"]
        with pytest.raises(UserError, match="it refuses; everything is as before"):
            both = {one.pid: 128, two.pid: 128}
            carrier.carry(Arrangement({CPUS[-1]: both}, groups={one.pid: "a", two.pid: "b"}), {})
        assert shield.occupants()[1] == [one.pid] and threads.read(two.pid) == before and journal.tids == [one.pid]


@pytest.mark.parametrize("raises", [True, False])
def test_members_are_on_their_cpu_before_they_are_in_the_shield(tmp_path, monkeypatch, raises):
    """Its weight would keep the daemon from the CPU where that runs, for as long as they are on both."""
    monkeypatch.setattr(Looks, "raises", raises)
    entered, enter = [], Shield._enter

    def look_and_enter(shield, tid, where):
        entered.append((tid, os.sched_getaffinity(tid)))
        enter(shield, tid, where)

    monkeypatch.setattr(Shield, "_enter", look_and_enter)
    with (
        tenant() as one,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal, Looks) as (carrier, _, _),
    ):
        assert len(os.sched_getaffinity(one.pid)) > 1
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        assert entered == [(one.pid, {CPUS[-1]})]


class MakesOrdinary(Turns):
    """As slicers do that raise nobody."""

    def set_members(self, members):
        super().set_members(members)
        for member in members:
            os.sched_setscheduler(member.tid, os.SCHED_OTHER, os.sched_param(0))


def test_a_tenant_that_was_real_time_is_ordinary_before_it_comes_into_a_shield_without_a_budget_for_that(tmp_path):
    with (
        tenant() as one,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal, MakesOrdinary) as (carrier, shield, _),
    ):
        os.sched_setscheduler(one.pid, os.SCHED_FIFO, os.sched_param(1))
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        assert shield.occupants()[1] == [one.pid] and os.sched_getscheduler(one.pid) == os.SCHED_OTHER


@contextmanager
def shielded(journal, kind=Turns, budgets=None):
    """A carrier, its real shield, and the threads that it has let go, with what each was given."""
    found = cgroups.find()
    if isinstance(found, cgroups.Nowhere) or not os.access(found.mount, os.W_OK):
        pytest.skip("no cgroup with the controller cpu can be made here")
    shield = Shield(found)
    carrier, released = Carrier(journal, kind, 100_000, shield, budgets=budgets), {}
    carrier.on_released = released.update
    try:
        with closing(carrier):
            yield carrier, shield, released
    finally:
        hierarchy, left = shield.occupants()
        for tid in left:
            threads.move(tid, hierarchy, "/")
        shield.path.rmdir()


def test_what_a_tenant_has_started_is_let_go_at_each_look_and_when_it_leaves(tmp_path):
    with (
        starting_tenant() as (one, start),
        tenant() as two,
        tenant() as other,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal) as (carrier, shield, released),
    ):
        before = threads.read(one.pid)
        groups = {one.pid: "a", two.pid: "b"}
        both = Arrangement({CPUS[-1]: dict.fromkeys(groups, 128)}, groups=groups)
        carrier.carry(both, {})
        started = [start("child"), start("orphan")]
        shared = [threads.read(tid) for tid in groups]
        carrier.release()
        assert [threads.read(tid) for tid in started] == [before] * 2 and released.keys() == set(started)
        assert [threads.read(tid) for tid in groups] == shared
        carrier.release()
        assert released.keys() == set(started)  # nothing is done twice
        late = start("orphan")
        carrier.carry(Arrangement({CPUS[-1]: {two.pid: 128}}, groups={two.pid: "b"}), {})
        assert threads.read(late) == threads.read(one.pid) == before and late in released
        carrier.carry(Arrangement(), {})
        hierarchy = shield.occupants()[0]
        threads.move(other.pid, hierarchy, f"/{shield.path.name}")  # nobody knows any more whose it is
        carrier.release()
        assert released[other.pid] == {f"cgroup {hierarchy}": "/"} and threads.cgroups_of(other.pid)[hierarchy] == "/"


STARTS_THREADS = """
import sys, threading, time
for line in sys.stdin:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    print("started", flush=True)
"""


def test_a_thread_that_is_not_held_does_not_stay_in_the_shield_because_its_process_is(tmp_path):
    """It has a name that is not shared, or is one too many. Of v2 a process is in the shield as a whole."""
    with (
        python_tenant(STARTS_THREADS) as one,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal) as (carrier, shield, released),
    ):
        before = threads.read(one.pid)
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        one.stdin.write("start\n")
        assert one.stdout.readline() == "started\n"
        (other,) = set(threads.threads_of(one.pid)) - {one.pid}
        carrier.release()
        assert threads.read(other) == threads.read(one.pid) and not released, "it may be held soon"
        carrier.release(own=True)
        assert threads.read(other) == (before if shield.occupants()[0] else threads.read(one.pid))


def test_of_thousands_that_left_the_shield_some_are_let_in_again_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(apply, "MOST", 2)
    with closing(Journal(tmp_path / "a.journal")) as journal, shielded(journal) as (carrier, shield, _):
        left = [10, 11, 12]
        monkeypatch.setattr(shield, "outside", lambda: left)
        forgotten = []
        monkeypatch.setattr(shield, "forget", forgotten.append)
        assert carrier.bring_back() and carrier.bring_back() and forgotten == [10, 11, 12, 10]
        left.clear()
        assert not carrier.bring_back()


def test_a_thread_that_cannot_be_confined_any_more_is_of_its_tenant_alone(carried, monkeypatch):
    carrier, one, two = carried
    monkeypatch.setattr(carrier, "_handover", handover := apply.Handover(carrier._handover._journal))
    handover._confined.add(one)
    with pytest.raises(threads.CannotChange, match="no cpusets of cgroup v1") as refused:
        carrier.pin(one, (CPUS[0],))
    assert refused.value.tid == one
    carrier.pin(two, (CPUS[0],))


def test_who_has_left_the_shield_is_let_in_again(tmp_path, monkeypatch):
    with (
        tenant() as one,
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal) as (carrier, shield, _),
    ):
        held = Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"})
        carrier.carry(held, {})
        assert not carrier.bring_back()
        hierarchy, inside = shield.occupants()
        threads.move(one.pid, hierarchy, "/")
        shield._in = {1: "", **shield._in}
        with monkeypatch.context() as hidden:
            error = PermissionError(errno.EACCES, "hidden")
            hidden.setattr(threads, "started", raises_for(1, error, threads.started))
            assert carrier.bring_back()
        carrier.carry(held, {})
        assert shield.occupants()[1] == inside == [one.pid] and not carrier.bring_back()


def test_a_process_whose_first_thread_ends_stays_in_the_shield(tmp_path):
    """With a thread of it that is not shared, as in v2 all of them are."""
    with (
        first_thread_ends() as (one, end),
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal) as (carrier, shield, released),
    ):
        member, other = set(threads.threads_of(one.pid)) - {one.pid}
        carrier.carry(Arrangement({CPUS[-1]: {member: 128}}, groups={member: "a"}), {})
        threads.move(other, shield.occupants()[0], f"/{shield.path.name}")
        before = [threads.read(tid) for tid in (member, other)]
        end()
        carrier.release()
        assert not released and [threads.read(tid) for tid in (member, other)] == before


def test_who_cannot_be_let_go_keeps_no_other_in_the_shield(tmp_path, monkeypatch):
    with (
        starting_tenant() as (one, start),
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal) as (carrier, _, released),
    ):
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        first, second = sorted([start("child"), start("orphan")])
        with monkeypatch.context() as refusing:
            refusing.setattr(threads, "write", refuses(first, threads.write))
            with pytest.raises(UserError, match=f"thread {first}: its cgroup"):
                carrier.release()
        assert released.keys() == {second}


def test_of_thousands_that_a_tenant_has_started_some_are_looked_at_and_the_others_the_next_time(tmp_path, monkeypatch):
    """Whoever is not let go keeps none of the others."""
    with (
        starting_tenant() as (one, start),
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal, budgets=Budgets(released=Steps(2))) as (carrier, _, released),
    ):
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        started = sorted(start("child") for _ in range(5))
        with monkeypatch.context() as refusing:
            refusing.setattr(threads, "write", refuses(started[0], threads.write))
            with pytest.raises(UserError, match=f"thread {started[0]}: its cgroup"):
                carrier.release()
            assert list(released) == started[1:2]
            assert carrier.release() and list(released) == started[1:4]
        assert not carrier.release() and set(released) == set(started)


def test_what_has_just_begun_is_let_go_once_it_is_older(tmp_path, monkeypatch):
    """It may have ended before it is moved, which takes the kernel long while others fork."""
    with (
        starting_tenant() as (one, start),
        closing(Journal(tmp_path / "a.journal")) as journal,
        shielded(journal, budgets=Budgets(young_s=100.0)) as (carrier, _, released),
    ):
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}, groups={one.pid: "a"}), {})
        began = threads.started(child := start("child"))
        for later, let_go in ((99, []), (100, [child])):
            monkeypatch.setattr(threads, "ticks_now", lambda later=later: began + later * threads.TICKS)
            assert not carrier.release() or let_go
            assert list(released) == let_go


def test_what_a_tenant_of_be_has_forked_is_restored_bit_by_bit_after_it_left(tmp_path):
    with starting_tenant() as (one, start), closing(Journal(tmp_path / "a.journal")) as journal:
        before = threads.read(one.pid)
        carrier = Carrier(journal, Turns, 100_000, budgets=Budgets(forked=Steps(2)))
        carrier.carry(Arrangement(be={one.pid: frozenset(CPUS[-1:])}), {})
        forked = [start("child") for _ in range(5)]
        carrier.carry(Arrangement(), {})
        assert [threads.read(tid) for tid in forked] != [before] * 5
        assert carrier.release()
        until(lambda: not carrier.release())
        assert [threads.read(tid) for tid in forked] == [before] * 5
        carrier.close()


def refuses(whose, write):
    def written(tid, fields):
        if tid == whose:
            raise PermissionError(errno.EPERM, "refused")
        write(tid, fields)

    return written


def test_what_stays_changed_of_who_leaves_is_told(carried, monkeypatch):
    carrier, one, two = carried
    told = []
    carrier.on_stays = told.append
    monkeypatch.setattr(threads, "write", refuses(two, threads.write))
    carrier.carry(Arrangement({CPUS[-1]: {one: 128}}), {})
    ((nice, affinity),) = told
    assert nice.startswith(f"thread {two}: its nice could not be restored")
    assert affinity.startswith(f"thread {two}: its affinity could not be restored")
    carrier.carry(Arrangement({CPUS[-1]: {one: 64}}), {})
    assert len(told) == 1


def test_everybody_is_put_back_at_the_end(carried):
    carrier, one, two = carried
    carrier.carry(Arrangement({CPUS[-1]: {one: 128}, CPUS[0]: {two: 200}}), {})
    carrier.close()
    assert places(one, two) == [CPUS, CPUS]
    assert [threads.read(tid)["nice"] for tid in (one, two)] == [os.getpriority(os.PRIO_PROCESS, 0)] * 2


class Other(Telling):
    name = "other"
    raises = True


class Unable(Telling):
    name = "unable"

    def start(self, cpu, slice_ns):
        raise UserError("not here")


def test_another_slicer_takes_the_same_members(carried):
    carrier, one, two = carried
    carrier.reslice(Other, 200_000)
    assert {type(slicer) for slicer in carrier.slicers.values()} == {Other}
    assert Telling.told[-1][:2] == (CPUS[-1], {one: 128, two: 128})
    assert places(one, two) == [[CPUS[-1]], [CPUS[-1]]]
    carrier.carry(Arrangement({CPUS[-1]: {one: 128}}), {})
    assert len(places(two)[0]) == len(CPUS)


def test_another_slice_leaves_the_slicers_and_their_members(carried):
    carrier, *_ = carried
    before = carrier.slicers[CPUS[-1]]
    carrier.reslice(Telling, 200_000)
    assert carrier.slicers[CPUS[-1]] is before and before.slice_ns == 200_000
    assert Telling.told == []


def test_a_slicer_that_cannot_start_leaves_everything_as_it_was(carried):
    carrier, one, two = carried
    with pytest.raises(UserError, match="not here"):
        carrier.reslice(Unable, 200_000)
    assert [type(slicer) for slicer in carrier.slicers.values()] == [Telling]
    assert Telling.told[-1][:2] == (CPUS[-1], {one: 128, two: 128})
    assert places(one, two) == [[CPUS[-1]], [CPUS[-1]]]


def test_a_slicer_is_told_what_its_turn_costs_on_its_cpu(tmp_path):
    with tenant() as one, closing(Journal(tmp_path / "a.journal")) as journal:
        carrier = Carrier(journal, Turns, 100_000, turn_cost_ns=lambda cpu, slicer: 1000 * cpu + len(slicer))
        carrier.carry(Arrangement({CPUS[-1]: {one.pid: 128}}), {})
        assert carrier.slicers[CPUS[-1]].plan()["turn_cost_ns"] == 1000 * CPUS[-1] + len("turns")
        carrier.close()
