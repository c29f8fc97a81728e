"""What a thread gets back that inherited a change: looked up, and what a search among all entries would find."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing_tools import needs_rights, starting_tenant

from windtunnel_sharing import entries as entries_
from windtunnel_sharing import families, journal, sched, threads
from windtunnel_sharing.entries import Entries, Entry
from windtunnel_sharing.families import ORDINARY, Families, Family, _least_of, granted, groups_of, handed_on, might_have
from windtunnel_sharing.threads import Stat

FIELDS = {
    "nice": st.integers(-1, 1),
    "policy": st.sampled_from([(sched.OTHER, 0, 0), (sched.FIFO, 1, sched.RESET_ON_FORK)]),
}
BEFORE = st.fixed_dictionaries(FIELDS)
ENTRIES = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3), BEFORE, st.lists(BEFORE, max_size=2)), max_size=4)


def searched(entries, gone, pid, now, born):
    """Of the entries of a process, and what is gone, that are old enough, the first that says so of each field, without rights."""
    back = {}
    known = [*(entry for entry in entries.values() if entry.pid == pid), *gone]
    old = [entry for entry in known if entry.since <= born]
    for name in FIELDS:
        for entry in old:
            ours = list(entry.ours.get(name, []))
            if name == "nice" and any(policy[2] for policy in entry.ours.get("policy", [])):
                ours.append(0)
            if name not in back and now[name] in ours and now[name] != entry.before[name]:
                back[name] = handed_on(name, entry.before)
        given = [entry for entry in old if name in entry.ours]
        own_right = any(might_have(name, now[name], entry.before[name]) for entry in known)
        came_down = any(might_have(name, now[name], ours) for entry in given[:1] for ours in entry.ours[name])
        if name not in back and came_down and not own_right:
            back[name] = handed_on(name, given[0].before)
    return granted(back)


def together(gone):
    """The first of those that are gone, with what those of them had that were alike before. Of the last ones, the values are the last."""
    first, *others = sorted(gone, key=lambda entry: entry.since)
    values = {
        name: [v for one in (first, *others) if one.before[name] == first.before[name] for v in one.ours.get(name, [])]
        for name in FIELDS
    }
    return replace(first, ours={name: list(dict.fromkeys(them)) for name, them in values.items() if them})


@settings(max_examples=50, deadline=None)
@given(ENTRIES, BEFORE, st.integers(0, 4), st.lists(st.integers(0, 5)))
def test_what_is_looked_up_is_what_a_search_finds(rows, now, born, forgotten):
    entries, since = Entries(), 0
    for tid, (pid, later, before, changes) in enumerate(rows):
        since += later
        entries[tid] = Entry(tid, pid, 0, since, before)
        for fields in changes:
            for name, value in fields.items():
                entries.allow(entries[tid], name, [value])
    left = [entry for entry in (entries.pop(tid, None) for tid in forgotten) if entry]
    again = Entries(entries.values())
    for pid in (1, 2):
        assert Family(again, pid).before(now, born) == searched(entries, [], pid, now, born)
        assert list(entries.of(pid)) == [tid for tid, entry in entries.items() if entry.pid == pid]
        gone = [together([entry for entry in left if entry.pid == pid])] if entries.gone.get(pid) else []
        assert bool(gone) == (bool(entries.of(pid)) and any(entry.pid == pid for entry in left))
        assert Family(entries, pid).before(now, born) == searched(entries, gone, pid, now, born)
        assert entries.gone.get(pid) == (gone[0] if gone else None)


@pytest.mark.parametrize(
    ("name", "before", "takes", "can"),
    [
        ("nice", 0, 4, True),
        ("nice", 0, -4, False),
        ("nice", 19, 1, False),
        ("policy", (sched.OTHER, 0, 0), (sched.BATCH, 0, 0), True),
        ("policy", (sched.OTHER, 0, 0), (sched.IDLE, 0, 1), True),
        ("policy", (sched.IDLE, 0, 0), (sched.BATCH, 0, 0), False),
        ("policy", (sched.OTHER, 0, 0), (sched.FIFO, 1, 0), False),
        ("policy", (sched.FIFO, 9, 0), (sched.FIFO, 1, 0), True),
        ("policy", (sched.FIFO, 1, 0), (sched.FIFO, 9, 0), False),
        ("policy", (sched.FIFO, 1, 0), (sched.OTHER, 0, 0), True),
        ("policy", (sched.OTHER, 0, 1), (sched.OTHER, 0, 0), False),
        ("affinity", (0,), (1,), True),
        ("timer_slack_ns", 7, 7, True),
        ("timer_slack_ns", 7, 50_000, False),
    ],
)
def test_without_a_right_nobody_takes_more_than_they_had(name, before, takes, can):
    assert might_have(name, takes, before) == can


@needs_rights
@pytest.mark.parametrize(
    "had",
    [
        sched.Attributes(sched.OTHER, 0, -5, 0),
        sched.Attributes(sched.FIFO, 10, 0, 0),
        sched.Attributes(sched.OTHER, 0, -5, 0, sched.RESET_ON_FORK),
        sched.Attributes(sched.BATCH, 0, 5, 0, sched.RESET_ON_FORK),
        sched.Attributes(sched.IDLE, 0, 3, 0, sched.RESET_ON_FORK),
        sched.Attributes(sched.FIFO, 10, 0, 0, sched.RESET_ON_FORK),
        sched.Attributes(sched.RR, 10, 0, 0, sched.RESET_ON_FORK),
    ],
    ids=str,
)
def test_a_fork_hands_on_what_it_does_in_the_kernel(had):
    with starting_tenant() as (process, start):
        sched.put(process.pid, had)
        before, child = threads.read(process.pid), threads.read(start("child"))
    assert {name: handed_on(name, before) for name in FIELDS} == {name: child[name] for name in FIELDS}


@pytest.mark.parametrize("flags", [0, sched.RESET_ON_FORK])
@pytest.mark.parametrize("execed", [False, True])
def test_nobody_but_a_remembered_thread_itself_gets_a_right_back(flags, execed):
    """Another thread of its process may have forked this one, or be the first one, which has not execed."""
    before = {"policy": (sched.FIFO, 10, flags), "nice": -5}
    entries = Entries([Entry(1, 1, 0, 0, before, {"policy": [ORDINARY], "nice": [0]})])
    had = Family(entries, 1, execed=execed).before({"policy": ORDINARY, "nice": 0}, 5)
    assert had == {"policy": ORDINARY, "nice": 0}


def test_of_many_orphans_each_entry_is_looked_at_once_until_one_changes(monkeypatch):
    """In all passes: a tenant may have thousands of threads, and thousands of orphans."""
    looked = []
    monkeypatch.setattr(families, "groups_of", lambda entry: looked.append(entry) or groups_of(entry))
    entries = Entries(changed(tid, 10, pid=tid, users=USER, path=f"/{tid}") for tid in range(1, 101))
    now = {"cgroup cpu": "/shield", "nice": 6, "policy": ORDINARY}
    last, *others = [Families(entries).of(now, Stat(pid, 0, 20, False, USER)) for pid in range(200, 210)]
    assert len(looked) == 100 and all(family is last for family in others)
    for change in (
        lambda: entries.allow(entries[5], "nice", [7]),
        lambda: entries.pop(5),
        lambda: entries.update({5: changed(5, 10, pid=5)}),
    ):
        change()
        before, last = last, Families(entries).of(now, Stat(300, 0, 20, False, USER))
        assert last is not before


def test_what_is_forgotten_leaves_nothing():
    entries = Entries([Entry(1, 1, 0, 0, {"nice": 3, "policy": (0, 0, 0)}, {"nice": [0, 6], "policy": [(1, 1, 1)]})])
    assert entries.of(1) and list(entries.handing_on(1, "nice", 0))
    assert list(entries.had(1, "nice")) == [3] and list(entries.given(1, "nice"))
    entries[1] = Entry(1, 2, 0, 0, {"nice": 3})
    assert not entries.of(1) and not list(entries.handing_on(1, "nice", 0))
    assert not list(entries.had(1, "nice")) and not list(entries.given(1, "nice"))
    del entries[1]
    assert not entries and entries == {} and not entries._of and not entries._handing_on


class Counted(list):
    """Entries that count who looks at them."""

    looks = 0

    def __iter__(self):
        for entry in super().__iter__():
            Counted.looks += 1
            yield entry


def test_of_many_that_may_have_handed_it_on_one_is_looked_at(monkeypatch):
    many = [Entry(tid, 1, 0, 0, {"nice": 0}, {"nice": [6]}) for tid in range(1000)]
    entries = Entries(many)
    monkeypatch.setattr(entries, "handing_on", lambda *_: Counted(many))
    assert Family(entries, 1).before({"nice": 6}, 5) == {"nice": 0} and Counted.looks == 1


def test_what_is_remembered_of_an_earlier_process_of_the_number_does_not_count():
    entries = Entries(Entry(since, 1, 0, since, {"nice": since}, {"nice": [6]}) for since in (10, 20))
    assert Family(entries, 1, began=15).before({"nice": 6}, 30) == {"nice": 20}
    assert not Family(entries, 1, began=25).began_with(30)


OURS = {"cgroup cpu": "/shield", "nice": 6, "policy": (sched.OTHER, 0, 0), "runtime_ns": 0, "timer_slack_ns": 0}
ROOT, USER, OTHER_USER = (0, 0, 0), (61871, 61871, 61871), (61872, 61872, 61872)
LEAST = {"policy": (sched.OTHER, 0, 0)}


def of_an_orphan(*tenants, users=USER):
    """What an orphan of a user gets. Each tenant: whose it is, its cgroup, its nice value and its policy before."""
    entries = Entries()
    for tid, (whose, path, nice, policy) in enumerate(tenants, 1):
        before = {"cgroup cpu": path, "nice": nice, "policy": policy, "runtime_ns": 100_000 * tid}
        before["timer_slack_ns"] = 50_000 * tid
        entries[tid] = Entry(tid, tid, 0, tid, before, {name: [value] for name, value in OURS.items()}, whose)
    family = Families(entries).of(OURS, Stat(99, 0, 99, False, users))
    return family and family.before(OURS, 99)


FIFO = (sched.FIFO, 30, 0)
BATCH = (sched.BATCH, 0, 0)


@pytest.mark.parametrize("first", ["/deep/without/limit", "/limited"])
def test_an_orphan_of_one_of_two_tenants_leaves_no_limit(monkeypatch, first):
    """However deep the cgroup of the other one is."""
    monkeypatch.setattr(
        threads, "cpu_quota", lambda hierarchy, path: 0.1 if (hierarchy, path) == ("cpu", "/limited") else inf
    )
    second = {"/deep/without/limit": "/limited", "/limited": "/deep/without/limit"}[first]
    assert of_an_orphan((USER, first, 0, BATCH), (USER, second, 0, BATCH))["cgroup cpu"] == "/limited"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, inf),
        ({"a/cpu.max": "max 100000"}, inf),
        ({"a/cpu.max": "50000 100000"}, 0.5),
        ({"a/cpu.max": "50000 100000", "a/b/cpu.max": "200000 100000"}, 0.5),
        ({"a/cpu.cfs_quota_us": "-1", "a/cpu.cfs_period_us": "100000"}, inf),
        ({"a/b/cpu.cfs_quota_us": "10000", "a/b/cpu.cfs_period_us": "100000"}, 0.1),
        ({"a/cpu.max": "x"}, inf),
    ],
)
def test_a_quota_is_the_least_of_a_cgroup_and_those_above(monkeypatch, tmp_path, files, quota):
    (tmp_path / "a/b").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(threads, "mounts", lambda: {"cpu": tmp_path})
    assert threads.cpu_quota("cpu", "/a/b") == quota and threads.cpu_quota("none", "/a/b") == inf


@pytest.mark.parametrize(
    ("tenants", "gets"),
    [
        ([(USER, "/its", 5, BATCH)], {"cgroup cpu": "/its", "nice": 5, "policy": BATCH, "runtime_ns": 100_000}),
        ([(USER, "/its", -5, FIFO)], {"cgroup cpu": "/its", "nice": 0, "runtime_ns": 100_000}),
        ([(ROOT, "/roots", -15, FIFO)], {"cgroup cpu": "/roots", "nice": 0, "runtime_ns": 100_000}),
        ([(ROOT, "/", 3, FIFO), (USER, "/its", 5, BATCH)], {"cgroup cpu": "/its", "nice": 5, "policy": BATCH}),
        (
            [(USER, "/a/limited", 5, BATCH), (USER, "/", -5, BATCH)],
            {"cgroup cpu": "/a/limited", "timer_slack_ns": 100_000},
        ),
        ([(ROOT, "/a/b", 5, FIFO), (OTHER_USER, "/a/c", 1, FIFO)], {"cgroup cpu": "/a", "nice": 5}),
        ([(ROOT, "/a/b", 5, FIFO), (OTHER_USER, "/c", 1, FIFO)], {"cgroup cpu": "/", "nice": 5}),
    ],
)
def test_an_orphan_gets_what_those_of_its_user_had_and_no_right_of_anybody(tenants, gets):
    found = of_an_orphan(*tenants)
    assert {name: found[name] for name in gets} == gets
    assert found.get("policy", LEAST["policy"]) in (LEAST["policy"], BATCH) and found["nice"] >= 0


def changed(tid, since, pid=1, users=ROOT, nice=-2, path="/its"):
    before = {"cgroup cpu": path, "nice": nice, "policy": BATCH}
    ours = {
        "cgroup cpu": ["/shield"],
        "nice": [6],
        "policy": [(sched.OTHER, 0, 0), (sched.FIFO, 1, sched.RESET_ON_FORK)],
    }
    return Entry(tid, pid, 0, since, before, ours, users)


@pytest.mark.parametrize("shield", [True, False])
@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("nice", [0, 6])
def test_what_a_thread_forked_before_the_others_were_changed_has_what_it_had_though_that_one_is_put_back(
    monkeypatch, shield, others, nice
):
    """A slicer is killed, and all its members are put back: the first thread, and not yet another one, which was taken in after the fork. Nobody
    else knows what the forked one had, which was SCHED_FIFO's heir, with nice 0. A nice value below that it does not get back."""
    monkeypatch.setattr(threads, "process_started", lambda pid: 0)
    entries = Entries([changed(1, 10), changed(2, 30)])
    entries[5] = changed(5, 12, pid=5)
    for tid in [1, 2, 5][: 3 - 2 * others]:
        del entries[tid]
    now = {"cgroup cpu": "/shield" if shield else "/its", "nice": nice, "policy": (sched.OTHER, 0, 0)}
    contents = journal.Contents(threads.Process(1, 1), entries=entries)
    again = journal.Contents()
    for line in journal.lines_of(contents):
        journal.take(again, line)
    for known in (entries, again.entries):
        family = Families(known).of(now, Stat(1, 0, 20, False, ROOT))
        if others:
            assert family.before(now, 20) == {"nice": 0, "policy": BATCH} | ({"cgroup cpu": "/its"} if shield else {})
            assert not family.guessed
        else:
            assert not family or family.guessed, "of its user another process was the last"


def test_one_that_was_put_back_and_is_changed_again_is_written_as_both():
    entries = Entries([changed(1, 10), changed(2, 30)])
    del entries[1]
    entries[1] = changed(1, 40)
    for forgotten in ([], [2]):
        again = journal.Contents()
        for tid in forgotten:
            del entries[tid]
        for line in journal.lines_of(journal.Contents(threads.Process(1, 1), entries=entries)):
            journal.take(again, line)
        assert again.entries[1].since == 40
    assert entries.gone[1].since == 10


def test_what_several_had_that_were_put_back_is_all_told_by_the_first():
    """A thread that forked another one had a nice value that the first of its process to be put back never had."""
    entries = Entries([changed(1, 10), changed(2, 10), changed(3, 30)])
    entries.allow(entries[2], "nice", [11])
    del entries[1], entries[2]
    again = journal.Contents()
    for line in journal.lines_of(journal.Contents(threads.Process(1, 1), entries=entries)):
        journal.take(again, line)
    for known in (entries, again.entries):
        assert Family(known, 1).before({"nice": 11, "policy": (sched.OTHER, 0, 0)}, 20) == {"nice": 0, "policy": BATCH}


def test_a_thread_of_the_last_process_of_its_user_is_no_guess(monkeypatch):
    monkeypatch.setattr(threads, "process_started", lambda pid: 0)
    entries = Entries([changed(1, 10)])
    del entries[1]
    now = {"cgroup cpu": "/shield", "nice": 6, "policy": (sched.OTHER, 0, 0)}
    assert not Families(entries).of(now, Stat(1, 0, 20, False, ROOT)).guessed
    assert Families(entries).of(now, Stat(2, 0, 20, False, ROOT)).guessed


def test_of_a_process_that_has_ended_nobody_is_told_by_its_number(monkeypatch):
    monkeypatch.setattr(threads, "process_started", lambda pid: None)
    entries = Entries([changed(1, 10)])
    del entries[1]
    now = {"cgroup cpu": "/shield", "nice": 6, "policy": (sched.OTHER, 0, 0)}
    assert Families(entries).of(now, Stat(1, 0, 20, False, ROOT)).guessed


SET_USER = (61871, 0, 0)
"""A user's process that runs a set-user-ID program of root's."""


def test_a_set_user_id_program_is_its_users_and_not_roots(monkeypatch):
    """Root's tenant has no limit, and the same other cgroups."""
    monkeypatch.setattr(threads, "process_started", lambda pid: 0)
    parents = {9: Stat(9, 2, 20, False, SET_USER)}
    monkeypatch.setattr(threads, "process_stat", parents.get)
    entries = Entries([changed(1, 10, path="/", nice=-15), changed(2, 11, pid=2, users=USER, path="/limited", nice=3)])
    now = {"cgroup cpu": "/shield", "nice": 6, "policy": (sched.OTHER, 0, 0)}
    child, orphan = (Families(entries).of(now, Stat(pid, 2, 20, False, SET_USER)) for pid in (9, 8))
    its = {"cgroup cpu": "/limited", "nice": 3, "policy": BATCH}
    assert child.before(now, 20) == its and not child.guessed
    assert orphan.before(now, 20) == its and orphan.guessed
    parents[9] = Stat(9, 2, 20, False, (61872, 0, 61871))
    other = Families(entries).of(now, Stat(9, 2, 20, False, (61872, 0, 61871)))
    assert other.guessed, "whose real user is another one has inherited nothing"


def test_of_each_user_one_that_left_is_known_and_of_so_many_users_only(monkeypatch):
    monkeypatch.setattr(entries_, "MOST_LEFT", 2)
    entries = Entries(Entry(tid, tid // 2, 0, tid, {}, users=(tid // 4,)) for tid in range(16))
    for tid in range(16):
        del entries[tid]
    assert {user: entry.tid for user, entry in entries.left.items()} == {2: 10, 3: 14}


FIFO_50, RAISED, IDLE = (sched.FIFO, 50, 0), (sched.FIFO, 1, sched.RESET_ON_FORK), (sched.IDLE, 0, 0)


def of_one(ours, since=10, before=(sched.OTHER, 0, 0)):
    return Family(Entries([Entry(7, 7, 0, since, {"policy": before}, {"policy": ours})]), 7)


@pytest.mark.parametrize(("ours", "now", "back"), [
    ([(sched.OTHER, 0, 0)], FIFO_50, {}),
    ([RAISED], FIFO_50, {}),
    ([RAISED], RAISED, {"policy": (sched.OTHER, 0, 0)}),
    ([(sched.FIFO, 60, 0)], FIFO_50, {"policy": (sched.OTHER, 0, 0)}),
])  # fmt: skip
def test_a_right_that_nothing_of_ours_gave_stays(ours, now, back):
    """As root gives it to a child, or to a first thread that is not shared."""
    assert of_one(ours).before({"policy": now}, 20) == back


@pytest.mark.parametrize(("born", "back"), [(9, {}), (10, {"policy": (sched.OTHER, 0, 0)})])
def test_who_began_before_the_tick_of_the_first_change_has_inherited_nothing(born, back):
    assert of_one([RAISED]).before({"policy": RAISED}, born) == back


@pytest.mark.parametrize(("own", "least"), [(True, IDLE), (False, (sched.OTHER, 0, 0))])
def test_an_orphan_of_somebody_idle_stays_idle(own, least):
    entries = [
        Entry(pid, pid, 0, 1, {"policy": before}, {"policy": [RAISED]})
        for pid, before in ((1, IDLE), (2, (sched.OTHER, 0, 0)))
    ]
    assert _least_of(entries, own).before({"policy": RAISED}, 5) == {"policy": least}
